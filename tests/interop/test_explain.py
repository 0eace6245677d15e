"""firn explain beside the engines: the files it says stay are the files they plan, and what it says of functions is what Spark finds."""
import datetime

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform
from pyiceberg.types import DoubleType, LongType, NestedField, StringType, TimestampType

from firn import NOT_FOUND
from lake import full_name

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "ts", TimestampType(), required=False),
    NestedField(3, "s", StringType(), required=False),
    NestedField(4, "x", DoubleType(), required=False),
    NestedField(5, "blob", StringType(), required=False),
)
SPEC = PartitionSpec(PartitionField(2, 1000, DayTransform(), "ts_day"), PartitionField(1, 1001, BucketTransform(4), "id_bucket"))
START = datetime.datetime(2026, 7, 1)

# WHERE texts that PyIceberg's parser takes as well.
FILTERS = [
    "id = 7", "id > 300", "id >= 100 and id < 130", "id in (1, 2, 399)", "id is null", "id is not null", "id <> 7 and id is not null",  # to PyIceberg, null is another value
   
    "s = 'name-0123-long-enough-to-be-cut'", "s >= 'name-03'", "s like 'name-001%'", "s is null and id > 10", "x < 50.0", "x = 3.5",
    "ts >= '2026-07-03T00:00:00'", "ts >= '2026-07-02T06:00:00' and ts < '2026-07-02T18:00:00'", "ts < '2026-07-01T00:00:00'",
    "ts >= '2026-07-03T00:00:00' or id = 5", "not (id > 20 and id < 380)", "blob = 'b'", "id = 100000",
]


def rows(first, count):
    ids = range(first, first + count)
    return pa.table({
        "id": pa.array([None if i % 13 == 5 else i for i in ids], pa.int64()),
        "ts": pa.array([START + datetime.timedelta(minutes=15 * i) for i in ids], pa.timestamp("us")),
        "s": pa.array([None if i % 11 == 3 else f"name-{i:04d}-long-enough-to-be-cut" for i in ids], pa.string()),
        "x": pa.array([i / 2 for i in ids], pa.float64()),
        "blob": pa.array(["b" for _ in ids], pa.string()),
    })


@pytest.fixture(scope="module")
def table(lake):
    identifier = f"{lake.new_namespace()}.t"
    made = lake.catalog.create_table(identifier, SCHEMA, partition_spec=SPEC, properties={
        "write.metadata.metrics.column.blob": "none", "format-version": "2"})
    for first in range(0, 400, 50):
        made.append(rows(first, 50))
    return identifier


def explain(firn, identifier, where, *arguments):
    return firn("--quiet", "--output", "json", "explain", full_name(identifier), "--where", where, *arguments).json


@pytest.mark.parametrize("where", FILTERS)
def test_the_files_that_stay_are_those_that_pyiceberg_plans(firn, lake, table, where):
    report = explain(firn, table, where)
    planned = [task.file for task in lake.load(table).scan(row_filter=where).plan_files()]
    assert report["kept"]["files"] == len(planned)
    assert report["kept"]["bytes"] == sum(file.file_size_in_bytes for file in planned)
    assert report["total"]["files"] == report["kept"]["files"] + sum(level["files"] for level in report["pruned"].values())
    every = [task.file for task in lake.load(table).scan().plan_files()]
    assert report["total"] == {
        "files": len(every), "bytes": sum(file.file_size_in_bytes for file in every), "rows": sum(file.record_count for file in every)}


def planned_by_spark(spark, name, where):
    """The scan that Spark's connector plans for a WHERE text, through Iceberg's own API."""
    jvm, session = spark._jvm, spark._jsparkSession
    converter = jvm.org.apache.spark.sql.execution.datasources.SparkExpressionConverter
    expression = converter.convertToIcebergExpression(converter.collectResolvedSparkExpression(session, name, where))
    tasks = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(session, name).newScan().filter(expression).planFiles().iterator()
    paths = []
    while tasks.hasNext():
        paths.append(tasks.next().file().location())
    return paths


def test_the_files_that_stay_are_those_that_spark_plans(firn, spark, table):
    for where in FILTERS:
        spark_where = where.replace("T0", " 0").replace("T1", " 1")
        assert explain(firn, table, where)["kept"]["files"] == len(planned_by_spark(spark, full_name(table), spark_where)), where


# Each finds the same rows without its function.
FUNCTIONS = [
    "date_format(ts, 'yyyy-MM-dd') = '2026-07-02'", "to_date(ts) >= '2026-07-03'", "cast(ts as date) < date '2026-07-02'",
    "year(ts) = 2026 and id < 20", "date_trunc('hour', ts) = timestamp '2026-07-02 05:00:00'", "2025 >= year(ts)",
    "substring(s, 1, 9) = 'name-0012' or left(s, 8) = 'name-002'", "not (date_format(ts, 'yyyy-MM') <= '2026-06')",
]


def test_what_is_said_without_functions_finds_the_same_rows(firn, spark, table):
    for where in FUNCTIONS:
        rewritten = explain(firn, table, where)["rewritten"]
        counts = [spark.sql(f"SELECT count(*) FROM {full_name(table)} WHERE {text}").collect()[0][0] for text in (where, rewritten["where"])]
        assert counts[0] == counts[1], (where, rewritten)
        assert rewritten["kept"]["files"] == explain(firn, table, rewritten["where"])["kept"]["files"]


def test_pages_and_row_groups_hold_the_rows_that_match(firn, lake, table):
    for where in FILTERS:
        deep = explain(firn, table, where, "--deep")["deep"]
        assert deep["unreadable_files"] == 0
        assert deep["rows_kept"] >= lake.load(table).scan(row_filter=where).to_arrow().num_rows, where


def test_reasons_name_what_stands_in_the_way(firn, table):
    def codes(where):
        return {reason["code"]: reason for reason in explain(firn, table, where)["reasons"]}

    assert "write.metadata.metrics.column.blob" in codes("blob = 'b'")["no-metrics"]["command"]
    assert codes("s like 'name-01%'")["partition-not-filtered"]["column"] in ("ts", "id")
    assert codes("id > 100")["transform"]["column"] == "id"
    assert "by this column" in codes("date_format(ts, 'yyyy-MM-dd') = '2026-07-02'")["function"]["advice"]


def test_people_see_the_same(firn, table):
    text = firn("explain", full_name(table), "--where", "blob = 'b' and id = 7", "--deep").out
    for words in ("ruled out by", "why files stay", "no-metrics", "row groups", "firn set-properties"):
        assert words in text


def test_snapshots(firn, lake, table):
    snapshots = lake.load(table).metadata.snapshots
    report = explain(firn, table, "id >= 0", "--snapshot-id", str(snapshots[0].snapshot_id))
    assert report["total"]["rows"] == 50
    assert explain(firn, table, "id >= 0", "--branch", "main")["total"]["rows"] == 400
    firn("explain", full_name(table), "--where", "id = 1", "--tag", "nothing", status=NOT_FOUND)
