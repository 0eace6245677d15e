"""SQL as it is written for Spark: the articles' maintenance scripts as they stand, and the same script given to both engines."""
import datetime
import json
import os
import pty
import re
import select
import subprocess
import time

import pytest

from articles import ARTICLES, SEEDS, call_blocks, catalog_of_article
from checks import check_verified
from engines import rows_of_pyiceberg
from firn import FAILED, NOT_FOUND, OK, PATIENCE, USAGE, Firn
from lake import full_name
from tables import EVENTS, append_events
from twice import Twice


@pytest.fixture
def table(lake, namespace):
    identifier = f"{namespace}.t"
    append_events(lake.catalog.create_table(identifier, EVENTS))
    return identifier


def article_table(catalog, identifier):
    import pyarrow
    from pyiceberg.schema import Schema
    from pyiceberg.types import LongType, NestedField, StringType, TimestampType

    schema = Schema(NestedField(1, "account_id", LongType()), NestedField(2, "created_at", TimestampType()), NestedField(3, "dt", StringType()))
    table = catalog.create_table(identifier, schema)
    moment = datetime.datetime(2026, 7, 28, 12)
    for commit in range(6):
        table.append(pyarrow.table({"account_id": [commit, commit + 10], "created_at": [moment, moment], "dt": ["2026-07-28", "2026-07-29"]},
                                   schema=schema.as_arrow()))
    return table


@pytest.mark.skipif(not os.path.isdir(SEEDS), reason="the articles are not here")
@pytest.mark.parametrize("article, catalog, identifier, count", ARTICLES)
def test_articles_as_they_stand(folder, article, catalog, identifier, count):
    place, opened = catalog_of_article(folder, catalog, identifier)
    before = rows_of_pyiceberg(article_table(opened, identifier))
    firn, blocks = Firn(place), call_blocks(article)
    assert len(blocks) == count
    for block in blocks:
        firn("--quiet", "sql", "-e", block)
    script = os.path.join(place, "all.sql")
    with open(script, "w", encoding="utf-8") as file:
        file.write("\n".join(blocks))
    out = firn("--quiet", "sql", script).out
    assert "rewritten_manifests_count" in out and "deleted_manifest_lists_count" in out
    assert rows_of_pyiceberg(opened.load_table(identifier)) == before


# Of the third article the quotes and arrows are lost; this is how it has to be read.
RESTORED = """
CALL lake.system.rewrite_data_files(
  table => 'NAMESPACE.t',
  where => 'id >= 0 AND id <= 1000',
  options => map('target-file-size-bytes', '268435456', 'min-file-size-bytes', '67108864', 'rewrite-all', 'false')
);
CALL lake.system.expire_snapshots(table => 'NAMESPACE.t', older_than => TIMESTAMP '2024-07-01 00:00:00', retain_last => 5);
CALL lake.system.remove_orphan_files(table => 'NAMESPACE.t', older_than => TIMESTAMP '2024-07-01 00:00:00');
ALTER TABLE lake.NAMESPACE.t SET TBLPROPERTIES (
  'write.metadata.metrics.default' = 'full',
  'write.metadata.metrics.column.id' = 'truncate(16)'
);
"""


def test_restored_article(firn, lake, table):
    firn("--quiet", "sql", "-e", RESTORED.replace("NAMESPACE", table.split(".")[0]))
    assert lake.load(table).properties["write.metadata.metrics.column.id"] == "truncate(16)"
    check_verified(firn, table)


# What both engines are given, statement by statement. Of some columns the engines differ on purpose, or by what they wrote before.
SAME = """
CALL lake.system.rewrite_data_files(table => 'lake.NAMESPACE.t', options => map('min-input-files', '2', 'target-file-size-bytes', '1000000'));
CALL lake.system.rewrite_manifests(table => 'NAMESPACE.t', use_caching => false);
ALTER TABLE lake.NAMESPACE.t CREATE BRANCH `audit-1` RETAIN 7 DAYS WITH SNAPSHOT RETENTION 3 SNAPSHOTS 2 HOURS;
ALTER TABLE lake.NAMESPACE.t CREATE TAG IF NOT EXISTS 2026_q1 AS OF VERSION SNAPSHOT RETAIN 365 DAYS;
ALTER TABLE lake.NAMESPACE.t CREATE OR REPLACE BRANCH `audit-1` WITH SNAPSHOT RETENTION 90 MINUTES;
ALTER TABLE lake.NAMESPACE.t REPLACE TAG 2026_q1 RETAIN 36 HOURS;
ALTER TABLE lake.NAMESPACE.t CREATE BRANCH gone;
ALTER TABLE lake.NAMESPACE.t DROP BRANCH gone;
ALTER TABLE lake.NAMESPACE.t DROP TAG IF EXISTS nothing;
CALL lake.system.fast_forward('NAMESPACE.t', 'ahead', 'main');
CALL lake.system.rollback_to_snapshot(table => 'NAMESPACE.t', snapshot_id => SNAPSHOT);
CALL lake.system.set_current_snapshot(table => 'NAMESPACE.t', ref => 'ahead');
CALL lake.system.ancestors_of('NAMESPACE.t', SNAPSHOT);
CALL lake.SYSTEM.Rollback_To_Timestamp(`table` => '`NAMESPACE`.`t`', timestamp => TIMESTAMP '2200-01-01 00:00:00');
ALTER TABLE lake.NAMESPACE.t SET TBLPROPERTIES ('a b' = 'it\\'s', c.d 5, e = true, 'write.delete.mode' "merge-on-read");
ALTER TABLE lake.NAMESPACE.t UNSET TBLPROPERTIES ('nothing', e);
ALTER TABLE lake.NAMESPACE.t WRITE ORDERED BY id DESC, bucket(4, kind) ASC NULLS LAST, days(at);
ALTER TABLE lake.NAMESPACE.t WRITE LOCALLY ORDERED BY (truncate(2, kind), hours(at) DESC NULLS FIRST);
ALTER TABLE lake.NAMESPACE.t WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY id DESC, bucket(4, kind) ASC NULLS LAST, days(at);
ALTER TABLE lake.NAMESPACE.t WRITE UNORDERED;
ALTER TABLE lake.NAMESPACE.t WRITE DISTRIBUTED BY PARTITION;
ALTER TABLE lake.NAMESPACE.t WRITE ORDERED BY ID DESC, bucket(4, kind) ASC NULLS LAST, date(at);
CALL lake.system.expire_snapshots('NAMESPACE.t', TIMESTAMP '2200-01-01 00:00:00', 1);
CALL lake.system.remove_orphan_files(table => 'NAMESPACE.t', older_than => DATE '2020-01-01', dry_run => true);
"""
MAY_DIFFER = {"rewritten_manifests_count", "added_manifests_count", "deleted_manifest_files_count", "deleted_manifest_lists_count"}


def statements_of(script):
    return [part.strip() for part in script.split(";") if part.strip()]


def spark_results(spark, script):
    """The rows of each statement; None where Spark gives no columns."""
    results = []
    for statement in statements_of(script):
        frame = spark.sql(statement)
        results.append([row.asDict() for row in frame.collect()] if frame.columns else None)
    return results


def firn_results(firn, script):
    """The same of firn, from the line that every statement gives to programs."""
    results = []
    for line in firn("--quiet", "--output", "json", "sql", "-e", script).out.splitlines():
        value = json.loads(line)
        rows = value.get("orphan_files", value) if isinstance(value, dict) else value
        results.append(rows if isinstance(rows, list) else [rows])
    return results


def known(value, snapshots):
    """Snapshots made on the way have an id of their own in each engine."""
    return "new" if isinstance(value, int) and value > 10**15 and value not in snapshots else value


def check_same_rows(statement, of_firn, of_spark, snapshots):
    if of_spark is None:
        return
    assert len(of_firn) == len(of_spark), statement
    for ours, theirs in zip(of_firn, of_spark):
        assert set(theirs) <= set(ours), statement
        for column in set(theirs) - MAY_DIFFER:
            assert known(ours[column], snapshots) == known(theirs[column], snapshots), (statement, column)


def what_ddl_leaves(metadata, snapshots):
    """References, properties and orders."""
    refs = {name: {key: known(value, snapshots) for key, value in ref.items()} for name, ref in metadata["refs"].items()}
    return refs, metadata["properties"], metadata["sort-orders"], metadata["default-sort-order-id"]


def test_same_script_in_both_engines(firn, spark, lake, table):
    snapshots = [snapshot.snapshot_id for snapshot in lake.load(table).snapshots()]
    script = SAME.replace("NAMESPACE", table.split(".")[0]).replace("SNAPSHOT)", f"{snapshots[1]})").replace("VERSION SNAPSHOT", f"VERSION {snapshots[1]}")
    twice = Twice(lake, table)
    ours, our_metadata, _ = twice.run(lambda name: firn_results(firn, script))
    theirs, their_metadata, _ = twice.run(lambda name: spark_results(spark, script))
    assert len(ours) == len(theirs) == len(statements_of(script))
    for statement, of_firn, of_spark in zip(statements_of(script), ours, theirs):
        check_same_rows(statement, of_firn, of_spark, snapshots)
    assert what_ddl_leaves(our_metadata, snapshots) == what_ddl_leaves(their_metadata, snapshots)


def test_ddl_is_read_by_spark(firn, spark, lake, table):
    name = full_name(table)
    firn("--quiet", "sql", "-e", f"""
        ALTER TABLE {name} CREATE BRANCH audit RETAIN 7 DAYS;
        ALTER TABLE {name} CREATE TAG t1 RETAIN 12 HOURS;
        ALTER TABLE {name} SET TBLPROPERTIES ('firn.x' = 'y', 'format-version' = '3');
        ALTER TABLE {name} WRITE DISTRIBUTED BY PARTITION ORDERED BY id DESC, truncate(3, kind);
    """)
    refs = {row["name"]: row for row in spark.sql(f"SELECT * FROM {name}.refs").collect()}
    assert (refs["audit"]["type"], refs["audit"]["max_reference_age_in_ms"]) == ("BRANCH", 7 * 86400000)
    assert (refs["t1"]["type"], refs["t1"]["max_reference_age_in_ms"]) == ("TAG", 12 * 3600000)
    properties = {row["key"]: row["value"] for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}
    assert properties["firn.x"] == "y" and properties["format-version"] == "3" and properties["write.distribution-mode"] == "hash"
    assert properties["sort-order"] == "id DESC NULLS LAST, truncate(kind, 3) ASC NULLS FIRST"
    spark.sql(f"INSERT INTO {name} VALUES (1, timestamp '2026-01-01 00:00:00', 'spark', 1.5)")
    assert spark.sql(f"SELECT count(*) FROM {name}").collect()[0][0] == 301


@pytest.mark.parametrize("statement, place, word, wanted", [
    ("CALL lake.system.expire_snapshots(retain_last => 3)", "column 1", "required argument table is missing", USAGE),
    ("CALL lake.system.expire_snapshots(table => 'T', nope => 3)", "column 50", "no argument 'nope'", USAGE),
    ("CALL lake.system.expire_snapshots(table => 'T', table => 'T')", "column 50", "given twice", USAGE),
    ("CALL lake.system.expire_snapshots('T', retain_last => 3)", "column 41", "cannot be mixed", USAGE),
    ("CALL lake.system.expire_snapshots(table => 'T', older_than => '2026-01-01')", "column 64", "must be a timestamp", USAGE),
    ("CALL lake.system.expire_snapshots(table => 'T', retain_last => '3')", "column 65", "must be a whole number", USAGE),
    ("CALL lake.system.expire_snapshots(table => 'T', retain_last => 2.0)", "column 65", "must be a whole number", USAGE),
    ("CALL lake.system.expire_snapshots(table => 'T', retain_last => 0)", "column 65", "argument retain_last", USAGE),
    ("CALL lake.system.remove_orphan_files(table => 'T', dry_run => 'true')", "column 64", "must be true or false", USAGE),
    ("CALL lake.system.rewrite_data_files(table => 'T', options => 'x')", "column 62", "must be a map", USAGE),
    ("CALL lake.system.rewrite_data_files(table => 'T', options => map('a', 'b'))", "column 1", "a", USAGE),
    ("CALL lake.system.rewrite_data_files(table => 'T', options => map('a', 'b', 'a', 'c'))", "column", "'a' is given twice", USAGE),
    ("CALL lake.system.rewrite_manifests('T', false, 0, array('x'), 5)", "column", "no more than 4", USAGE),
    ("CALL lake.system.rewrite_manifests(table => '')", "column", "blank", USAGE),
    ("CALL lake.system.rewrite_manifests(table => 'other.n.t')", "column", "other", (USAGE, NOT_FOUND)),
    ("CALL lake.system.nope('T')", "column 6", "no procedure 'nope'", USAGE),
    ("CALL nowhere.system.rewrite_manifests('T')", "column", "'nowhere' is not configured", NOT_FOUND),
    ("CALL lake.rewrite_manifests('T')", "column 6", "catalog.system.procedure", USAGE),
    ("DELETE FROM T", "column 1", "DELETE", FAILED),
    ("ALTER TABLE lake.T WRITE ORDERED BY nope", "column 1", "no column 'nope'", NOT_FOUND),
    ("ALTER TABLE lake.T SET TBLPROPERTIES ('location' = '/x')", "column 1", "location", USAGE),
    ("ALTER TABLE lake.T SET TBLPROPERTIES ('commit.retry.num-retries' = 'x')", "column 1", "num-retries", USAGE),
    ("SELECT nope FROM lake.T.files", "column", "nope", USAGE),
])
def test_a_script_stops_at_the_first_failure(firn, lake, table, statement, place, word, wanted):
    before = lake.load(table).metadata_location
    script = f"SELECT 1;\n\n  -- ; and 'more'\n{statement};\nALTER TABLE {full_name(table)} CREATE TAG late;".replace("'T'", f"'{table}'")
    script = re.sub(r"\blake\.T\b", full_name(table), script)
    run = firn("--quiet", "sql", "-e", script, status=wanted)
    assert "statement 2: line 4, " in run.err and word in run.err
    assert place == "column" or "T'" in statement or place in run.err
    assert run.out.split() == ["1", "1"]
    assert lake.load(table).metadata_location == before


def test_scripts_come_from_files_and_standard_input(firn, table, tmp_path):
    script = tmp_path / "script.sql"
    script.write_text(f"SELECT count(*) AS n FROM {full_name(table)}.files;;\n-- the end\n", encoding="utf-8")
    assert firn("--quiet", "sql", str(script)).out.split() == ["n", "5"]
    done = subprocess.run([*firn.command, "sql", "-"], stdin=open(script), capture_output=True, text=True, env=firn.environment, check=True)
    assert done.stdout.split() == ["n", "5"]
    script.write_text("SELECT 1; CALL", encoding="utf-8")
    assert f"{script}: statement 2: line 1, column 15" in firn("sql", str(script), status=USAGE).err
    assert "cannot open" in firn("sql", str(tmp_path / "none.sql"), status=NOT_FOUND).err
    assert "not both" in firn("sql", str(script), "-e", "SELECT 1", status=USAGE).err


class Terminal:
    """firn with a person at the keys."""

    def __init__(self, firn, history):
        self.process, self.file = pty.fork()
        if self.process == 0:
            os.execve(firn.command[0], [*firn.command, "--quiet", "sql"], dict(firn.environment, FIRN_HISTORY=history, TERM="xterm", LC_ALL="C.UTF-8"))

    def type(self, keys, until):
        """Types, and reads until a text is there."""
        os.write(self.file, keys.encode())
        seen, end = "", time.monotonic() + PATIENCE
        while until not in seen:
            assert time.monotonic() < end, seen
            if select.select([self.file], [], [], 1)[0]:
                seen += os.read(self.file, 65536).decode(errors="replace")
        return seen

    def leave(self):
        os.write(self.file, b"exit\n")
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def test_a_prompt(firn, table, tmp_path):
    history = str(tmp_path / "history")
    terminal = Terminal(firn, history)
    terminal.type("", "firn> ")
    terminal.type(f"SELECT count(*) AS n\n", "   -> ")
    assert "5" in terminal.type(f"FROM {full_name(table)}.files;\n", "firn> ").split()
    assert "no procedure" in terminal.type("CALL system.nope();\n", "HINT")
    terminal.type("SELECT 'never closed\n", "   -> ")
    terminal.type("\x03", "firn> ")
    assert "ünï" in terminal.type("SELECT 'ünï' AS word;\n", "ünï\r\nfirn> ")
    assert terminal.leave() == OK
    terminal = Terminal(firn, history)
    terminal.type("", "firn> ")
    assert "ünï" in terminal.type("\x1b[A\n", "word\r\n")
    assert terminal.leave() == OK
