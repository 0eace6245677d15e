"""A writer that does not stop while firn compacts again and again: no row is lost, none comes back or is there twice.

FIRN_CONCURRENT_SECONDS is how long it goes on for each table.
"""
import os
import random
import threading
import time

import pyarrow.parquet as parquet
import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import IntegerType, NestedField, StringType

from checks import check_files, check_one_vector_a_file, check_verified
from engines import canonical, rows_of_duckdb, rows_of_pyiceberg, rows_of_spark
from file_writers import merged_positions
from firn import CONFLICT, OK
from hand_table import HandTable
from iceberg_files import DATA, live_files, snapshot_of
from lake import full_name

SECONDS = int(os.environ.get("FIRN_CONCURRENT_SECONDS") or 8)
SCHEMA = Schema(NestedField(1, "k", IntegerType(), required=False), NestedField(2, "n", IntegerType(), required=False),
                NestedField(3, "text", StringType(), required=False))
BUCKETS = PartitionSpec(PartitionField(1, 1000, BucketTransform(2), "bucket"))
KEYS = 300
TABLES = {
    "version_2": (2, UNPARTITIONED_PARTITION_SPEC),
    "version_2_in_buckets": (2, BUCKETS),
    "version_3": (3, UNPARTITIONED_PARTITION_SPEC),
    "version_3_in_buckets": (3, BUCKETS),
}
OPTIONS = [
    {"min-input-files": "2"},
    {"rewrite-all": "true", "remove-dangling-deletes": "true"},
    {"delete-file-threshold": "1", "remove-dangling-deletes": "true"},
    {"min-input-files": "2", "use-starting-sequence-number": "false"},
    {"min-input-files": "2", "partial-progress.enabled": "true", "max-file-group-size-bytes": "20000"},
]


class Writer(threading.Thread):
    """Keeps one row a key: upserts by equality deletes, and deletes of rows by their position wherever they are now."""

    def __init__(self, t, seed):
        super().__init__()
        self.t, self.random = t, random.Random(seed)
        self.files = t.files
        self.rows = {}
        self.serial = 0
        self.commits = 0
        self.problem = None
        self.stopping = threading.Event()

    def run(self):
        try:
            while not self.stopping.is_set():
                self.upsert() if self.random.random() < 0.7 else self.delete_by_position()
                self.commits += 1
                # Bursts and rests: one without any could outrun whatever reads before it writes.
                time.sleep(self.random.choice([0, 0, 0, 0, 0, 0, 0, 0, 0.1, 0.3]))
        except BaseException as problem:  # pylint: disable=broad-except # for the test to raise
            self.problem = problem

    def upsert(self):
        self.serial += 1
        keys = self.random.sample(range(KEYS), self.random.randint(1, 12))
        rows = [{"k": key, "n": self.serial, "text": f"text {self.serial} " * 20} for key in keys]
        self.t.commit(self.files.data(rows), self.files.equality([1], rows))
        self.rows.update((row["k"], row) for row in rows)

    def delete_by_position(self):
        gone = []

        def change(metadata):
            """Rows of one file of the table as it is at this attempt, whoever wrote it."""
            gone.clear()
            live = live_files(metadata)
            data = self.random.choice([file for file in live if file["content"] == DATA])
            rows = parquet.read_table(data["path"], columns=["k", "n"]).to_pylist()
            places = [place for place, row in enumerate(rows) if self.rows.get(row["k"], {}).get("n") == row["n"]]
            places = self.random.sample(places, min(len(places), 3))
            gone.extend(rows[place]["k"] for place in places)
            if not places:
                return (), ()
            if metadata["format-version"] >= 3:
                positions, replaced = merged_positions(live, data, places)
                return self.files.vectors([(data, positions)]), replaced
            named = [(data["file_path"], place) for place in places]
            return self.files.positions(data, named, referenced=self.random.random() < 0.5), ()

        self.t.committer.commit_change(change)
        for key in gone:
            del self.rows[key]


@pytest.mark.parametrize("kind", sorted(TABLES))
def test_a_writer_and_firn_at_once(lake, firn, duck, spark, namespace, kind):
    version, spec = TABLES[kind]
    # A writer as busy as this one would outrun the few attempts that are the default.
    t = HandTable(lake, f"{namespace}.t", SCHEMA, spec, version,
                  **{"commit.retry.num-retries": "100", "commit.retry.min-wait-ms": "10", "commit.retry.max-wait-ms": "100"})
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    writer, pick = Writer(t, seed), random.Random(seed)
    for _ in range(5):
        writer.upsert()
    writer.start()
    end, name, reports = time.monotonic() + SECONDS, full_name(t.identifier), []
    try:
        while time.monotonic() < end and not writer.problem:
            options = pick.choice(OPTIONS)
            # A higher sequence number would put the rows out of reach of new equality deletes: there is no way but to stop.
            may_conflict = "use-starting-sequence-number" in options
            run = firn("--quiet", "--output", "json", "rewrite-data-files", name,
                       *(text for pair in options.items() for text in ("--option", "=".join(pair))),
                       status=(OK, CONFLICT) if may_conflict else OK)
            if run.status == OK:
                reports.append(run.json)
    finally:
        writer.stopping.set()
        writer.join()
    if writer.problem:
        raise writer.problem
    counts = {key: sum(report[key] for report in reports) for key in ("rewritten_data_files_count", "carried_rows_count")}
    print(f"{writer.commits} commits of the writer, {len(reports)} runs of firn, {counts}")
    assert counts["rewritten_data_files_count"] > 0

    rows = canonical(writer.rows.values())
    assert rows_of_spark(spark, t.identifier) == rows
    check_one_vector_a_file(t.table)
    check_row_ids(t)
    firn.compact(name, options={"rewrite-all": "true", "remove-dangling-deletes": "true"})
    table = t.table
    assert not [file for file in t.live() if file["content"] != DATA]
    assert rows_of_spark(spark, t.identifier) == rows
    assert rows_of_duckdb(duck, table.metadata_location) == rows
    assert rows_of_pyiceberg(table) == rows
    check_files(table)
    check_verified(firn, t.identifier)


def check_row_ids(t):
    """The row ids that snapshots claim do not overlap."""
    metadata = t.committer.metadata()
    if metadata["format-version"] < 3:
        return
    next_row_id = 0
    for snapshot in metadata["snapshots"]:
        assert snapshot["first-row-id"] >= next_row_id
        next_row_id = snapshot["first-row-id"] + snapshot["added-rows"]
    assert metadata["next-row-id"] >= next_row_id
    assert snapshot_of(metadata)["sequence-number"] == metadata["last-sequence-number"]
