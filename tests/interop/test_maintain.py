"""firn maintain: the rows stay what they were for other engines, one run at a time works on a table, and what is killed in any
step is taken over and done by the next run."""
import glob
import json
import os
import signal
import sqlite3
import time

import pyarrow.parquet
import pytest

from checks import check_files, check_verified
from engines import path_of, rows_of_duckdb, rows_of_pyiceberg
from firn import BUSY, FAILED, OK, PARTIAL, PATIENCE, USAGE
from iceberg_files import files_below, live_files, read_metadata
from lake import full_name
from tables import EVENTS, append_events

STEPS = ["compact", "position-deletes", "manifests", "expire", "sweep", "orphans"]
KILLS = 4
# Everything is done, and everything that may go is let go of.
EAGER = ["--force", "--set", "manifests.min-count=2", "--set", "expire.older-than=0s", "--set", "sweep.after=0s"]


@pytest.fixture
def table(lake, namespace):
    identifier = f"{namespace}.events"
    append_events(lake.catalog.create_table(identifier, EVENTS), commits=12)
    return identifier


def maintain(firn, identifier, *arguments, **how):
    return firn("--quiet", "--output", "json", "maintain", full_name(identifier), *arguments, **how).json


def states(report):
    return {step["step"]: step["status"] for step in report["steps"]}


def leases(lake, identifier):
    folder = f"{path_of(lake.load(identifier).location())}/metadata/_firn_maintain"
    return sorted(glob.glob(f"{folder}/*.json"))


def newest_lease(lake, identifier):
    """What the highest number says; None while there is none, or it is being replaced."""
    paths = leases(lake, identifier)
    try:
        with open(paths[-1], encoding="utf-8") as file:
            return json.load(file)
    except (IndexError, FileNotFoundError):
        return None


def put_stray(lake, identifier, number):
    path = f"{path_of(lake.load(identifier).location())}/data/stray-{number}.parquet"
    with open(path, "w", encoding="utf-8") as file:
        file.write("stray")
    moment = time.time() - 10 * 86400
    os.utime(path, (moment, moment))
    return path


def test_rows_stay(firn, lake, duck, table):
    before = rows_of_pyiceberg(lake.load(table))
    stray = put_stray(lake, table, 0)
    report = maintain(firn, table, *EAGER)
    assert report["status"] == "done" and set(states(report)) == set(STEPS)
    assert states(report)["compact"] == states(report)["expire"] == states(report)["orphans"] == "done"
    assert report["after"]["data_files"] < report["before"]["data_files"] == 12 and report["after"]["snapshots"] == 1
    after = lake.load(table)
    assert rows_of_pyiceberg(after) == before and rows_of_duckdb(duck, after.metadata_location) == before
    assert len(live_files(read_metadata(path_of(after.metadata_location)))) == report["after"]["data_files"]
    check_files(after)
    check_verified(firn, table)

    # Marked by the first run, deleted by the second, which finds nothing else.
    assert os.path.exists(stray)
    report = maintain(firn, table, *EAGER)
    assert not os.path.exists(stray) and states(report)["sweep"] == "done"
    assert states(report)["compact"] == states(report)["manifests"] == "nothing to do"
    assert set(states(maintain(firn, table)).values()) == {"not due"}
    assert rows_of_pyiceberg(lake.load(table)) == before


def test_compaction_sorts_as_the_policy_says(firn, lake, table):
    before = rows_of_pyiceberg(lake.load(table))
    report = maintain(firn, table, "--steps", "compact", "--force", "--set", "compact.strategy=sort",
                      "--set", "compact.sort-order=amount DESC NULLS LAST, id")
    assert states(report)["compact"] == "done"
    after = lake.load(table)
    assert rows_of_pyiceberg(after) == before
    paths = [path_of(task.file.file_path) for task in after.scan().plan_files()]
    assert len(paths) == 1
    amounts = pyarrow.parquet.read_table(paths[0])["amount"].to_pylist()
    assert len(amounts) == 720
    assert amounts == sorted(amounts, key=lambda amount: (amount is None, -(amount or 0)))


def test_one_run_at_a_time(firn, lake, table):
    before = rows_of_pyiceberg(lake.load(table))
    first = firn.start("--quiet", "maintain", full_name(table), "--force")
    try:
        deadline = time.monotonic() + PATIENCE
        while newest_lease(lake, table) is None and time.monotonic() < deadline:
            time.sleep(0.001)
        first.send_signal(signal.SIGSTOP)
        lease = newest_lease(lake, table)
        if lease and lease["held"]:
            second = firn("--quiet", "maintain", full_name(table), "--force", status=BUSY)
            assert f"process {first.pid}" in second.err and "held by" in second.err
            plan = maintain(firn, table, "--dry-run")
            assert plan["lease"]["holder"].endswith(f"process {first.pid}")
    finally:
        first.send_signal(signal.SIGCONT)
        first.communicate(timeout=PATIENCE)
    assert first.returncode == OK
    maintain(firn, table, "--force")
    assert rows_of_pyiceberg(lake.load(table)) == before
    assert len(leases(lake, table)) == 1
    check_verified(firn, table)


def test_told_to_stop(firn, lake, table):
    """A run that is stopped gives its lease back."""
    before = rows_of_pyiceberg(lake.load(table))
    run = firn.start("--quiet", "maintain", full_name(table), "--force")
    deadline = time.monotonic() + PATIENCE
    while newest_lease(lake, table) is None and time.monotonic() < deadline:
        time.sleep(0.001)
    run.terminate()
    run.communicate(timeout=PATIENCE)
    assert run.returncode in (OK, FAILED) and not newest_lease(lake, table)["held"]
    maintain(firn, table, "--force")
    assert rows_of_pyiceberg(lake.load(table)) == before


@pytest.mark.parametrize("step", STEPS)
def test_killed_in_a_step(firn, lake, table, step):
    """Killed at several moments: the next run has not to wait, and does what is left."""
    start = time.monotonic()
    maintain(firn, table, "--dry-run")
    took = time.monotonic() - start
    for place in range(KILLS):
        append_events(lake.load(table), commits=6, count=12)
        put_stray(lake, table, place)
        before = rows_of_pyiceberg(lake.load(table))
        run = firn.start("--quiet", "maintain", full_name(table), *EAGER, "--steps", step)
        time.sleep(2 * took * (place + 0.5) / KILLS)
        run.kill()
        run.communicate()
        assert rows_of_pyiceberg(lake.load(table)) == before, f"killed in {step}, {place} of {KILLS}"
        report = maintain(firn, table, *EAGER)
        assert report["status"] == "done"
        assert rows_of_pyiceberg(lake.load(table)) == before
        check_verified(firn, table)
    maintain(firn, table, *EAGER)
    folder = path_of(lake.load(table).location())
    assert not [path for path in files_below(folder) if "_firn_journal" in path or "stray" in path]
    assert len(leases(lake, table)) == 1


def test_all_goes_on_with_the_next_table(firn, lake, namespace):
    names = [f"{namespace}.t{number}" for number in range(3)]
    for name in names:
        append_events(lake.catalog.create_table(name, EVENTS), commits=6)
    with sqlite3.connect(lake.database) as database:
        database.execute("UPDATE iceberg_tables SET metadata_location = metadata_location || '.gone' WHERE table_namespace = ? "
                         "AND table_name = 't1'", (namespace,))
    try:
        report = firn("--quiet", "--output", "json", "maintain", "--all", status=PARTIAL).json
        found = {table["table"]: table for table in report["tables"]}
        assert found[full_name(names[1])]["status"] == "failed" and "gone" in found[full_name(names[1])]["error"]
        for name in (names[0], names[2]):
            assert found[full_name(name)]["status"] == "done" and states(found[full_name(name)])["compact"] == "done"
    finally:
        lake.catalog.drop_table(names[1])


def test_policies(firn, lake, table, tmp_path):
    policy = tmp_path / "firn.yaml"
    policy.write_text("maintain:\n  defaults:\n    compact: { every: 2h }\n  tables:\n"
                      f"    {table}:\n      expire:\n        every: never\n", encoding="utf-8")
    with lake.load(table).transaction() as change:
        change.set_properties({"firn.maintain.orphans.every": "30d"})
    printed = firn("--output", "json", "maintain", full_name(table), "--policy", str(policy), "--set", "sweep.every=5d",
                   "--print-policy").json["policy"]
    found = {item["key"]: (item["value"], item["from"]) for item in printed}
    assert found["compact.every"] == ("2h", f"{policy}, line 3") and found["expire.every"] == ("never", f"{policy}, line 7")
    assert found["orphans.every"][1] == "table property firn.maintain.orphans.every" and found["sweep.every"] == ("5d", "given")
    report = maintain(firn, table, "--policy", str(policy))
    assert states(report)["expire"] == "not due" and states(report)["compact"] == "done"

    policy.write_text("maintain:\n  defaults:\n    compakt: { every: 2h }\n", encoding="utf-8")
    run = firn("maintain", full_name(table), "--policy", str(policy), status=USAGE)
    assert "line 3" in run.err and "compact.every" in run.err
    assert "compact.every" in firn("maintain", "--print-policy").out
