"""firn killed at any moment of a command on references or marks: the table is as before or as asked for, whatever its time,
and running the command again completes it. Expiry and orphan removal are killed in their own files."""
import datetime
import os
import time

import pyarrow as pa
import pytest

from checks import check_verified
from engines import path_of, rows_of_pyiceberg
from firn import OK, USAGE
from iceberg_files import files_below
from lake import full_name
from twice import Twice, refs_of

KILLS = 8
DAY = 86400
# {0} is the oldest snapshot, {1} main's, {2} that of branch "ahead", {3} that of branch "beside"; {time} is when main's was made.
COMMANDS = {
    "create-branch": "create-branch fresh --if-not-exists",
    "create-tag": "create-tag fresh --or-replace --as-of-version {0}",
    "replace-branch": "create-branch ahead --replace --as-of-version {0}",
    "drop-branch": "drop-branch ahead --if-exists",
    "drop-tag": "drop-tag v --if-exists",
    "rollback-to-snapshot": "rollback-to-snapshot {0}",
    "rollback-to-timestamp": "rollback-to-timestamp {time}",
    "set-current-snapshot": "set-current-snapshot --ref v",
    "fast-forward": "fast-forward main ahead",
    "cherrypick-snapshot": "cherrypick-snapshot {3}",
}


def rows(*ids):
    return pa.table({"id": pa.array(ids, pa.int64())})


@pytest.fixture(scope="module")
def scene(lake):
    identifier = f"{lake.new_namespace()}.killed"
    table = lake.catalog.create_table(identifier, rows().schema)
    table.append(rows(1))
    first = table.current_snapshot().snapshot_id
    table.manage_snapshots().create_tag(first, "v").create_branch(first, "beside").commit()
    table.append(rows(2))
    table.manage_snapshots().create_branch(table.current_snapshot().snapshot_id, "ahead").commit()
    table.append(rows(3), branch="ahead")
    table.append(rows(4), branch="beside")
    return Twice(lake, identifier)


def ids_of(table):
    refs = table.refs()
    return [refs[name].snapshot_id for name in ("v", "main", "ahead", "beside")]


def kill_after(firn, seconds, *arguments):
    process = firn.start("--quiet", *arguments)
    time.sleep(seconds)
    process.kill()
    process.communicate()


def known(refs, ids):
    """References, with "new" in place of the id of a snapshot that a command made."""
    return {name: ref["snapshot-id"] if ref["snapshot-id"] in ids else "new" for name, ref in refs.items()}


@pytest.mark.parametrize("command", COMMANDS)
def test_references(firn, lake, scene, command):
    name = full_name(scene.identifier)
    ids = ids_of(lake.load(scene.identifier))
    made = datetime.datetime.fromtimestamp(lake.load(scene.identifier).current_snapshot().timestamp_ms / 1000, datetime.timezone.utc)
    verb, *arguments = COMMANDS[command].format(*ids, time=made.isoformat(timespec="milliseconds")).split()

    def look():
        table = lake.load(scene.identifier)
        for snapshot in table.snapshots():
            rows_of_pyiceberg(table, snapshot.snapshot_id)
        return known(refs_of(scene.metadata()), ids), rows_of_pyiceberg(table)

    before = look()
    try:
        start = time.monotonic()
        firn("--quiet", verb, name, *arguments)
        took = time.monotonic() - start
        after = look()
        assert after != before
        scene.restore()
        for place in range(KILLS):
            kill_after(firn, took * (place + 0.5) / KILLS, verb, name, *arguments)
            found = look()
            assert found in (before, after), f"killed after {place} of {KILLS}"
            firn("--quiet", verb, name, *arguments, status=(OK, USAGE) if found == after else OK)
            assert look() == after
            check_verified(firn, scene.identifier)
            scene.restore()
    finally:
        scene.restore()


def test_marks(firn, lake, scene):
    """The list of marks is the old one or the new one; a sweep deletes only what is marked; the end is the same."""
    name = full_name(scene.identifier)
    folder = path_of(lake.load(scene.identifier).location())
    strays = set()
    for number in range(2000):
        path = f"{folder}/data/stray-{number}"
        with open(path, "w", encoding="utf-8") as file:
            file.write("stray")
        moment = time.time() - 10 * DAY
        os.utime(path, (moment, moment))
        strays.add(path)
    half = f"{folder}/data/stray-7"
    marks = f"{folder}/metadata/_firn_marks.tsv"
    live = set(files_below(folder)) - strays

    def marked():
        if not os.path.exists(marks):
            return set()
        with open(marks, encoding="utf-8") as file:
            return {path_of(line.rstrip("\n").split("\t")[4]) for line in file if not line.startswith("#")}

    def finish(places, allowed, *arguments):
        """Kills the command at all times, then lets it finish."""
        for place in range(places):
            kill_after(firn, 0.004 * (place + 1), *arguments)
            assert marked() in allowed
            assert live <= set(files_below(folder)), "only orphans go"
        firn("--quiet", *arguments, status=(OK, 3))

    try:
        finish(KILLS, (set(), strays), "remove-orphan-files", name, "--mark")
        assert marked() == strays
        finish(KILLS, (strays, strays - {half}), "undelete", name, half)
        assert marked() == strays - {half}
        finish(KILLS, (strays - {half}, set()), "remove-orphan-files", name, "--sweep", "--after", "0s")
        assert marked() == set() and strays & set(files_below(folder)) == {half}
        assert len(rows_of_pyiceberg(lake.load(scene.identifier))) == 2
    finally:
        scene.restore()
