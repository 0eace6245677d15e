"""One SQLite catalog shared by PyIceberg and firn, in both directions; filesystem tables read by PyIceberg."""
import json
import os
import shutil
import sqlite3
import subprocess

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import StaticTable

from firn import CONFLICT, NOT_FOUND, OK, PROGRAM

BUILD = os.path.dirname(os.path.dirname(os.path.dirname(PROGRAM)))
TOOL = os.path.join(BUILD, "tests", "interop", "catalog_tool")
SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "required": False, "type": "long"},
        {"id": 2, "name": "v", "required": False, "type": "string"},
    ],
}
ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "v": ["a", "b", None]})


@pytest.fixture(scope="module", autouse=True)
def tool_is_built():
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        pytest.skip(f"{BUILD} is no build folder")
    subprocess.run(["ninja", "-C", BUILD, "tests/interop/catalog_tool"], check=True, stdout=subprocess.DEVNULL)


class Shared:
    """A catalog that both sides open by the same name."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.database = os.path.join(self.folder, "catalog.db")
        self.properties = {"uri": f"sqlite:///{self.database}", "warehouse": f"file://{self.folder}/wh"}

    def pyiceberg(self, **more):
        return SqlCatalog("Prod", **self.properties, **more)

    def firn(self, *arguments, status=OK, type="sql"):
        pairs = [f"{key}={value}" for key, value in self.properties.items()]
        done = subprocess.run([TOOL, "Prod", f"type={type}", *pairs, "--", *arguments], capture_output=True, text=True)
        assert done.returncode == status, (arguments, done.returncode, done.stderr)
        return done.stdout.split("\n")[:-1]

    def sql(self, statement):
        with sqlite3.connect(self.database) as connection:
            return connection.execute(statement).fetchall()


@pytest.fixture
def shared(tmp_path):
    return Shared(tmp_path)


def data_file(table):
    return [task.file.file_path for task in table.scan().plan_files()][0]


def copy_of(path, name):
    plain = path.removeprefix("file://")
    copy = os.path.join(os.path.dirname(plain), name)
    shutil.copy(plain, copy)
    return "file://" + copy


def test_firn_commits_to_a_table_of_pyiceberg(shared):
    catalog = shared.pyiceberg()
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", ROWS.schema)
    table.append(ROWS)
    assert shared.firn("list") == ["db.t"]
    before = table.metadata_location
    (after,) = shared.firn("append", "db.t", copy_of(data_file(table), "second.parquet"), "3")
    assert os.path.basename(after).startswith("00002-") and after.endswith(".metadata.json")
    assert shared.sql("SELECT metadata_location, previous_metadata_location FROM iceberg_tables") == [(after, before)]
    table = catalog.load_table("db.t")
    assert table.metadata_location == after
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 1, 2, 2, 3, 3]
    summary = table.current_snapshot().summary
    assert summary["total-records"] == "6" and summary["total-data-files"] == "2"
    table.append(ROWS)
    shared.firn("tag", "db.t", "mark")
    table = catalog.load_table("db.t")
    assert table.refs()["mark"].snapshot_id == table.current_snapshot().snapshot_id
    assert table.current_snapshot().summary["total-records"] == "9"
    assert len(table.metadata.metadata_log) == 4


def test_pyiceberg_commits_to_a_table_of_firn(shared):
    (created,) = shared.firn("create", "a.b.t", json.dumps(SCHEMA), "owner=firn")
    assert created.startswith(f"file://{shared.folder}/wh/a.b/t/metadata/00000-")
    catalog = shared.pyiceberg()
    table = catalog.load_table("a.b.t")
    assert table.properties == {"write.parquet.compression-codec": "zstd", "owner": "firn"}
    assert catalog.list_tables("a.b") == [("a", "b", "t")]
    assert shared.sql("SELECT iceberg_type FROM iceberg_tables") == [("TABLE",)]
    table.append(ROWS)
    table.append(ROWS)
    old = data_file(table)
    shared.firn("replace", "a.b.t", old, copy_of(old, "new.parquet"), "3")
    table = catalog.load_table("a.b.t")
    assert table.scan().to_arrow().num_rows == 6
    assert table.current_snapshot().summary.operation.value == "replace"
    table.delete("id = 1")
    assert sorted(catalog.load_table("a.b.t").scan().to_arrow()["id"].to_pylist()) == [2, 2, 3, 3]
    shared.firn("load", "a.b.t")
    shared.firn("create", "a.b.t", json.dumps(SCHEMA), status=1)
    shared.firn("load", "a.b.other", status=NOT_FOUND)


def test_a_stale_pyiceberg_table_loses_to_firn(shared):
    catalog = shared.pyiceberg()
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", ROWS.schema, properties={"commit.retry.num-retries": "0"})
    table.append(ROWS)
    stale = catalog.load_table("db.t")
    shared.firn("append", "db.t", copy_of(data_file(table), "second.parquet"), "3")
    with pytest.raises(CommitFailedException):
        stale.append(ROWS)
    assert catalog.load_table("db.t").scan().to_arrow().num_rows == 6
    shared.firn("replace", "db.t", "file://" + shared.folder + "/catalog.db", data_file(table), "0", status=CONFLICT)


@pytest.mark.parametrize("version", ["v0", "v1 with NULL"])
def test_rows_of_older_catalogs(shared, version):
    """R33: without the column iceberg_type, and with nothing in it."""
    if version == "v0":
        shared.sql("CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL,"
                   " table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000),"
                   " previous_metadata_location VARCHAR(1000), PRIMARY KEY (catalog_name, table_namespace, table_name))")
        shared.sql("CREATE TABLE iceberg_namespace_properties (catalog_name VARCHAR(255) NOT NULL,"
                   " namespace VARCHAR(255) NOT NULL, property_key VARCHAR(255) NOT NULL,"
                   " property_value VARCHAR(1000) NOT NULL, PRIMARY KEY (catalog_name, namespace, property_key))")
    catalog = shared.pyiceberg()
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", ROWS.schema)
    table.append(ROWS)
    if version != "v0":
        shared.sql("UPDATE iceberg_tables SET iceberg_type = NULL")
    assert shared.firn("list") == ["db.t"]
    shared.firn("tag", "db.t", "mark")
    assert "mark" in catalog.load_table("db.t").refs()


def test_gzip_metadata(shared):
    """R34: PyIceberg reads it, though it does not heed the property itself."""
    catalog = shared.pyiceberg()
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", ROWS.schema, properties={"write.metadata.compression-codec": "gzip"})
    table.append(ROWS)
    (after,) = shared.firn("tag", "db.t", "mark")
    assert after.endswith(".gz.metadata.json")
    with open(after.removeprefix("file://"), "rb") as file:
        assert file.read(2) == b"\x1f\x8b"
    table = catalog.load_table("db.t")
    assert "mark" in table.refs()
    table.append(ROWS)
    (last,) = shared.firn("load", "db.t")
    assert last == table.metadata_location != after


def test_pyiceberg_reads_a_filesystem_table(shared):
    catalog = shared.pyiceberg()
    catalog.create_namespace("src")
    source = catalog.create_table("src.t", ROWS.schema)
    source.append(ROWS)
    (created,) = shared.firn("create", "db.t", json.dumps(SCHEMA), type="hadoop")
    assert created.endswith("/wh/db/t/metadata/v1.metadata.json")
    (after,) = shared.firn("append", "db.t", data_file(source), "3", type="hadoop")
    assert after.endswith("/wh/db/t/metadata/v2.metadata.json")
    assert StaticTable.from_metadata(after).scan().to_arrow().num_rows == 3
    with open(f"{shared.folder}/wh/db/t/metadata/version-hint.text") as file:
        assert file.read() == "2"
    assert shared.firn("list", type="hadoop") == ["db.t", "src.t"]
