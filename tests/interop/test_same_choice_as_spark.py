"""For the same table and options firn and Spark rewrite the same files, and what they record about their outputs agrees."""
import random

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import BinaryType, LongType, NestedField, StringType

from checks import metadata_of
from engines import path_of
from iceberg_files import DATA, live_files, manifests_of, snapshot_of
from lake import full_name
from tables import PYICEBERG_TABLES, SPARK_TABLES

KB = 1024
SCHEMA = Schema(
    NestedField(1, "p", StringType(), required=False),
    NestedField(2, "id", LongType(), required=False),
    NestedField(3, "noise", BinaryType(), required=False),
)
# Incompressible rows of 1 KB: the sizes of files in KB, one append each, for three partitions.
SIZES = {"a": [20, 30, 300, 500, 40, 260, 20], "b": [100] * 12, "c": [700, 25]}

OPTION_SETS = {
    "defaults": {},
    "two_files_are_enough": {"min-input-files": 2},
    "ten_files": {"min-input-files": 10},
    "target_256k": {"target-file-size-bytes": 256 * KB},
    "target_256k_two_files": {"target-file-size-bytes": 256 * KB, "min-input-files": 2},
    "target_1m": {"target-file-size-bytes": 1024 * KB, "min-input-files": 3},
    "narrow_band": {"target-file-size-bytes": 256 * KB, "min-file-size-bytes": 200 * KB, "max-file-size-bytes": 300 * KB},
    "only_large": {"target-file-size-bytes": 128 * KB, "min-file-size-bytes": 0, "max-file-size-bytes": 256 * KB},
    "small_groups": {"max-file-group-size-bytes": 350 * KB, "min-input-files": 2},
    "rewrite_all": {"rewrite-all": "true"},
    "rewrite_all_small_groups": {"rewrite-all": "true", "max-file-group-size-bytes": 600 * KB},
    "largest_first": {"rewrite-job-order": "bytes-desc", "min-input-files": 2},
    "partial_progress": {"partial-progress.enabled": "true", "partial-progress.max-commits": 2, "min-input-files": 2},
    "new_sequence_number": {"use-starting-sequence-number": "false", "min-input-files": 2},
    "one_at_a_time": {"max-concurrent-file-group-rewrites": 1, "target-file-size-bytes": 512 * KB, "min-input-files": 2},
}
# Here some file is larger than the target. Spark reads a row group whole, so it writes the file as it was; firn cuts it.
CUTS_ROW_GROUPS = {"target_256k", "target_256k_two_files", "narrow_band", "only_large", "one_at_a_time", "small_groups"}

# On the table of `deleted`, where no file is too small or too large.
DELETE_OPTION_SETS = {
    "one_delete_file": {"delete-file-threshold": 1},
    "two_delete_files": {"delete-file-threshold": 2},
    "default_ratio": {},
    "low_ratio": {"delete-ratio-threshold": 0.05},
    "high_ratio": {"delete-ratio-threshold": 0.5},
    "no_file_needed": {"delete-file-threshold": 0, "max-file-group-size-bytes": 400 * KB},
}

WHERE = {
    "partition": "p = 'b'",
    "partition_in": "p IN ('a', 'c')",
    "bounds": "id >= 5000000",
    "nothing": "p = 'z'",
    "either": "p = 'c' OR id < 2000000",
    "neither_null": "NOT (p = 'a') AND id IS NOT NULL",
    "prefix": "p LIKE 'a%'",
}


@pytest.fixture(scope="module")
def sized(lake, spark):
    """The table of SIZES; tests work on twins of it. One manifest, since Spark reads several in no certain order."""
    namespace = lake.new_namespace()
    identifier = f"{namespace}.sized"
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "p"))
    table = lake.catalog.create_table(identifier, SCHEMA, partition_spec=spec)
    noise = random.Random(7)
    number = 0
    for partition, sizes in SIZES.items():
        for size in sizes:
            number += 1
            table.append(pa.table({
                "p": [partition] * size,
                "id": [number * 1000000 + n for n in range(size)],
                "noise": [noise.randbytes(KB) for _ in range(size)],
            }))
    spark.sql(f"CALL lake.system.rewrite_manifests('{identifier}')")
    assert len(manifests_of(snapshot_of(metadata_of(lake.load(identifier))), path_of)) == 1
    return identifier


@pytest.fixture(scope="module")
def deleted(lake, spark, sized):
    """The same with position deletes, of single files and of whole partitions, of every file from none to nearly all rows."""
    identifier = lake.twin(sized, "deleted")
    name = full_name(identifier)
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read', 'write.delete.granularity' = 'file')")
    spark.sql(f"DELETE FROM {name} WHERE p = 'a' AND id % 1000000 < 12")
    spark.sql(f"DELETE FROM {name} WHERE p = 'b' AND id >= 13000000 AND id % 100 < 30")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.delete.granularity' = 'partition')")
    spark.sql(f"DELETE FROM {name} WHERE p = 'b' AND id < 11000000 AND id % 100 = 77")
    spark.sql(f"DELETE FROM {name} WHERE p = 'c' AND id % 1000000 = 3")
    return identifier


def spark_compact(spark, identifier, options, where=None):
    pairs = ", ".join(f"'{key}', '{value}'" for key, value in options.items())
    arguments = [f"table => '{identifier}'"]
    if options:
        arguments.append(f"options => map({pairs})")
    if where:
        arguments.append('where => "' + where + '"')
    return spark.sql(f"CALL lake.system.rewrite_data_files({', '.join(arguments)})").collect()[0].asDict()


def paths(lake, identifier):
    return {file["path"]: file for file in live_files(metadata_of(lake.load(identifier)))}


COUNTS = ["rewritten_data_files_count", "rewritten_bytes_count", "failed_data_files_count"]


def compare(lake, firn, spark, original, label, options, where=None, counts=(*COUNTS, "removed_delete_files_count")):
    """Runs both on twins; gives the sizes of the files that each added."""
    ours, theirs = lake.twin(original, f"firn_{label}"), lake.twin(original, f"spark_{label}")
    before = paths(lake, original)
    their_report = spark_compact(spark, theirs, options, where)
    our_report = firn.compact(full_name(ours), *(["--where", where] if where else []), options=options)
    after = {name: paths(lake, name) for name in (ours, theirs)}
    removed = {name: {path for path in set(before) - set(after[name]) if before[path]["content"] == DATA} for name in after}
    added = {name: [file["file_size_in_bytes"] for path, file in after[name].items() if path not in before and file["content"] == DATA]
             for name in after}
    assert removed[ours] == removed[theirs]
    assert {key: our_report[key] for key in counts} == {key: their_report[key] for key in counts}
    assert our_report["added_data_files_count"] == len(added[ours])
    return added[ours], added[theirs]


@pytest.mark.parametrize("label", sorted(OPTION_SETS))
def test_options(lake, firn, spark, sized, label):
    ours, theirs = compare(lake, firn, spark, sized, label, OPTION_SETS[label])
    if label not in CUTS_ROW_GROUPS:
        assert len(ours) == len(theirs), f"sizes: firn {sorted(ours)}, Spark {sorted(theirs)}"
    assert sum(ours) <= 1.03 * sum(theirs)


@pytest.mark.parametrize("label", sorted(DELETE_OPTION_SETS))
def test_deletes(lake, firn, spark, deleted, label):
    """firn removes more delete files than Spark, so these are not compared; rows are."""
    options = {"min-file-size-bytes": 0, "max-file-size-bytes": 100 * 1024 * KB, "target-file-size-bytes": 1024 * KB, **DELETE_OPTION_SETS[label]}
    compare(lake, firn, spark, deleted, f"deletes_{label}", options, counts=COUNTS)
    rows = [spark.sql(f"SELECT p, count(*), sum(id) FROM {full_name(name)} GROUP BY p ORDER BY p").collect()
            for name in (f"{deleted}_firn_deletes_{label}", f"{deleted}_spark_deletes_{label}")]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("label", sorted(WHERE))
def test_where(lake, firn, spark, sized, label):
    compare(lake, firn, spark, sized, f"where_{label}", {"rewrite-all": "true"}, WHERE[label])


def test_max_files_to_rewrite(lake, firn, spark, sized):
    """Which group comes first is Spark's hash order; only the number is the same."""
    ours, theirs = lake.twin(sized, "firn_most"), lake.twin(sized, "spark_most")
    options = {"max-files-to-rewrite": 5, "min-input-files": 2}
    assert spark_compact(spark, theirs, options)["rewritten_data_files_count"] == 5
    assert firn.compact(full_name(ours), options=options)["rewritten_data_files_count"] == 5


COLUMNS = ["value_count", "null_value_count", "nan_value_count", "lower_bound", "upper_bound"]


@pytest.mark.parametrize("kind", ["by_day", "by_odd_strings", "nested", "spark_day_and_bucket", "spark_identity_of_all_types", "spark_nested",
                                  "spark_tuned_writer", "spark_truncate_and_hour"])
def test_metrics_are_those_spark_records(lake, firn, spark, namespace, kind):
    """One file a partition from the same rows: counts and bounds of every column are equal."""
    identifier = f"{namespace}.{kind}"
    if kind in PYICEBERG_TABLES:
        PYICEBERG_TABLES[kind](lake, identifier)
    else:
        SPARK_TABLES[kind](spark, identifier)
    ours, theirs = lake.twin(identifier, "firn"), lake.twin(identifier, "spark")
    options = {"rewrite-all": "true"}
    spark_compact(spark, theirs, options)
    firn.compact(full_name(ours), options=options)

    def metrics(name):
        found = []
        for row in spark.sql(f"SELECT * FROM {full_name(name)}.files").collect():
            row = row.asDict(recursive=True)
            columns = {column: {key: value[key] for key in COLUMNS} for column, value in row["readable_metrics"].items()}
            # Java does not count rows without the struct for floating-point fields in it, but does for all other fields.
            for key in ("value_count", "null_value_count"):
                columns.get("point.x", {}).pop(key, None)
            found.append((repr(row.get("partition")), row["record_count"], row["sort_order_id"], repr(columns)))
        return sorted(found)

    assert metrics(ours) == metrics(theirs)
