"""A rollback drill: a table fed by many small writes is tagged, compacted and expired, something goes wrong, and the table is
rolled back to the tag. What every engine reads is what it read when the tag was made; what no snapshot needs is gone."""
import os
import time

import pytest

from checks import check_verified
from engines import path_of, rows_of_duckdb, rows_of_pyiceberg, rows_of_spark
from firn import OK, USAGE
from iceberg_files import files_below, reachable
from lake import full_name

DAY = 86400


class Drill:
    """The table, and how all engines read it."""

    def __init__(self, lake, spark, duck, firn, version):
        self.lake, self.spark, self.duck, self.firn = lake, spark, duck, firn
        self.identifier = f"{lake.new_namespace()}.drill"
        self.name = full_name(self.identifier)
        self.sql(f"CREATE TABLE {self.name} (id BIGINT, p STRING) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ("
                 f"'format-version' = '{version}', 'write.delete.mode' = 'merge-on-read')")

    def sql(self, statement):
        time.sleep(0.02)  # so that no two snapshots are of one millisecond
        return self.spark.sql(statement).collect()

    def run(self, command, *arguments, status=OK):
        return self.firn("--quiet", "--output", "json", command, self.name, *arguments, status=status)

    def feed(self, first, batches):
        """Small writes, and a deletion among them."""
        for start in range(first, first + 10 * batches, 10):
            self.sql(f"INSERT INTO {self.name} SELECT id, CASE WHEN id % 2 = 0 THEN 'a' ELSE 'b' END FROM range({start}, {start + 10}, 1, 2)")
        self.sql(f"DELETE FROM {self.name} WHERE id = {first + 3}")

    def rows(self, snapshot_id=None):
        """The rows, in which all engines agree."""
        table = self.lake.load(self.identifier)
        found = rows_of_spark(self.spark, self.identifier, snapshot_id)
        assert rows_of_pyiceberg(table, snapshot_id) == found
        assert rows_of_duckdb(self.duck, table.metadata_location, snapshot_id) == found
        return found

    def snapshots(self):
        return {snapshot.snapshot_id for snapshot in self.lake.load(self.identifier).snapshots()}

    def current(self):
        return self.lake.load(self.identifier).current_snapshot().snapshot_id

    def check_nothing_is_left_over(self):
        """The table has exactly the files that its metadata reaches."""
        table = self.lake.load(self.identifier)
        folder = path_of(table.location())
        for path in files_below(folder):
            moment = time.time() - 10 * DAY
            os.utime(path, (moment, moment))
        assert self.run("remove-orphan-files", "--dry-run").json["orphan_files"] == []
        missing = reachable(path_of(table.metadata_location)) - set(files_below(folder))
        # entries of removed files, which tell what a commit did, may name what expired
        live = {path_of(task.file.file_path) for task in table.scan().plan_files()}
        assert not missing & live
        check_verified(self.firn, self.identifier)


@pytest.fixture(params=[2, 3])
def drill(request, lake, spark, duck, firn):
    return Drill(lake, spark, duck, firn, request.param)


def test_back_to_a_tag(drill):
    drill.feed(0, 4)
    at_the_tag = drill.rows()
    drill.run("create-tag", "month_end")
    tagged = drill.current()
    drill.feed(1000, 4)
    before = drill.rows()

    report = drill.run("rewrite-data-files", "--option", "min-input-files=2").json
    assert report["rewritten_data_files_count"] > report["added_data_files_count"] > 0
    assert drill.rows() == before
    report = drill.run("expire-snapshots", "--older-than", "0s", "--retain-last", "1").json
    assert report["deleted_data_files_count"] > 0
    assert drill.snapshots() == {tagged, drill.current()}
    assert drill.rows() == before and drill.rows(tagged) == at_the_tag
    drill.check_nothing_is_left_over()

    drill.sql(f"DELETE FROM {drill.name} WHERE id < 1000000")  # the mishap
    assert drill.rows() == []
    # The snapshots between are gone, so the tag's is no ancestor any more: for Spark neither.
    refused = drill.run("rollback-to-snapshot", str(tagged), status=USAGE)
    assert "set-current-snapshot" in refused.err
    with pytest.raises(Exception, match="not an ancestor"):
        drill.sql(f"CALL lake.system.rollback_to_snapshot('{drill.identifier}', {tagged})")
    mishap = drill.current()
    assert drill.run("set-current-snapshot", "--ref", "month_end").json == {
        "previous_snapshot_id": mishap, "current_snapshot_id": tagged}
    assert drill.rows() == at_the_tag

    drill.feed(2000, 2)  # life goes on
    after = drill.rows()
    assert len(after) > len(at_the_tag)
    drill.run("rewrite-data-files", "--option", "min-input-files=2")
    drill.run("expire-snapshots", "--older-than", "0s")
    assert drill.snapshots() == {tagged, drill.current()} and mishap not in drill.snapshots()
    assert drill.rows() == after and drill.rows(tagged) == at_the_tag
    drill.check_nothing_is_left_over()

    drill.run("drop-tag", "month_end")
    drill.run("expire-snapshots", "--older-than", "0s")
    assert drill.snapshots() == {drill.current()} and drill.rows() == after
    drill.check_nothing_is_left_over()


def test_back_in_history(drill):
    """With the history still there, by snapshot and by time, after a compaction that is rolled back too."""
    drill.feed(0, 4)
    good, at_good = drill.current(), drill.rows()
    drill.run("create-branch", "audit")
    moment = drill.sql(f"SELECT date_format(committed_at + INTERVAL 1 MILLISECOND, 'yyyy-MM-dd HH:mm:ss.SSS') "
                       f"FROM {drill.name}.snapshots WHERE snapshot_id = {good}")[0][0]
    drill.run("rewrite-data-files", "--option", "min-input-files=2")
    assert drill.rows() == at_good
    drill.sql(f"INSERT OVERWRITE {drill.name} VALUES (-1, 'a')")
    assert len(drill.rows()) == 1
    for arguments in (("rollback-to-snapshot", str(good)), ("rollback-to-timestamp", moment)):
        bad = drill.current()
        assert drill.run(*arguments).json == {"previous_snapshot_id": bad, "current_snapshot_id": good}
        assert drill.rows() == at_good
        drill.run("set-current-snapshot", "--snapshot-id", str(bad))
    drill.run("rollback-to-snapshot", str(good))
    drill.run("expire-snapshots", "--older-than", "0s", "--retain-last", "100")
    assert bad not in drill.snapshots() and drill.rows() == at_good
    drill.check_nothing_is_left_over()
    drill.feed(1000, 1)
    assert drill.run("fast-forward", "audit", "main").json["updated_ref"] == drill.current()
    assert drill.rows() == rows_of_spark(drill.spark, drill.identifier, drill.current())
