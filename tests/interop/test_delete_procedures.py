"""Delete files that firn rewrites or converts are read by all engines as before, and counts are those of Spark's procedure."""
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checks import check_verified, metadata_of
from engines import path_of, rows_of_duckdb, rows_of_pyiceberg, rows_of_spark
from iceberg_files import EQUALITY_DELETES, live_files
from lake import full_name

COUNTS = ["rewritten_delete_files_count", "added_delete_files_count", "rewritten_bytes_count"]


def merge_on_read(spark, identifier):
    """Partitions a and b of three data files, and one c without deletes; six deletes of a few rows each over a and b."""
    name = full_name(identifier)
    spark.sql(f"CREATE TABLE {name} (id BIGINT, p STRING) USING iceberg PARTITIONED BY (p) TBLPROPERTIES "
              "('format-version' = '2', 'write.delete.mode' = 'merge-on-read', 'write.delete.granularity' = 'partition')")
    for first in (0, 300, 600):
        spark.sql(f"INSERT INTO {name} SELECT /*+ REPARTITION(1) */ id, array('a', 'b', 'c')[id % 3] FROM range({first}, {first + 300})")
    for n in range(6):
        spark.sql(f"DELETE FROM {name} WHERE p <> 'c' AND id % 50 = {7 * n}")


def call(spark, identifier):
    return spark.sql(f"CALL lake.system.rewrite_position_delete_files(table => '{identifier}')").collect()[0].asDict()


def run(firn, command, identifier, *arguments):
    return firn("--output", "json", command, full_name(identifier), *arguments).json


def deletes(lake, identifier):
    return [file for file in live_files(metadata_of(lake.load(identifier))) if file["content"]]


@pytest.mark.parametrize("granularity", ["partition", "file"])
def test_counts_and_rows_are_those_of_spark(lake, firn, spark, duck, namespace, granularity):
    identifier = f"{namespace}.t"
    merge_on_read(spark, identifier)
    spark.sql(f"ALTER TABLE {full_name(identifier)} SET TBLPROPERTIES ('write.delete.granularity' = '{granularity}')")
    before = rows_of_spark(spark, identifier)
    ours, theirs = lake.twin(identifier, "firn"), lake.twin(identifier, "spark")
    wanted = call(spark, theirs)
    report = run(firn, "rewrite-position-delete-files", ours)
    assert {key: report[key] for key in COUNTS} == {key: wanted[key] for key in COUNTS}
    assert report["rewritten_delete_files_count"] == 12
    assert rows_of_spark(spark, ours) == before
    table = lake.load(ours)
    assert rows_of_pyiceberg(table) == before
    assert rows_of_duckdb(duck, table.metadata_location) == before
    for file in deletes(lake, ours):
        assert file["sort_order_id"] is None
        assert pq.read_schema(file["path"]).names == ["file_path", "pos"]
        rows = pq.read_table(file["path"]).to_pylist()
        assert rows == sorted(rows, key=lambda row: (row["file_path"], row["pos"])) and len(rows) == file["record_count"]
    check_verified(firn, ours, "--deep")
    assert run(firn, "rewrite-position-delete-files", ours)["commits"] == 0
    assert run(firn, "rewrite-position-delete-files", ours, "--dry-run")["groups"] == []
    spark.sql(f"DELETE FROM {full_name(ours)} WHERE id = 1")
    assert len(rows_of_spark(spark, ours)) == len(before) - 1


def test_files_of_an_upgraded_table_become_vectors(lake, firn, spark, namespace):
    identifier = f"{namespace}.t"
    merge_on_read(spark, identifier)
    spark.sql(f"ALTER TABLE {full_name(identifier)} SET TBLPROPERTIES ('format-version' = '3')")
    before = rows_of_spark(spark, identifier)
    ours, theirs = lake.twin(identifier, "firn"), lake.twin(identifier, "spark")
    wanted = call(spark, theirs)
    report = run(firn, "rewrite-position-delete-files", ours)
    assert {key: report[key] for key in COUNTS} == {key: wanted[key] for key in COUNTS}
    assert {file["file_format"] for file in deletes(lake, ours)} == {"PUFFIN"}
    assert rows_of_spark(spark, ours) == before
    spark.sql(f"DELETE FROM {full_name(ours)} WHERE id < 60")  # Spark merges its vectors with firn's
    spark.sql(f"DELETE FROM {full_name(theirs)} WHERE id < 60")
    assert rows_of_spark(spark, ours) == rows_of_spark(spark, theirs) != before
    check_verified(firn, ours, "--deep")


def add_equality_delete(lake, spark, identifier, partition, ids):
    """What Flink commits: keys of a partition, numbered like the commit."""
    folder = path_of(lake.load(identifier).location())
    path = os.path.join(folder, "data", f"eq-{partition}-{ids[0]}.parquet")
    field = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})
    pq.write_table(pa.table({"id": ids}, schema=pa.schema([field])), path)
    jvm, gateway = spark._jvm, spark.sparkContext._gateway
    table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, full_name(identifier))
    columns = gateway.new_array(gateway.jvm.int, 1)
    columns[0] = 1
    file = (jvm.org.apache.iceberg.FileMetadata.deleteFileBuilder(table.spec()).ofEqualityDeletes(columns).withPath(f"file://{path}")
            .withPartitionPath(f"p={partition}").withFileSizeInBytes(os.path.getsize(path)).withRecordCount(len(ids))
            .withFormat("parquet").build())
    table.newRowDelta().addDeletes(file).commit()


@pytest.mark.parametrize("version", [2, 3])
def test_equality_deletes_are_converted(lake, firn, spark, duck, namespace, version):
    identifier = f"{namespace}.t"
    merge_on_read(spark, identifier)
    name = full_name(identifier)
    if version == 3:
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('format-version' = '3')")
        spark.sql(f"DELETE FROM {name} WHERE id = 3")  # a vector that is to be merged
    add_equality_delete(lake, spark, identifier, "a", [0, 3, 6, 603, 99999])
    add_equality_delete(lake, spark, identifier, "b", [1, 304])
    spark.sql(f"INSERT INTO {name} VALUES (6, 'a'), (1, 'b')")
    add_equality_delete(lake, spark, identifier, "c", [2, 5])
    before = rows_of_spark(spark, identifier)
    ours = lake.twin(identifier, "firn")
    assert len(run(firn, "convert-equality-deletes", ours, "--dry-run")["deletes"]) == 3
    report = run(firn, "convert-equality-deletes", ours)
    assert report["converted_equality_delete_files_count"] == 3
    assert EQUALITY_DELETES not in {file["content"] for file in deletes(lake, ours)}
    assert rows_of_spark(spark, ours) == before
    if version == 2:
        table = lake.load(ours)
        assert rows_of_pyiceberg(table) == before
        assert rows_of_duckdb(duck, table.metadata_location) == before
    check_verified(firn, ours, "--deep")
    assert run(firn, "convert-equality-deletes", ours)["commits"] == 0
    spark.sql(f"DELETE FROM {full_name(ours)} WHERE id = 9")
    assert len(rows_of_spark(spark, ours)) == len(before) - 1
