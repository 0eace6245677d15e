"""A table whose every file and commit is made by hand, from `file_writers.py` and `commits.py`."""
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField, StringType

from commits import Committer, upgrade_to_version_3
from file_writers import Files
from iceberg_files import DATA, live_files

ID_AND_V = Schema(NestedField(1, "id", IntegerType(), required=False), NestedField(2, "v", StringType(), required=False))


class HandTable:
    def __init__(self, lake, identifier, schema=ID_AND_V, spec=UNPARTITIONED_PARTITION_SPEC, version=2, **properties):
        self.lake = lake
        self.identifier = identifier
        # PyIceberg makes no table of version 3.
        lake.catalog.create_table(identifier, schema, partition_spec=spec,
                                  properties={"format-version": str(min(version, 2)), **properties})
        self.committer = Committer(lake.database, identifier)
        if version == 3:
            self.committer.edit(upgrade_to_version_3)

    @property
    def table(self):
        return self.lake.load(self.identifier)

    @property
    def files(self):
        return Files(self.table)

    def live(self, content=None):
        """The live entries, of one kind or all."""
        return [file for file in live_files(self.committer.metadata()) if content in (None, file["content"])]

    def commit(self, *added, removed=(), **how):
        """Commits lists of entries; gives them as one list."""
        entries = [entry for part in added for entry in part]
        self.committer.commit(entries, removed, **how)
        return entries

    def append(self, rows, **how):
        return self.commit(self.files.data(rows, **how), operation="append")

    def data_file_with(self, entry):
        """The live data file of that path, with the numbers it has inherited."""
        return next(file for file in self.live(DATA) if file["file_path"] == entry["file_path"])


def rows_of(*ids):
    """Rows of ID_AND_V: id and a letter or two for it."""
    return [{"id": number, "v": None if number is None else f"v{number}"} for number in ids]
