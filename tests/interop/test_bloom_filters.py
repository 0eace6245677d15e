"""Bloom filters that firn writes are asked by DuckDB and parquet-java; Spark finds by them every row that there is."""
import datetime
import decimal
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (DateType, DecimalType, DoubleType, FixedType, IntegerType, LongType, NestedField, StringType, StructType,
                             TimestamptzType, UUIDType)

from checks import metadata_of
from engines import path_of
from iceberg_files import live_files
from lake import full_name

ROWS = 6000
SCHEMA = Schema(
    NestedField(1, "i", IntegerType()), NestedField(2, "l", LongType()), NestedField(3, "s", StringType()), NestedField(4, "d", DoubleType()),
    NestedField(5, "m", DecimalType(30, 4)), NestedField(6, "t", TimestamptzType()), NestedField(7, "day", DateType()),
    NestedField(8, "u", UUIDType()), NestedField(9, "f", FixedType(5)), NestedField(10, "few", StringType()),
    NestedField(11, "st", StructType(NestedField(13, "x", StringType()))), NestedField(12, "without", LongType()))
ENABLED = ["i", "l", "s", "d", "m", "t", "day", "u", "f", "few", "st.x"]


def row(n):
    return {
        "i": n * 7, "l": n * 1_000_003, "s": f"value {n * 13}", "d": n / 7, "m": decimal.Decimal(n * 3 + 1).scaleb(-4),
        "t": datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(seconds=n * 11),
        "day": datetime.date(2020, 1, 1) + datetime.timedelta(days=n % 3000), "u": uuid.UUID(int=n * 12345).bytes, "f": b"%05d" % (n * 2),
        "few": f"f{n % 5}", "st": {"x": f"nested {n}"}, "without": n,
    }


@pytest.fixture(scope="module")
def table(lake, firn):
    identifier = f"{lake.new_namespace()}.filtered"
    properties = {f"write.parquet.bloom-filter-enabled.column.{name}": "true" for name in ENABLED}
    properties |= {"write.parquet.bloom-filter-fpp.column.s": "0.001", "write.parquet.bloom-filter-ndv.column.l": "100"}
    table = lake.catalog.create_table(identifier, SCHEMA, properties=properties)
    for part in range(3):
        rows = [row(n) for n in range(part * ROWS // 3, (part + 1) * ROWS // 3)]
        table.append(pa.Table.from_pylist(rows, schema=SCHEMA.as_arrow()))
    firn.compact(full_name(identifier), options={"rewrite-all": "true"})
    firn("--quiet", "verify", "--deep", full_name(identifier))
    return identifier


@pytest.fixture(scope="module")
def path(lake, table):
    (file,) = live_files(metadata_of(lake.load(table)))
    return path_of(file["file_path"])


def test_sizes(path, firn):
    """Filters are as large as their values need: few values, a few bytes; a stated number of values, no more than that."""
    sizes = {}
    for column in firn("--output", "json", "inspect", "--pages", path).json["row_groups"][0]["columns"]:
        assert ("bloom_filter" in column) == (column["path"] in ENABLED), column["path"]
        if "bloom_filter" in column:
            sizes[column["path"]] = column["bloom_filter"]["bytes"]
    assert sizes["few"] == 32 and sizes["l"] == 128
    assert 4096 <= sizes["i"] <= 16384 and sizes["s"] > sizes["i"]
    metadata = pq.ParquetFile(path).metadata
    assert metadata.num_rows == ROWS


def excluded(duck, path, column, value):
    return duck.execute("SELECT bool_and(bloom_filter_excludes) FROM parquet_bloom_probe(?, ?, ?)", [path, column, value]).fetchone()[0]


def test_duckdb_asks_them(path, duck):
    absent = 0
    for n in range(0, ROWS, 97):
        here = row(n)
        for column in ("i", "s", "few", "d", "l"):
            assert excluded(duck, path, column, here[column]) is False, (column, n)
        absent += excluded(duck, path, "i", n * 7 + 1) + excluded(duck, path, "s", f"no value {n}") + excluded(duck, path, "few", f"g{n}")
    asked = 3 * len(range(0, ROWS, 97))
    assert absent > asked * 0.95
    assert duck.execute("SELECT count(*) FROM read_parquet(?) WHERE s = 'value 13'", [path]).fetchone() == (1,)


def test_parquet_java_asks_them(path, spark):
    jvm = spark._jvm
    file = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(jvm.org.apache.hadoop.fs.Path("file:" + path),
                                                                       spark._jsc.hadoopConfiguration())
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(file)
    block = reader.getFooter().getBlocks().get(0)
    filters = {}
    for i in range(block.getColumns().size()):
        column = block.getColumns().get(i)
        found = reader.getBloomFilterDataReader(block).readBloomFilter(column)
        if found is not None:
            filters[column.getPath().toDotString()] = found
    assert sorted(filters) == sorted(ENABLED)
    wrong = 0
    for n in range(0, ROWS, 53):
        here = row(n)
        binary = jvm.org.apache.parquet.io.api.Binary
        known = {"i": jvm.java.lang.Integer(here["i"]), "d": jvm.java.lang.Double(here["d"]), "s": binary.fromString(here["s"]),
                 "st.x": binary.fromString(here["st"]["x"]), "few": binary.fromString(here["few"]),
                 "f": binary.fromConstantByteArray(here["f"]), "u": binary.fromConstantByteArray(here["u"])}
        for name, value in known.items():
            assert filters[name].findHash(filters[name].hash(value)), (name, n)
        other = filters["s"].hash(binary.fromString(f"another {n}"))
        wrong += filters["s"].findHash(other)
    reader.close()
    assert wrong <= 2


def test_spark_finds_every_row(table, spark):
    name = full_name(table)
    for n in range(5, ROWS, ROWS // 8):
        here = row(n)
        conditions = [f"i = {here['i']}", f"l = {here['l']}", f"s = '{here['s']}'", f"m = {here['m']:f}BD", f"st.x = '{here['st']['x']}'",
                      f"t = TIMESTAMP '{here['t']:%Y-%m-%d %H:%M:%S}'"]
        for condition in conditions:
            rows = spark.sql(f"SELECT without FROM {name} WHERE {condition}").collect()
            assert [row["without"] for row in rows] == [n], condition
    assert spark.sql(f"SELECT without FROM {name} WHERE s = 'value 1'").collect() == []
