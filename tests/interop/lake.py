"""A warehouse folder with one SQLite catalog, as firn, PyIceberg and Spark all see it."""
import os

from pyiceberg.catalog.sql import SqlCatalog

NAME = "lake"


class Lake:
    def __init__(self, folder):
        self.folder = str(folder)
        self.database = os.path.join(self.folder, "catalog.db")
        self.warehouse = os.path.join(self.folder, "warehouse")
        os.makedirs(self.warehouse, exist_ok=True)
        self.catalog = SqlCatalog(NAME, uri=f"sqlite:///{self.database}", warehouse=f"file://{self.warehouse}")
        with open(os.path.join(self.folder, ".pyiceberg.yaml"), "w", encoding="utf-8") as file:
            file.write(f"catalog:\n  {NAME}:\n    type: sql\n    uri: sqlite:///{self.database}\n")
            file.write(f"    warehouse: file://{self.warehouse}\n")
        self.namespaces = 0

    def new_namespace(self):
        self.namespaces += 1
        name = f"n{self.namespaces}"
        self.catalog.create_namespace(name)
        return name

    def load(self, identifier):
        """The table as it is now, by PyIceberg."""
        return self.catalog.load_table(identifier)

    def twin(self, identifier, suffix):
        """Registers the current state under a second name: both share files so far, each goes on by itself."""
        name = f"{identifier}_{suffix}"
        self.catalog.register_table(name, self.load(identifier).metadata_location)
        return name


def full_name(identifier):
    return f"{NAME}.{identifier}"
