"""Statistics files: firn's numbers are Spark's, and what firn writes is read by Spark, PyIceberg and DataSketches."""
import json
import os
import time

import datasketches
import pytest
import zstandard

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
    with open(location.removeprefix("file://").removeprefix("file:"), "rb") as file:
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
        old = twice.metadata()["statistics"][0]["statistics-path"].removeprefix("file://")
        firn("--quiet", "compute-table-stats", name, "--columns", "id")
        new = twice.metadata()["statistics"][0]["statistics-path"].removeprefix("file://")
        for path in (old, new):
            os.utime(path, (time.time() - 10 * 86400,) * 2)
        firn("--quiet", "remove-orphan-files", name, "--older-than", "2d")
        assert not os.path.exists(old) and os.path.exists(new)
        firn("--quiet", "verify", name)

    twice.run(action)
