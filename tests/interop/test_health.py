"""firn health beside the engines: its numbers are those of the metadata tables, what it tells to run mends what it found."""
import os
import shlex

import pytest

from engines import rows_of_spark
from firn import PARTIAL
from lake import NAME, full_name
from tables import EVENTS, append_events


def make_table(spark, identifier, version):
    """Small appends over three partitions, some of them deleted from, and a second spec."""
    name = full_name(identifier)
    spark.sql(f"CREATE TABLE {name} (id BIGINT, p STRING, x DOUBLE) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ("
              f"'format-version' = '{version}', 'commit.manifest-merge.enabled' = 'false', 'write.delete.mode' = 'merge-on-read', "
              "'write.distribution-mode' = 'none')")
    for first in range(0, 1200, 200):
        spark.sql(f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id, CASE WHEN id % 200 < 120 THEN 'a' ELSE 'b' END, id / 7 "
                  f"FROM range({first}, {first + 200}, 1, 1)")
    spark.sql(f"DELETE FROM {name} WHERE id % 5 = 0 AND p = 'a'")
    spark.sql(f"DELETE FROM {name} WHERE id < 20")
    spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD bucket(2, id)")
    spark.sql(f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id, 'c', 0.5 FROM range(5000, 5100, 1, 1)")
    spark.sql(f"ALTER TABLE {name} CREATE TAG audit")


def examine(firn, identifier, *arguments):
    return firn("--quiet", "--output", "json", "health", full_name(identifier), *arguments).json


@pytest.fixture(scope="module", params=[2, 3])
def table(request, lake, spark):
    identifier = f"{lake.new_namespace()}.t"
    make_table(spark, identifier, request.param)
    return identifier


def row(spark, text):
    return spark.sql(text).collect()[0].asDict()


def test_files_are_those_of_spark(firn, spark, table):
    survey = examine(firn, table)["survey"]
    data = row(spark, f"SELECT count(*) AS files, sum(file_size_in_bytes) AS bytes, sum(record_count) AS rows FROM {full_name(table)}.data_files")
    deletes = row(spark, f"SELECT count(*) AS files, sum(record_count) AS rows FROM {full_name(table)}.delete_files")
    assert survey["data"] == data
    kinds = [survey[kind] for kind in ("position_deletes", "equality_deletes", "deletion_vectors")]
    assert {key: sum(kind[key] for kind in kinds) for key in ("files", "rows")} == deletes
    assert sum(size["files"] for size in survey["file_sizes"]) == data["files"]
    assert sum(size["bytes"] for size in survey["file_sizes"]) == data["bytes"]


def test_partitions_are_those_of_spark(firn, spark, table):
    def key(p, bucket, spec_id):
        return f"p={p}" if spec_id == 0 else f"p={p}/id_bucket_2={bucket}"

    expected = {}
    for line in spark.sql(f"SELECT * FROM {full_name(table)}.partitions").collect():
        deletes = line["position_delete_file_count"] + line["equality_delete_file_count"]
        expected[key(line["partition"]["p"], line["partition"]["id_bucket_2"], line["spec_id"])] = (
            line["spec_id"], line["file_count"], line["record_count"], line["total_data_file_size_in_bytes"], deletes,
            int(line["last_updated_at"].timestamp() * 1000))
    found = {}
    for part in examine(firn, table)["survey"]["partitions"]:
        deletes = sum(part[kind]["files"] for kind in ("position_deletes", "equality_deletes", "deletion_vectors"))
        found[part["partition"]] = (part["spec_id"], part["data"]["files"], part["data"]["rows"], part["data"]["bytes"], deletes,
                                    part["updated_ms"])
    assert found == expected


def test_manifests_snapshots_and_refs_are_those_of_spark(firn, spark, table):
    survey = examine(firn, table)["survey"]
    manifests = row(spark, "SELECT count(*) AS count, sum(length) AS bytes, sum(added_data_files_count + existing_data_files_count + "
                           "added_delete_files_count + existing_delete_files_count) AS entries, sum(deleted_data_files_count + "
                           f"deleted_delete_files_count) AS tombstones FROM {full_name(table)}.manifests")
    assert {key: survey["manifests"][key] for key in manifests} == manifests
    commits = [(line["snapshot_id"], line["operation"], int(line["summary"].get("added-data-files", 0)))
               for line in spark.sql(f"SELECT * FROM {full_name(table)}.snapshots").collect()]
    assert [(int(commit["snapshot_id"]), commit["operation"], commit["added_files"]) for commit in survey["commits"]] == commits
    assert {writer["writer"] for writer in survey["writers"]} == {"spark"}
    refs = {line["name"]: (line["type"].lower(), line["snapshot_id"]) for line in spark.sql(f"SELECT * FROM {full_name(table)}.refs").collect()}
    assert {ref["name"]: (ref["type"], int(ref["snapshot_id"])) for ref in survey["refs"]} == refs
    assert survey["metadata_file_bytes"] == os.path.getsize(firn("--output", "json", "describe", full_name(table)).json["metadata_file"].removeprefix("file:"))


def test_columns_are_those_of_spark(firn, spark, table):
    columns = {column["name"]: column for column in examine(firn, table)["survey"]["columns"]}
    metrics = "sum(readable_metrics.{0}.value_count) AS values, sum(readable_metrics.{0}.null_value_count) AS nulls, " \
              "count(readable_metrics.{0}.lower_bound) AS files_with_bounds, sum(readable_metrics.{0}.column_size) AS compressed_bytes"
    for name in ("id", "p", "x"):
        expected = row(spark, f"SELECT {metrics.format(name)} FROM {full_name(table)}.data_files")
        assert {key: columns[name][key] for key in expected} == expected
    bounds = [(line["low"], line["high"]) for line in spark.sql(
        f"SELECT readable_metrics.id.lower_bound AS low, readable_metrics.id.upper_bound AS high FROM {full_name(table)}.data_files").collect()]
    depths = [sum(low <= point <= high for low, high in bounds) for pair in bounds for point in pair]
    assert columns["id"]["files_per_point"] == pytest.approx(sum(depths) / len(depths))


LIMITS = ["--threshold", "manifests.healthy=2", "--threshold", "partition-files.healthy=5"]


@pytest.mark.parametrize("by", ["command", "call"])
def test_what_is_told_mends(firn, lake, spark, table, by):
    """Commands as a shell splits them, calls as Spark reads them; each on a copy."""
    copy = lake.twin(table, by)
    rows = rows_of_spark(spark, copy)
    before = examine(firn, copy, *LIMITS)
    codes = [finding["code"] for finding in before["findings"]]
    assert {"small-files", "manifests", "partition-files"} <= set(codes)
    for code in ("small-files", "position-deletes", "deleted-rows", "manifests"):
        for finding in examine(firn, copy, *LIMITS)["findings"]:
            if finding["code"] != code:
                continue
            if by == "call":
                spark.sql(finding["call"]).collect()
            else:
                program, *words = shlex.split(finding["command"])
                assert program == "firn"
                firn("--quiet", *words)
    after = examine(firn, copy, *LIMITS)
    assert not {"small-files", "partition-files", "manifests"} & {finding["code"] for finding in after["findings"]}
    assert after["score"] > before["score"]
    assert rows_of_spark(spark, copy) == rows


def test_all_tables_and_a_broken_one(firn, lake, namespace):
    for name in ("one", "two", "three"):
        append_events(lake.catalog.create_table(f"{namespace}.{name}", EVENTS), commits=2)
    broken = lake.load(f"{namespace}.two")
    os.remove(broken.current_snapshot().manifest_list.removeprefix("file://"))
    run = firn("health", "--all", status=PARTIAL)
    lines = {words[2]: words[0] for words in (line.split() for line in run.out.split("\n")) if len(words) > 2}
    assert lines[f"{NAME}.{namespace}.one"] == lines[f"{NAME}.{namespace}.three"] == "healthy"
    assert any(line.startswith("broken") and f"{namespace}.two" in line for line in run.out.split("\n"))
    assert "\033" not in run.out
    report = firn("--output", "json", "health", "--all", status=PARTIAL).json
    failed = [failure["table"] for failure in report["failures"]]  # other tests leave broken tables, too
    assert [table for table in failed if table.startswith(f"{namespace}.")] == [f"{namespace}.two"]
    assert {"state", "score", "findings"} <= set(report["tables"][0]) and "survey" not in report["tables"][0]
    os.remove(broken.metadata_location.removeprefix("file://"))
    assert "two" in firn("health", f"{namespace}.one", f"{namespace}.two", status=PARTIAL).out
    lake.catalog.drop_table(f"{namespace}.two")
