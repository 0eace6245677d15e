"""Real tables of other engines: each loads, each compacts to its live rows.

The rows wanted are those of the corpus's EXPECTED.json: sums of DuckDB hashes over each column and over whole rows, taken from the
files as they were. Here they are taken from the files firn wrote.
"""
import json
import os
import shutil

import fastavro
import pyarrow.parquet
import pytest

from engines import rows_of_duckdb, rows_of_pyiceberg, rows_of_spark, without_zone
from firn import CORRUPT, FAILED, OK, ROOT, Firn
from iceberg_files import DATA, Relocation, applies, live_files, manifests_of, read_metadata, snapshot_of
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


def register(lake, name, metadata_file, namespace="corpus"):
    """A row in the catalog: what engines' register_table writes, but for metadata that they may refuse."""
    import sqlite3

    with sqlite3.connect(lake.database) as connection:
        connection.execute("INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, iceberg_type) "
                           "VALUES ('lake', ?, ?, ?, 'TABLE')", (namespace, name, metadata_file))


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


def copy_of(name, folder):
    """A copy that may be written to, though the corpus may be laid read-only."""
    copy = os.path.join(folder, "corpus", name)
    shutil.copytree(os.path.join(CORPUS, "iceberg", name), copy)
    for base, _, files in os.walk(copy):
        for entry in [base, *[os.path.join(base, file) for file in files]]:
            os.chmod(entry, os.stat(entry).st_mode | 0o700)
    return CorpusTable(name, TABLES[name], copy)


def rewritable(file):
    """A file with key metadata is taken for an encrypted one."""
    return file["content"] == DATA and file["file_format"].upper() == "PARQUET" and not file.get("key_metadata")


@pytest.mark.parametrize("name", sorted(TABLES))
def test_tables_compact(lake, corpus_lake, corpus_firn, duck, spark, folder, name):
    expected, table = TABLES[name], copy_of(name, folder)
    register(corpus_lake, name, table.metadata_file)
    files_before = live_files(read_metadata(table.metadata_file), table.where)
    status = CORRUPT if expected.get("expect") == "error" else OK
    run = corpus_firn("--quiet", "--output", "json", *table.arguments, "rewrite-data-files", f"lake.corpus.{name}", "--option",
                      "rewrite-all=true", "--option", "remove-dangling-deletes=true", "--verify", "full", status=status)
    after = current_metadata(corpus_lake, name, table)
    files = live_files(after, table.where)
    if status != OK:
        assert {file["path"] for file in files} == {file["path"] for file in files_before}
        return
    rewritten = {file["path"] for file in files_before if rewritable(file)}
    data_before = {file["path"] for file in files_before if file["content"] == DATA}
    data = [file for file in files if file["content"] == DATA]
    written = [file for file in data if file["path"] not in data_before]
    left = data_before - rewritten
    assert run.json["rewritten_data_files_count"] == len(rewritten)
    assert run.json["left_alone_files_count"] == len(left)
    assert left == {file["path"] for file in data} - {file["path"] for file in written}
    check_deletes(after, files_before, files, written, run.json)
    if left or not written:
        return
    assert sum(file["record_count"] for file in data) == expected["live_rows"]
    names = [name for name in column_names(after) if name not in (expected.get("columns_not_digested") or [])]
    assert names == [column["name"] for column in expected["columns"]]
    check_rows(duck, [file["path"] for file in written], expected)
    if table.delete_files():
        check_engines_agree(lake, duck, spark, name, localized(after, table.where, f"{folder}/local/{name}"))


def check_deletes(metadata, files_before, files, written, report):
    """No delete concerns a file that was written; one went exactly when no data file that is left needs it."""
    unpartitioned = {spec["spec-id"] for spec in metadata.get("partition-specs", []) if not spec["fields"]}
    data = [file for file in files if file["content"] == DATA]
    deletes = [file for file in files if file["content"] != DATA]
    for delete in deletes:
        assert not [file["path"] for file in written if applies(delete, file, unpartitioned)], delete["path"]
        # A data file that firn leaves may bear another spelling of its path than its delete file has.
        left = len(written) < len(data)
        assert left or [file["path"] for file in data if applies(delete, file, unpartitioned)], f"{delete['path']} is of no use"
    before = [file for file in files_before if file["content"] != DATA]
    assert report["removed_delete_files_count"] == len(before) - len(deletes)


def localized(metadata, where, folder):
    """Metadata of the current snapshot alone with all locations replaced by where the files lie; gives its path."""
    os.makedirs(f"{folder}/metadata")
    snapshot = snapshot_of(metadata)
    lines = []
    for number, (path, line) in enumerate(manifests_of(snapshot, where)):
        new_path = f"{folder}/metadata/m{number}.avro"
        rewrite_avro(path, new_path, lambda record: record["data_file"].update(file_path="file://" + where(record["data_file"]["file_path"])))
        lines.append({**line, "manifest_path": f"file://{new_path}", "manifest_length": os.path.getsize(new_path)})
    lines.reverse()
    list_path = f"{folder}/metadata/list.avro"
    rewrite_avro(where(snapshot["manifest-list"]), list_path, lambda record: record.update(lines.pop()))
    local = {**metadata, "location": f"file://{folder}", "metadata-log": [], "snapshot-log": [], "statistics": [], "properties": {},
             "partition-statistics": [], "refs": {"main": {"type": "branch", "snapshot-id": snapshot["snapshot-id"]}},
             "snapshots": [{**snapshot, "manifest-list": f"file://{list_path}"}]}
    local["snapshots"][0].pop("parent-snapshot-id", None)
    with open(f"{folder}/metadata/00001-local.metadata.json", "w", encoding="utf-8") as file:
        json.dump(local, file)
    return f"{folder}/metadata/00001-local.metadata.json"


def rewrite_avro(path, new_path, change):
    """Copies an Avro file with every record changed; its schema and properties stay."""
    with open(path, "rb") as file:
        reader = fastavro.reader(file)
        records = list(reader)
        schema, properties = reader.writer_schema, {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
    for record in records:
        change(record)
    with open(new_path, "wb") as file:
        fastavro.writer(file, schema, records, codec="deflate", metadata=properties)


def check_engines_agree(lake, duck, spark, name, metadata_file):
    from pyiceberg.table import StaticTable

    # The corpus has a catalog of its own, since engines cannot open the locations recorded there.
    lake.catalog.create_namespace_if_not_exists("local")
    rows = rows_of_duckdb(duck, metadata_file)
    assert len(rows) == TABLES[name]["live_rows"]
    assert without_zone(rows_of_pyiceberg(StaticTable.from_metadata(metadata_file))) == without_zone(rows)
    register(lake, name, f"file://{metadata_file}", "local")
    assert without_zone(rows_of_spark(spark, f"local.{name}")) == without_zone(rows)


REFUSED = sorted(name for name, entry in EXPECTED["parquet"].items() if entry.get("expect") == "refuse")


@pytest.mark.parametrize("name", REFUSED or [pytest.param("none", marks=pytest.mark.skip(reason="the corpus is not here"))])
def test_encrypted_files_are_refused_by_name(corpus_firn, name):
    run = corpus_firn("inspect", os.path.join(CORPUS, "parquet", name), "--values", status=FAILED)
    assert "encrypt" in run.err.lower()
    assert os.path.basename(name) in run.err
