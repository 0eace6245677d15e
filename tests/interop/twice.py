"""The same table given to two engines: each starts from the same files and the same catalog row."""
import shutil
import sqlite3

from iceberg_files import files_below, read_metadata
from lake import full_name


class Twice:
    """A table as it is now; `run` does something to it, tells what became of it, and puts everything back."""

    def __init__(self, lake, identifier):
        self.lake = lake
        self.identifier = identifier
        self.namespace, self.name = identifier.split(".")
        self.folder = lake.load(identifier).location().removeprefix("file://").removeprefix("file:")
        self.backup = self.folder + ".backup"
        self.save()

    def save(self):
        shutil.rmtree(self.backup, ignore_errors=True)
        shutil.copytree(self.folder, self.backup)
        self.pointer = self.location()

    def database(self, statement, *values):
        connection = sqlite3.connect(self.lake.database)
        try:
            with connection:
                return connection.execute(statement, values).fetchone()
        finally:
            connection.close()

    def location(self):
        return self.database("SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?",
                             self.namespace, self.name)[0]

    def metadata(self):
        return read_metadata(self.location().removeprefix("file://").removeprefix("file:"))

    def restore(self):
        shutil.rmtree(self.folder)
        shutil.copytree(self.backup, self.folder)
        self.database("UPDATE iceberg_tables SET metadata_location = ? WHERE table_namespace = ? AND table_name = ?",
                      self.pointer, self.namespace, self.name)

    def run(self, action):
        """(what `action` gives, the metadata afterwards, the files that went)."""
        before = set(files_below(self.folder))
        try:
            result = action(full_name(self.identifier))
            return result, self.metadata(), before - set(files_below(self.folder))
        finally:
            self.restore()


def refs_of(metadata):
    """References as they count: with what expiry knows of them."""
    return metadata.get("refs", {})
