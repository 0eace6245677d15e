"""What a table should hold: a bag of rows by field id, so that a column keeps its values whatever it is called."""
from engines import canonical


class Model:
    def __init__(self, schema):
        self.rows = []
        self.schema = schema

    def ids(self):
        return {field.name: field.field_id for field in self.schema.fields}

    def insert(self, rows):
        ids = self.ids()
        self.rows += [{ids[name]: value for name, value in row.items()} for row in rows]

    def named(self, row):
        return {field.name: row.get(field.field_id) for field in self.schema.fields}

    def delete(self, test):
        """Removes the rows for which `test` of the row by column names holds."""
        self.rows = [row for row in self.rows if not test(self.named(row))]

    def update(self, test, changes):
        ids = self.ids()
        changes = {ids[name]: value for name, value in changes.items()}
        self.rows = [{**row, **changes} if test(self.named(row)) else row for row in self.rows]

    def remove(self, row):
        """Removes one row that looks like this."""
        wanted = canonical([row])
        for number, mine in enumerate(self.rows):
            if canonical([self.named(mine)]) == wanted:
                del self.rows[number]
                return
        raise AssertionError(f"not in the model: {row}")

    def visible(self):
        return [self.named(row) for row in self.rows]

    def canonical(self):
        return canonical(self.visible())
