"""For the same table and the same call, firn and Spark rewrite the same manifests into as many, with the same entries."""
import fastavro
import pytest

from engines import rows_of_duckdb, rows_of_pyiceberg, rows_of_spark
from firn import OK, USAGE
from iceberg_files import Relocation, identity, live_files, manifests_of, snapshot_of
from lake import full_name
from twice import Twice

COUNTS = ["rewritten_manifests_count", "added_manifests_count"]
ENGINE_KEYS = ("engine-", "app-", "iceberg-", "spark.")


def make_history(spark, identifier, version):
    """Appends over four partitions in several commits, deletes, an overwritten partition, two specs."""
    name = full_name(identifier)

    def insert(first, partitions):
        spark.sql(f"INSERT INTO {name} SELECT id, array({partitions})[id % size(array({partitions}))], id / 7 "
                  f"FROM range({first}, {first + 24}, 1, 1)")

    spark.sql(f"CREATE TABLE {name} (id BIGINT, p STRING, x DOUBLE) USING iceberg PARTITIONED BY (p, bucket(3, id)) TBLPROPERTIES ("
              f"'format-version' = '{version}', 'commit.manifest-merge.enabled' = 'false', 'write.delete.mode' = 'merge-on-read', "
              "'write.distribution-mode' = 'none', 'write.spark.fanout.enabled' = 'true')")
    for round_number, partitions in enumerate(("'d', 'b'", "'a', 'c'", "'b', 'a', NULL", "'d'", "'a', 'b', 'c', 'd'")):
        insert(100 * round_number, partitions)
    if version > 1:
        spark.sql(f"DELETE FROM {name} WHERE id % 5 = 0 AND p = 'a'")
        spark.sql(f"DELETE FROM {name} WHERE id % 7 = 0")
    spark.sql(f"DELETE FROM {name} WHERE p = 'c'")
    spark.sql(f"ALTER TABLE {name} DROP PARTITION FIELD bucket(3, id)")
    insert(1000, "'b'")
    insert(1100, "'a', NULL")
    insert(1200, "'b', 'a', 'd'")


@pytest.fixture(scope="module", params=[1, 2, 3])
def twice(request, lake, spark):
    identifier = f"{lake.new_namespace()}.history"
    make_history(spark, identifier, request.param)
    return Twice(lake, identifier)


def entries_of(metadata):
    """Everything that the live entries say but their status, by file."""
    entries = {}
    for file in live_files(metadata):
        kept = {key: value for key, value in file.items() if key != "status"}
        assert identity(file) not in entries, "a file is live twice"
        entries[identity(file)] = kept
    return entries


def ids_of(metadata):
    """Snapshot id of each live entry."""
    ids = {}
    for path, line in manifests_of(snapshot_of(metadata), Relocation()):
        with open(path, "rb") as file:
            for record in fastavro.reader(file):
                if record["status"] != 2:
                    ids[identity(record["data_file"])] = record["snapshot_id"] or line["added_snapshot_id"]
    return ids


def ranges_of(metadata, spec_id):
    """First and last partition of each data manifest of a spec, in list order; None where one is not sorted."""
    ranges = []
    for path, line in manifests_of(snapshot_of(metadata), Relocation()):
        if line["partition_spec_id"] == spec_id and not line.get("content"):
            with open(path, "rb") as file:
                keys = [tuple((value is not None, value) for value in record["data_file"]["partition"].values())
                        for record in fastavro.reader(file)]
            ranges.append((keys[0], keys[-1]) if keys == sorted(keys) else None)
    return ranges


def own_summary(metadata):
    return {key: value for key, value in snapshot_of(metadata)["summary"].items() if not key.startswith(ENGINE_KEYS)}


class Outcome:
    """What a call left behind: an error, or counts and the table."""

    def __init__(self, twice, counts, spec_id):
        self.error = counts if isinstance(counts, str) else None
        self.counts = counts
        self.metadata = twice.metadata()
        self.entries = entries_of(self.metadata)
        self.ids = ids_of(self.metadata)
        self.ranges = ranges_of(self.metadata, spec_id)


def spec_of(twice, arguments):
    return arguments.get("spec_id", twice.metadata()["default-spec-id"])


def by_spark(spark, twice, arguments):
    def call(_):
        given = "".join(f", {key} => {str(value).lower()}" for key, value in arguments.items())
        try:
            row = spark.sql(f"CALL lake.system.rewrite_manifests(table => '{twice.identifier}'{given})").collect()[0]
        except Exception as problem:  # whatever Spark raises
            return Outcome(twice, str(problem).split("\n", 1)[0], spec_of(twice, arguments))
        return Outcome(twice, {count: row[count] for count in COUNTS}, spec_of(twice, arguments))
    return call


def by_firn(firn, twice, arguments):
    given = []
    for key, value in arguments.items():
        given += ["--" + key.replace("_", "-")] + ([] if value is True else [str(value)])

    def call(name):
        run = firn("--quiet", "--output", "json", "rewrite-manifests", name, *given, status=(OK, USAGE))
        counts = {count: run.json[count] for count in COUNTS} if run.status == OK else run.err
        return Outcome(twice, counts, spec_of(twice, arguments))
    return call


def check_same_entries(ours, theirs):
    """But for row ids: Iceberg 1.10 gives the rows of a rewritten manifest new ones."""
    assert ours.entries.keys() == theirs.entries.keys() and ours.ids == theirs.ids
    found = [(name, key, entry[key], theirs.entries[name].get(key)) for name, entry in ours.entries.items() for key in entry
             if key != "first_row_id" and entry[key] != theirs.entries[name].get(key)]
    assert not found


# Targets are parts of what all manifests of a content have together; then the arguments.
CASES = {
    "cached": (None, {"use_caching": True}),
    "halves": (2, {}),
    "thirds": (3, {}),
    "many": (20, {}),
    "older_spec_in_thirds": (3, {"spec_id": 0}),
    "unknown_spec": (None, {"spec_id": 7}),
}


def set_target(spark, twice, parts, wanted):
    """Gives how to take it back."""
    saved = twice.pointer
    metadata = twice.metadata()
    if parts:
        total = sum(line["manifest_length"] for _, line in manifests_of(snapshot_of(metadata), Relocation())
                    if line["partition_spec_id"] == wanted and not line.get("content"))
        spark.sql(f"ALTER TABLE {full_name(twice.identifier)} SET TBLPROPERTIES "
                  f"('commit.manifest.target-size-bytes' = '{-(-total // parts)}')")
        twice.pointer = twice.location()
        twice.save()
    return saved


@pytest.mark.parametrize("case", CASES)
def test_the_same_manifests(spark, firn, twice, case):
    parts, arguments = CASES[case]
    saved = set_target(spark, twice, parts, spec_of(twice, arguments))
    try:
        before = Outcome(twice, None, spec_of(twice, arguments))
        theirs, _, _ = twice.run(by_spark(spark, twice, arguments))
        ours, _, _ = twice.run(by_firn(firn, twice, arguments))
        if theirs.error:
            assert ours.error, f"Spark: {theirs.error}; firn: {ours.counts}"
            assert ours.metadata == before.metadata
            return
        assert ours.counts == theirs.counts
        assert ours.entries == before.entries and ours.ids == before.ids
        check_same_entries(ours, theirs)
        assert own_summary(ours.metadata) == own_summary(theirs.metadata)
        assert ours.metadata.get("next-row-id") == theirs.metadata.get("next-row-id")
        assert ours.ranges == theirs.ranges and None not in ours.ranges
    finally:
        twice.pointer = saved
        twice.restore()
        twice.save()


def test_all_engines_read_it(spark, firn, duck, lake, twice):
    name = full_name(twice.identifier)
    before = rows_of_spark(spark, twice.identifier)
    try:
        for spec_id in (1, 0):
            firn("--quiet", "rewrite-manifests", name, "--spec-id", str(spec_id))
        assert firn("--output", "json", "rewrite-manifests", name).json["rewritten_manifests_count"] == 0
        assert rows_of_spark(spark, twice.identifier) == before
        if twice.metadata()["format-version"] < 3:
            assert rows_of_pyiceberg(lake.load(twice.identifier)) == before
            assert rows_of_duckdb(duck, twice.location()) == before
        spark.sql(f"DELETE FROM {name} WHERE p = 'd'")
        spark.sql(f"INSERT INTO {name} VALUES (5000, 'e', 1)")
        spark.sql(f"CALL lake.system.rewrite_manifests(table => '{twice.identifier}')")
        after = rows_of_spark(spark, twice.identifier)
        assert len(after) == len([row for row in before if "'d'" not in row]) + 1
    finally:
        twice.restore()
