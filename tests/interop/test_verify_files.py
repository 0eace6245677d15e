"""What other engines write is sound to `firn verify --deep`: nothing in it is taken for damage."""
import os

import pyarrow.parquet as parquet
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, ListType, NestedField, StructType

from checks import metadata_of
from engines import path_of
from firn import CORRUPT, OK
from iceberg_files import live_files
from lake import full_name
from tables import PYICEBERG_TABLES, SPARK_TABLES, create, insert

MERGE_ON_READ = """'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read',
    'write.merge.mode' = 'merge-on-read'"""


def check_sound(firn, identifier):
    for how in ((), ("--deep",)):
        findings = firn("--quiet", "--output", "json", "verify", full_name(identifier), *how).json["findings"]
        assert findings == [], f"{identifier} {how}"


@pytest.mark.parametrize("name", PYICEBERG_TABLES)
def test_pyiceberg(lake, firn, namespace, name):
    identifier = f"{namespace}.{name}"
    PYICEBERG_TABLES[name](lake, identifier)
    check_sound(firn, identifier)
    firn.compact(full_name(identifier), options={"min-input-files": "2"})
    check_sound(firn, identifier)


@pytest.mark.parametrize("name", SPARK_TABLES)
def test_spark(spark, firn, namespace, name):
    identifier = f"{namespace}.{name}"
    SPARK_TABLES[name](spark, identifier)
    check_sound(firn, identifier)
    firn.compact(full_name(identifier), options={"min-input-files": "2"})
    check_sound(firn, identifier)


VALUES = """SELECT id, if(id % 7 = 0, null, concat('x€', repeat('y', int(id % 40)), id)), if(id % 5 = 0, double('NaN'), id / 3 - 9),
    float(-0.0), timestamp'1969-12-31 23:00:00' + make_interval(0, 0, 0, int(id % 3)), cast(id - 50 as decimal(20, 3)),
    if(id % 2 = 0, null, named_struct('a', id, 'b', array(id, null)))"""


@pytest.mark.parametrize("version,form", [(2, "parquet"), (3, "parquet"), (2, "avro"), (3, "avro")])
def test_merge_on_read_by_spark(spark, firn, namespace, version, form):
    identifier = f"{namespace}.deletes"
    create(spark, identifier, """id bigint, s string, d double, f float, at timestamp, m decimal(20, 3),
           n struct<a: bigint, b: array<bigint>>""", f"""PARTITIONED BY (days(at), bucket(3, id)) TBLPROPERTIES (
           'format-version' = '{version}', {MERGE_ON_READ}, 'write.format.default' = '{form}', 'write.delete.format.default' = '{form}')""")
    for commit in range(3):
        insert(spark, identifier, f"{VALUES} FROM range({commit * 200}, {commit * 200 + 200})")
    spark.sql(f"DELETE FROM {full_name(identifier)} WHERE id % 11 = 3")
    spark.sql(f"UPDATE {full_name(identifier)} SET s = 'changed' WHERE id % 13 = 5")
    check_sound(firn, identifier)


def test_damage_is_seen(lake, firn, namespace):
    identifier = f"{namespace}.damaged"
    PYICEBERG_TABLES["unpartitioned"](lake, identifier)
    files = sorted(path_of(file["path"]) for file in live_files(metadata_of(lake.load(identifier))))
    os.remove(files[0])
    with open(files[1], "r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(b"XXXX")
    found = firn("--quiet", "--output", "json", "verify", full_name(identifier), status=CORRUPT).json["findings"]
    codes = {(item["code"], path_of(item["location"])) for item in found}
    assert {("file-missing", files[0]), ("file-unreadable", files[1])} <= codes


WIDE = Schema(NestedField(1, "n", IntegerType()), NestedField(2, "l", ListType(3, StructType(NestedField(4, "a", IntegerType())), False)))


@pytest.mark.parametrize("version", ["V1", "V2"])
def test_duckdb_in_its_own_way(lake, duck, firn, namespace, version):
    """Differences of 33 bits, which PyArrow does not read, and nulls of null structs counted twice: after a rewrite all is as others have it."""
    identifier = f"{namespace}.wide"
    table = lake.catalog.create_table(identifier, WIDE)
    path = os.path.join(path_of(table.location()), "data", "wide.parquet")
    os.makedirs(os.path.dirname(path))
    duck.execute(f"""COPY (SELECT (CASE range % 2 WHEN 0 THEN -2147483648 + range ELSE 2147483647 - range END)::INTEGER n,
        CASE range % 5 WHEN 0 THEN NULL WHEN 1 THEN [] WHEN 2 THEN [NULL]
        ELSE [{{a: (CASE range % 2 WHEN 0 THEN -2147483648 + range ELSE 2147483647 - range END)::INTEGER}}, {{a: NULL}}] END l FROM range(5000))
        TO '{path}' (FORMAT parquet, PARQUET_VERSION {version}, FIELD_IDS {{n: 1, l: {{__duckdb_field_id: 2, element: {{__duckdb_field_id: 3, a: 4}}}}}})""")
    table.add_files([path])
    rows = duck.sql(f"SELECT n, l FROM '{path}' ORDER BY n").fetchall()
    findings = firn("--quiet", "--output", "json", "verify", full_name(identifier), "--deep", status=CORRUPT if version == "V2" else OK).json["findings"]
    assert {(item["code"], item["severity"]) for item in findings} == {("statistics", "warning")} | (
        {("page-encoding", "error")} if version == "V2" else set())
    firn.compact(full_name(identifier), options={"rewrite-all": "true", "layout": "fastest"})
    [file] = live_files(metadata_of(lake.load(identifier)))
    read = parquet.read_table(path_of(file["path"])).sort_by("n").to_pylist()
    assert [(row["n"], row["l"]) for row in read] == rows
