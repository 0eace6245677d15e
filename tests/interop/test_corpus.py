"""Real tables of other engines: each loads, each compacts to the same rows, with its deletes applied.

The rows wanted are those of the corpus's EXPECTED.json: sums of DuckDB hashes over each column and over whole rows, taken from the
files as they were. Here they are taken from the files firn wrote.
"""
import json
import os
import shutil

import pyarrow.parquet
import pytest

from firn import CORRUPT, FAILED, OK, ROOT, Firn
from iceberg_files import DATA, Relocation, live_files, read_metadata
from lake import Lake

CORPUS = os.environ.get("FIRN_CORPUS") or os.path.join(ROOT, "..", "shared", "corpus")
try:
    with open(os.path.join(CORPUS, "EXPECTED.json"), encoding="utf-8") as file:
        EXPECTED = json.load(file)
except OSError:
    EXPECTED = {"iceberg": {}, "iceberg-metadata-only": {}, "parquet": {}}
    pytestmark = pytest.mark.skip(reason="the corpus is not here")

TABLES = EXPECTED["iceberg"] or {"none": {}}
DESCRIBED = ["format_version", "table_uuid", "current_snapshot_id", "snapshots", "live_data_files", "live_position_delete_files",
             "live_equality_delete_files", "live_deletion_vectors", "live_data_records"]


def spellings(recorded):
    """The prefixes that paths inside a table bear for its recorded location; writers mix them."""
    if recorded.startswith("./"):
        return [recorded, recorded.removeprefix("./")]
    if recorded.startswith("/"):
        return [recorded, f"file://{recorded}", f"file:{recorded}", f"hdfs://localhost:20500{recorded}"]
    if recorded == "gs://laura-test-test-bucket/table_name":
        return [recorded, "data/persistent/big_query_error"]
    return [recorded]


class CorpusTable:
    """A table of the corpus, or a copy of it, with the mapping from recorded locations to where it lies."""

    def __init__(self, name, expected, folder):
        self.expected = expected
        self.folder = folder
        self.metadata_file = os.path.join(folder, expected["metadata_file"])
        recorded = expected["recorded_location"].rstrip("/")
        for part in reversed(expected.get("table_root_in_copy", "").split("/")):
            recorded = recorded.removesuffix("/" + part) if part else recorded
        self.pairs = [(prefix, folder) for prefix in spellings(recorded)]
        self.where = Relocation(self.pairs)

    @property
    def arguments(self):
        return [text for pair in self.pairs for text in ("--relocate", "=".join(pair))]

    def delete_files(self):
        return sum(self.expected[key] for key in DESCRIBED if "delete" in key or "vector" in key)


@pytest.fixture(scope="module")
def corpus_lake(folder):
    return Lake(os.path.join(folder, "corpus-lake"))


@pytest.fixture(scope="module")
def corpus_firn(corpus_lake):
    return Firn(corpus_lake.folder)


def register(lake, name, metadata_file):
    """A row in the catalog: what PyIceberg's register_table writes, but for metadata that PyIceberg may refuse."""
    import sqlite3

    with sqlite3.connect(lake.database) as connection:
        connection.execute("INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, iceberg_type) "
                           "VALUES ('lake', 'corpus', ?, ?, 'TABLE')", (name, metadata_file))


def current_metadata(lake, name, table):
    import sqlite3

    with sqlite3.connect(lake.database) as connection:
        row = connection.execute("SELECT metadata_location FROM iceberg_tables WHERE table_name = ?", (name,)).fetchone()
    return read_metadata(table.where(row[0]))


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_table_is_described(corpus_firn, name):
    table = CorpusTable(name, TABLES[name], os.path.join(CORPUS, "iceberg", name))
    found = corpus_firn.describe(table.metadata_file, *table.arguments)
    # An empty table has no counts in EXPECTED.json.
    wanted = {key: table.expected.get(key) or 0 for key in DESCRIBED}
    found = {key: found.get(key) or 0 for key in DESCRIBED}
    wanted["current_snapshot_id"], found["current_snapshot_id"] = str(wanted["current_snapshot_id"]), str(found["current_snapshot_id"])
    assert found == wanted


@pytest.mark.parametrize("name", sorted(EXPECTED["iceberg-metadata-only"]))
def test_metadata_without_data_is_described(corpus_firn, name):
    table = CorpusTable(name, EXPECTED["iceberg-metadata-only"][name], os.path.join(CORPUS, "iceberg-metadata-only", name))
    if "live_manifests" not in table.expected:
        return  # its manifest lists are not in the copy
    found = corpus_firn.describe(table.metadata_file, *table.arguments)
    for key in DESCRIBED:
        if table.expected.get(key) is not None:
            assert str(found[key]) == str(table.expected[key]), key


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def column_names(metadata):
    if "schemas" not in metadata:
        fields = metadata["schema"]["fields"]
    else:
        fields = next(schema["fields"] for schema in metadata["schemas"] if schema["schema-id"] == metadata["current-schema-id"])
    return [field["name"] for field in fields]


def names_in_file(path):
    """Field id to the column's name in a Parquet file, which Iceberg's writers escape."""
    schema = pyarrow.parquet.read_schema(path)
    return {int(field.metadata[b"PARQUET:field_id"]): field.name for field in schema}


def digests(duck, files, columns):
    """Rows, the sum of hashes of whole rows and of each column over files with one schema."""
    names = names_in_file(files[0])
    casts = [f"CAST({quoted(names[column['id']])} AS {column['duckdb_type']})" for column in columns]
    sums = ", ".join(f"CAST(sum(CAST(hash({cast}) AS HUGEINT)) AS VARCHAR)" for cast in casts)
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in files)
    query = f"""SELECT count(*), CAST(sum(CAST(hash({', '.join(casts)}) AS HUGEINT)) AS VARCHAR), {sums}
                FROM read_parquet([{listed}], hive_partitioning = false)"""
    rows, whole, *each = duck.execute(query).fetchone()
    return {"rows": rows, "row_hash_sum": whole, "columns": dict(zip((column["name"] for column in columns), each))}


def check_rows(duck, files, expected):
    """The rows of these files, which have nothing deleted in them, are those of the table as it was."""
    columns = expected["columns"]
    found = digests(duck, files, columns)
    assert found["rows"] == expected["live_rows"]
    assert found["columns"] == {column["name"]: column["hash_sum"] for column in columns}
    if not expected.get("columns_not_digested"):
        assert found["row_hash_sum"] == expected["row_hash_sum"]


@pytest.mark.parametrize("name", sorted(TABLES))
def test_tables_compact(corpus_lake, corpus_firn, duck, folder, name):
    expected = TABLES[name]
    copy = os.path.join(folder, "corpus", name)
    shutil.copytree(os.path.join(CORPUS, "iceberg", name), copy)
    # The corpus may be laid read-only.
    for base, folders, files in os.walk(copy):
        for entry in [base, *[os.path.join(base, file) for file in files]]:
            os.chmod(entry, os.stat(entry).st_mode | 0o700)
    table = CorpusTable(name, expected, copy)
    register(corpus_lake, name, table.metadata_file)
    before = read_metadata(table.metadata_file)
    data_before = [file for file in live_files(before, table.where) if file["content"] == DATA]
    parquet = {file["path"] for file in data_before if file["file_format"].upper() == "PARQUET"}

    status = CORRUPT if expected.get("expect") == "error" else OK
    run = corpus_firn("--quiet", "--output", "json", *table.arguments, "rewrite-data-files", f"lake.corpus.{name}", "--option",
                      "rewrite-all=true", "--option", "remove-dangling-deletes=true", "--verify", "full", status=status)
    after = current_metadata(corpus_lake, name, table)
    if status != OK:
        assert after["current-snapshot-id"] == before["current-snapshot-id"]
        return
    files = [file for file in live_files(after, table.where) if file["content"] == DATA]
    deletes = [file for file in live_files(after, table.where) if file["content"] != DATA]
    report = run.json
    # A file with key metadata is taken for an encrypted one.
    rewritten = {file["path"] for file in data_before if file["path"] in parquet and not file.get("key_metadata")}
    assert report["rewritten_data_files_count"] == len(rewritten)
    assert report["left_alone_files_count"] == len(data_before) - len(rewritten)
    left = {file["path"] for file in data_before} - rewritten
    assert left <= {file["path"] for file in files}, "a file that firn does not rewrite went away"
    written = [file["path"] for file in files if file["path"] not in left]
    assert not rewritten & set(written)
    assert report["removed_delete_files_count"] == table.delete_files() - len(deletes)
    if not rewritten or left:
        return
    assert not deletes, "a delete file is left that applies to nothing"
    assert sum(file["record_count"] for file in files) == (expected["live_rows"] or 0)
    if not written:
        return
    names = [name for name in column_names(after) if name not in (expected.get("columns_not_digested") or [])]
    assert names == [column["name"] for column in expected["columns"]]
    check_rows(duck, written, expected)


REFUSED = sorted(name for name, entry in EXPECTED["parquet"].items() if entry.get("expect") == "refuse")


@pytest.mark.parametrize("name", REFUSED or [pytest.param("none", marks=pytest.mark.skip(reason="the corpus is not here"))])
def test_encrypted_files_are_refused_by_name(corpus_firn, name):
    run = corpus_firn("inspect", os.path.join(CORPUS, "parquet", name), "--values", status=FAILED)
    assert "encrypt" in run.err.lower()
    assert os.path.basename(name) in run.err
