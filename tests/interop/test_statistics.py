"""Statistics files: firn's numbers are Spark's, and what firn writes is read by Spark, PyIceberg and DataSketches."""
import json
import os
import time

import datasketches
import pyarrow.parquet as pq
import pytest
import zstandard

from engines import path_of
from firn import NOT_FOUND, USAGE
from lake import full_name
from twice import Twice

SKETCH = "apache-datasketches-theta-v1"

# Values past the 4,096 that a sketch holds: Spark's number then depends on how it divided the work. Files of disjoint
# values, a task each, make its sketches meet as firn's does.
MANY = 60000


def make_table(spark, identifier, version):
    name = full_name(identifier)
    spark.sql(f"CREATE TABLE {name} (id BIGINT, i INT, s STRING, b BINARY, d DECIMAL(20, 3), f FLOAT, x DOUBLE, t TIMESTAMP, "
              "day DATE, yes BOOLEAN, nothing STRING, one INT, st STRUCT<a: INT, b: STRING>, l ARRAY<INT>) USING iceberg TBLPROPERTIES ("
              f"'format-version' = '{version}', 'write.delete.mode' = 'merge-on-read', 'read.split.open-file-cost' = '1000000000', "
              "'write.distribution-mode' = 'none')")
    for part in range(4):
        first = part * MANY // 4
        spark.sql(f"INSERT INTO {name} SELECT id, CAST(id % 1000 AS INT), concat('s', id % 3000, 'é'), CAST(CAST(id % 70 AS STRING) AS BINARY), "
                  "CAST(id % 900 - 400 AS DECIMAL(20, 3)) / 7, CAST(id % 50 AS FLOAT) / 3, IF(id % 13 = 0, double('NaN'), id % 777 / 7D), "
                  "timestamp_seconds(id % 4000), date_add(DATE '1969-12-01', CAST(id % 90 AS INT)), id % 3 = 0, NULL, 7, "
                  "named_struct('a', CAST(id % 10 AS INT), 'b', IF(id % 4 = 0, '', CAST(id % 20 AS STRING))), array(1) "
                  f"FROM range({first}, {first + MANY // 4}, 1, 1)")
    if version > 1:
        spark.sql(f"DELETE FROM {name} WHERE id % 1000 >= 900")


@pytest.fixture(scope="module", params=[1, 2, 3])
def twice(request, lake, spark):
    identifier = f"{lake.new_namespace()}.counted"
    make_table(spark, identifier, request.param)
    return Twice(lake, identifier)


def read_puffin(location):
    with open(path_of(location), "rb") as file:
        data = file.read()
    assert data[:4] == data[-4:] == b"PFA1"
    size = int.from_bytes(data[-12:-8], "little")
    footer = json.loads(data[-12 - size:-12])
    assert data[-16 - size:-12 - size] == b"PFA1"
    blobs = []
    for blob in footer["blobs"]:
        content = data[blob["offset"]:blob["offset"] + blob["length"]]
        if blob.get("compression-codec") == "zstd":
            content = zstandard.ZstdDecompressor().decompress(content, max_output_size=1 << 20)
        blobs.append((blob, content))
    return footer, blobs, len(data), size + 16


def sketches_of(metadata):
    """What metadata and file say of each field: (ndv, sketch), both told by the file and by the metadata alike."""
    (entry,) = metadata["statistics"]
    footer, blobs, file_bytes, footer_bytes = read_puffin(entry["statistics-path"])
    assert entry["snapshot-id"] == metadata["current-snapshot-id"]
    assert entry["file-size-in-bytes"] == file_bytes
    assert entry["file-footer-size-in-bytes"] == footer_bytes
    told = [{key: blob[key] for key in ("type", "snapshot-id", "sequence-number", "fields", "properties")} for blob, _ in blobs]
    assert told == [{key: blob[key] for key in told[0]} for blob in entry["blob-metadata"]]
    assert footer["properties"]["created-by"]
    found = {}
    for blob, content in blobs:
        assert blob["type"] == SKETCH and blob["snapshot-id"] == entry["snapshot-id"]
        sketch = datasketches.compact_theta_sketch.deserialize(content)
        found[blob["fields"][0]] = (int(blob["properties"]["ndv"]), sketch)
    return found


def check_firn(metadata):
    for field, (ndv, sketch) in sketches_of(metadata).items():
        assert ndv == int(sketch.get_estimate()), field
        assert sketch.is_ordered(), field
        assert sketch.is_estimation_mode() == (sketch.num_retained == 4096 and ndv > 4096), field


def test_same_numbers_as_spark(twice, spark, firn):
    def by_spark(name):
        (row,) = spark.sql(f"CALL lake.system.compute_table_stats(table => '{twice.identifier}')").collect()
        return row["statistics_file"]

    def by_firn(name):
        return firn("--quiet", "--output", "json", "compute-table-stats", name).json

    _, spark_metadata, _ = twice.run(by_spark)
    spark_found = {}

    def compare_spark(name):
        by_spark(name)
        spark_found.update(sketches_of(twice.metadata()))

    def compare_firn(name):
        report = by_firn(name)
        metadata = twice.metadata()
        check_firn(metadata)
        assert report["statistics_file"] == metadata["statistics"][0]["statistics-path"]
        return report, sketches_of(metadata)

    twice.run(compare_spark)
    (report, found), firn_metadata, _ = twice.run(compare_firn)
    assert {field: ndv for field, (ndv, _) in found.items()} == {field: ndv for field, (ndv, _) in spark_found.items()}
    assert {row["field_id"]: row["ndv"] for row in report["columns"]} == {field: ndv for field, (ndv, _) in found.items()}
    for field, (_, sketch) in found.items():
        assert sorted(sketch) == sorted(spark_found[field][1]), field  # the same hashes
    assert report["columns"][0]["exact"] is False and all(row["exact"] for row in report["columns"][1:])
    assert len(firn_metadata["snapshots"]) == len(spark_metadata["snapshots"])


def test_spark_and_pyiceberg_read_it(twice, spark, firn, lake):
    def action(name):
        firn("--quiet", "compute-table-stats", name)
        spark.sql(f"REFRESH TABLE {name}")
        jvm = spark._jvm
        table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)
        file = table.statisticsFiles().get(0)
        reader = jvm.org.apache.iceberg.puffin.Puffin.read(table.io().newInputFile(file.path())).withFileSize(
            file.fileSizeInBytes()).withFooterSize(file.fileFooterSizeInBytes()).build()
        blobs = reader.fileMetadata().blobs()
        pairs = reader.readAll(blobs).iterator()
        told = {}
        while pairs.hasNext():
            pair = pairs.next()
            bytes_of = jvm.org.apache.iceberg.util.ByteBuffers.toByteArray(pair.second())
            memory = jvm.org.apache.iceberg.shaded.org.apache.datasketches.memory.Memory.wrap(bytes_of)
            sketch = jvm.org.apache.iceberg.shaded.org.apache.datasketches.theta.CompactSketch.wrap(memory)
            told[pair.first().inputFields().get(0)] = int(sketch.getEstimate())
        reader.close()
        ndvs = {blob.fields[0]: int(blob.properties["ndv"]) for blob in lake.load(twice.identifier).metadata.statistics[0].blob_metadata}
        return told, ndvs

    (told, ndvs), _, _ = twice.run(action)
    assert told == ndvs and len(told) == 12


def test_arguments(twice, spark, firn):
    def by_spark(rest):
        def action(name):
            try:
                spark.sql(f"CALL lake.system.compute_table_stats(table => '{twice.identifier}'{rest})").collect()
            except Exception as problem:  # whatever Spark raises
                return str(problem)
            return {field: ndv for field, (ndv, _) in sketches_of(twice.metadata()).items()}
        return action

    def by_firn(rest):
        def action(name):
            run = firn("--quiet", "sql", "-e", f"CALL lake.system.compute_table_stats(table => '{twice.identifier}'{rest})",
                       status=(0, USAGE, NOT_FOUND))
            return run.err if run.status else {field: ndv for field, (ndv, _) in sketches_of(twice.metadata()).items()}
        return action

    for rest in (", columns => array('i', 'st.a', 'i')", ", columns => array('nope')", ", columns => array()",
                 ", columns => array('st')", ", columns => array('l')", ", snapshot_id => 12345"):
        spark_result, _, _ = twice.run(by_spark(rest))
        firn_result, _, _ = twice.run(by_firn(rest))
        assert isinstance(spark_result, str) == isinstance(firn_result, str), f"{rest}: {spark_result} / {firn_result}"
        if isinstance(spark_result, dict):
            assert spark_result == firn_result, rest


def test_they_are_kept_and_go(twice, firn):
    """Orphan removal keeps the file that metadata name, takes the one before it, and expiry takes it with its snapshot."""
    def action(name):
        firn("--quiet", "compute-table-stats", name)
        old = path_of(twice.metadata()["statistics"][0]["statistics-path"])
        firn("--quiet", "compute-table-stats", name, "--columns", "id")
        new = path_of(twice.metadata()["statistics"][0]["statistics-path"])
        for path in (old, new):
            os.utime(path, (time.time() - 10 * 86400,) * 2)
        firn("--quiet", "remove-orphan-files", name, "--older-than", "2d")
        assert not os.path.exists(old) and os.path.exists(new)
        firn("--quiet", "verify", name)

    twice.run(action)


# Partition statistics ---------------------------------------------------------------------------------------------------


def insert_partitions(spark, name, first, partitions):
    spark.sql(f"INSERT INTO {name} SELECT id, array({partitions})[id % size(array({partitions}))], CAST(id % 3 AS DECIMAL(9, 2)), "
              f"timestamp_seconds(id * 40000) FROM range({first}, {first + 40}, 1, 1)")


@pytest.fixture(scope="module", params=[1, 2, 3])
def partitioned(request, lake, spark):
    """Two specs, deletes of every kind Spark makes, a partition that was emptied, a rewrite of the manifests."""
    identifier = f"{lake.new_namespace()}.partitioned"
    name = full_name(identifier)
    spark.sql(f"CREATE TABLE {name} (id BIGINT, p STRING, d DECIMAL(9, 2), t TIMESTAMP) USING iceberg PARTITIONED BY (p, days(t)) TBLPROPERTIES ("
              f"'format-version' = '{request.param}', 'write.delete.mode' = 'merge-on-read', 'write.distribution-mode' = 'none', "
              "'write.spark.fanout.enabled' = 'true', 'commit.manifest-merge.enabled' = 'false')")
    insert_partitions(spark, name, 0, "'a', NULL, 'c c'")
    insert_partitions(spark, name, 20, "'b', 'a'")
    spark.sql(f"DELETE FROM {name} WHERE p = 'c c'")
    if request.param > 1:
        spark.sql(f"DELETE FROM {name} WHERE id % 5 = 0")
    spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD d")
    insert_partitions(spark, name, 60, "'b', 'd'")
    return Twice(lake, identifier)


def rows_of_file(location):
    return pq.read_table(path_of(location), partitioning=None)


def partition_file(metadata):
    current = metadata["current-snapshot-id"]
    (entry,) = [entry for entry in metadata["partition-statistics"] if entry["snapshot-id"] == current]
    path = path_of(entry["statistics-path"])
    assert entry["file-size-in-bytes"] == os.path.getsize(path)
    return path


def compute_by_spark(spark, twice):
    spark.sql(f"CALL lake.system.compute_partition_stats(table => '{twice.identifier}')").collect()
    return rows_of_file(partition_file(twice.metadata()))


def compute_by_firn(firn, twice, name):
    report = firn("--quiet", "--output", "json", "compute-partition-stats", name).json
    path = partition_file(twice.metadata())
    assert report["partition_statistics_file"].removeprefix("file://") == path
    table = rows_of_file(path)
    assert report["partition_count"] == table.num_rows
    return table, report


def field_ids(schema):
    return {field.name: (field.metadata or {}).get(b"PARQUET:field_id") for field in schema}


def same_tables(firn_table, spark_table):
    # Spark sorts by the partition alone; ties are rows of two specs
    def rows(table):
        return sorted(table.to_pylist(), key=repr)

    assert firn_table.schema.remove_metadata() == spark_table.schema.remove_metadata()
    assert field_ids(firn_table.schema) == field_ids(spark_table.schema)
    assert rows(firn_table) == rows(spark_table)
    partitions = [row["partition"] for row in firn_table.to_pylist()]
    assert partitions == [row["partition"] for row in spark_table.to_pylist()]


def test_partition_rows_are_sparks(partitioned, spark, firn):
    spark_table, _, _ = partitioned.run(lambda name: compute_by_spark(spark, partitioned))
    (firn_table, report), _, _ = partitioned.run(lambda name: compute_by_firn(firn, partitioned, name))
    assert report["base_snapshot_id"] is None
    same_tables(firn_table, spark_table)


def test_partition_rows_go_on_from_either(partitioned, spark, firn):
    """From a file of either engine, each computes the same after appends, deletes and a rewrite of manifests."""
    def change(name):
        insert_partitions(spark, name, 200, "'a', 'e'")
        spark.sql(f"DELETE FROM {name} WHERE p = 'b' AND id < 70")
        spark.sql(f"CALL lake.system.rewrite_manifests(table => '{partitioned.identifier}')")

    def run(first, second):
        def action(name):
            first(name)
            change(name)
            return second(name)
        return partitioned.run(action)[0]

    def by_spark(name):
        return compute_by_spark(spark, partitioned)

    def by_firn(name):
        table, report = compute_by_firn(firn, partitioned, name)
        if len(partitioned.metadata()["partition-statistics"]) > 1:
            assert report["base_snapshot_id"] is not None
        return table

    def counts(table):
        # snapshots are made anew in each run
        return [{key: value for key, value in row.items() if not key.startswith("last_")} for row in sorted(table.to_pylist(), key=repr)]

    wanted = counts(run(by_spark, by_spark))
    assert counts(run(by_firn, by_firn)) == wanted
    assert counts(run(by_spark, by_firn)) == wanted
    assert counts(run(by_firn, by_spark)) == wanted


def test_java_reads_partition_statistics(partitioned, spark, firn):
    def action(name):
        table, _ = compute_by_firn(firn, partitioned, name)
        jvm = spark._jvm
        java = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)
        schema = jvm.org.apache.iceberg.PartitionStatsHandler.schema(jvm.org.apache.iceberg.Partitioning.partitionType(java),
                                                                    partitioned.metadata()["format-version"])
        file = java.io().newInputFile("file:" + partition_file(partitioned.metadata()))
        rows = jvm.org.apache.iceberg.PartitionStatsHandler.readPartitionStatsFile(schema, file).iterator()
        read = []
        while rows.hasNext():
            row = rows.next()
            read.append((row.specId(), row.dataRecordCount(), row.dataFileCount(), row.positionDeleteFileCount(), row.lastUpdatedSnapshotId()))
        return read, table

    (read, table), _, _ = partitioned.run(action)
    assert read == [(row["spec_id"], row["data_record_count"], row["data_file_count"], row["position_delete_file_count"],
                     row["last_updated_snapshot_id"]) for row in table.to_pylist()]


def test_partition_arguments(partitioned, twice, firn):
    def again(name):
        first = firn("--quiet", "--output", "json", "compute-partition-stats", name).json
        second = firn("--quiet", "--output", "json", "compute-partition-stats", name).json
        assert second["was_there"] and second["partition_statistics_file"] == first["partition_statistics_file"]
        assert "not partitioned" in firn("--quiet", "compute-partition-stats", full_name(twice.identifier), status=USAGE).err
        firn("--quiet", "compute-partition-stats", name, "--snapshot-id", "5", status=NOT_FOUND)
        firn("--quiet", "verify", name)
        firn("--quiet", "sql", "-e", f"CALL system.compute_partition_stats('{partitioned.identifier}')")

    partitioned.run(again)
