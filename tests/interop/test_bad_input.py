"""Broken input and hostile surroundings: one clear error, the right exit status, nothing left behind, the table as before."""
import glob
import json
import os
import random
import subprocess
import time

import pyarrow.parquet as parquet
import pytest

from checks import check_nothing_left, metadata_of
from engines import path_of, rows_of_pyiceberg
from firn import CONFLICT, CORRUPT, FAILED, NOT_FOUND, OK, PARTIAL, PATIENCE, Firn
from iceberg_files import files_below, live_files, manifests_of, read_metadata, snapshot_of
from lake import Lake, full_name
from tables import EVENTS, append_events

REWRITE_ALL = {"rewrite-all": "true"}


class Victim:
    """A small table and what it is like before anything happens to it."""

    def __init__(self, lake, identifier, commits=5):
        self.lake = lake
        self.identifier = identifier
        self.name = full_name(identifier)
        append_events(lake.catalog.create_table(identifier, EVENTS), commits)
        table = lake.load(identifier)
        self.location = path_of(table.location())
        self.metadata_file = path_of(table.metadata_location)
        self.metadata = metadata_of(table)
        self.rows = rows_of_pyiceberg(table)
        self.files = files_below(self.location)

    def data_files(self):
        return sorted(file["path"] for file in live_files(self.metadata))

    def manifests(self):
        return [path for path, _ in manifests_of(snapshot_of(self.metadata), path_of)]

    def manifest_list(self):
        return path_of(snapshot_of(self.metadata)["manifest-list"])

    def check_unchanged(self):
        """The catalog points where it did, no file came or went; `check_rows` also reads it."""
        assert path_of(self.lake.load(self.identifier).metadata_location) == self.metadata_file
        assert set(files_below(self.location)) == set(self.files)

    def check_rows(self):
        assert rows_of_pyiceberg(self.lake.load(self.identifier)) == self.rows


@pytest.fixture
def victim(lake, namespace):
    return Victim(lake, f"{namespace}.victim")


def check_one_error(run, *words):
    """One line says what is wrong, perhaps with one HINT after it; nothing goes to stdout."""
    lines = run.error_lines
    assert 1 <= len(lines) <= 2, str(run)
    assert len(lines) == 1 or "HINT" in lines[1], str(run)
    for word in words:
        assert word in lines[0], str(run)
    assert run.out.strip() == "", str(run)


def compact(firn, table, status):
    return firn("--quiet", "rewrite-data-files", table, "--option", "rewrite-all=true", status=status)


def truncated(data):
    return data[:len(data) * 2 // 3]


def emptied(data):
    return b""


def zeroed(data):
    return bytes(len(data))


def first_page_broken(data):
    return data[:4] + b"\xff" * 24 + data[28:]


def footer_broken(data):
    return data[:-40] + b"\xff" * 32 + data[-8:]


def footer_length_huge(data):
    return data[:-8] + b"\xff\xff\xff\x7f" + data[-4:]


def damage(path, how):
    with open(path, "rb") as file:
        good = file.read()
    with open(path, "wb") as file:
        file.write(how(good))
    return good


def repair(path, data):
    with open(path, "wb") as file:
        file.write(data)


@pytest.mark.parametrize("how", [truncated, emptied, zeroed, first_page_broken, footer_broken, footer_length_huge])
def test_broken_parquet(firn, victim, how):
    path = victim.data_files()[2]
    good = damage(path, how)
    run = compact(firn, victim.name, CORRUPT)
    check_one_error(run, os.path.basename(path))
    victim.check_unchanged()
    repair(path, good)
    victim.check_rows()
    compact(firn, victim.name, OK)
    victim.check_rows()


def test_one_wrong_byte(firn, victim, tmp_path):
    """Anywhere in a file: the values or an error, soon; never a crash."""
    for source in (victim.data_files()[0], victim.manifests()[0]):
        with open(source, "rb") as file:
            good = file.read()
        chance = random.Random(3)
        for _ in range(40):
            at = chance.randrange(len(good))
            path = tmp_path / os.path.basename(source)
            path.write_bytes(good[:at] + bytes([good[at] ^ (1 << chance.randrange(8))]) + good[at + 1:])
            firn("--quiet", "inspect", str(path), "--values", status=(OK, FAILED, CORRUPT))


@pytest.mark.parametrize("what", ["manifest", "manifest_list"])
@pytest.mark.parametrize("how", [truncated, emptied, zeroed])
def test_broken_avro(firn, victim, what, how):
    path = victim.manifests()[1] if what == "manifest" else victim.manifest_list()
    good = damage(path, how)
    check_one_error(compact(firn, victim.name, CORRUPT), os.path.basename(path))
    victim.check_unchanged()
    repair(path, good)
    victim.check_rows()


@pytest.mark.parametrize("how", [truncated, emptied, zeroed])
def test_broken_metadata(firn, victim, how):
    good = damage(victim.metadata_file, how)
    check_one_error(compact(firn, victim.name, CORRUPT), os.path.basename(victim.metadata_file))
    repair(victim.metadata_file, good)
    victim.check_unchanged()
    victim.check_rows()


def change_metadata(victim, **members):
    with open(victim.metadata_file, "w", encoding="utf-8") as file:
        json.dump({**victim.metadata, **{key.replace("_", "-"): value for key, value in members.items()}}, file)


@pytest.mark.parametrize("members, status, word", [
    ({"format_version": 4}, FAILED, "4"),
    ({"format_version": "two"}, CORRUPT, "format-version"),
    ({"current_snapshot_id": 12345}, CORRUPT, "12345"),
    ({"schemas": []}, CORRUPT, "schema"),
    ({"location": 7}, CORRUPT, "location"),
])
def test_metadata_that_makes_no_sense(firn, victim, members, status, word):
    change_metadata(victim, **members)
    check_one_error(compact(firn, victim.name, status), word)
    change_metadata(victim)
    victim.check_unchanged()
    victim.check_rows()


@pytest.mark.parametrize("what", ["data", "manifest", "manifest_list", "metadata"])
def test_missing_file(firn, victim, what):
    path = {"data": victim.data_files()[0], "manifest": victim.manifests()[0], "manifest_list": victim.manifest_list(),
            "metadata": victim.metadata_file}[what]
    os.rename(path, path + ".away")
    run = compact(firn, victim.name, NOT_FOUND)
    check_one_error(run, os.path.basename(path))
    os.rename(path + ".away", path)
    victim.check_unchanged()
    victim.check_rows()


def test_unknown_tables(firn, lake, namespace, folder):
    check_one_error(compact(firn, full_name(f"{namespace}.nothing"), NOT_FOUND), "nothing")
    check_one_error(compact(firn, f"nolake.{namespace}.t", (NOT_FOUND, 2)), "nolake")
    check_one_error(compact(firn, f"{folder}/no/such/table", NOT_FOUND), "no/such/table")


def test_read_only_warehouse(as_nobody, victim):
    check_one_error(compact(as_nobody, victim.name, FAILED))
    victim.check_unchanged()
    victim.check_rows()


def test_unreadable_folder(as_nobody, victim):
    data = os.path.join(victim.location, "data")
    os.chmod(data, 0o700)
    check_one_error(compact(as_nobody, victim.name, FAILED), "data")
    os.chmod(victim.location, 0o700)
    check_one_error(compact(as_nobody, victim.name, FAILED))
    os.chmod(victim.location, 0o755)
    os.chmod(data, 0o755)
    victim.check_unchanged()


@pytest.fixture
def small_disk(folder):
    path = os.path.join(folder, "small-disk")
    os.makedirs(path, exist_ok=True)
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", path], capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip("needs the right to mount a small tmpfs")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def test_full_disk(small_disk):
    """The table fits, its compacted copy does not."""
    lake = Lake(small_disk)
    lake.catalog.create_namespace("db")
    victim = Victim(lake, "db.victim", commits=8)
    free = os.statvfs(small_disk)
    filler = os.path.join(small_disk, "filler")
    with open(filler, "wb") as file:
        file.write(b"x" * max(0, free.f_bavail * free.f_bsize - 12 * 1024))
    run = compact(Firn(lake.folder), victim.name, FAILED)
    check_one_error(run)
    victim.check_unchanged()
    os.remove(filler)
    victim.check_rows()
    compact(Firn(lake.folder), victim.name, OK)
    victim.check_rows()


def check_sound(victim):
    """Whatever happened: the rows are there, every visible data file is whole, the catalog's metadata reads."""
    table = victim.lake.load(victim.identifier)
    assert rows_of_pyiceberg(table) == victim.rows
    read_metadata(path_of(table.metadata_location))
    for path in glob.glob(os.path.join(victim.location, "data", "**", "*.parquet"), recursive=True):
        if not os.path.basename(path).startswith((".", "_")):
            parquet.read_table(path)


def test_two_at_once(firn, lake, namespace):
    victim = Victim(lake, f"{namespace}.contended", commits=30)
    for _ in range(4):
        both = [firn.start("--quiet", "rewrite-data-files", victim.name, "--option", "rewrite-all=true") for _ in range(2)]
        outputs = [process.communicate(timeout=PATIENCE) for process in both]
        statuses = [process.returncode for process in both]
        assert OK in statuses, outputs
        assert set(statuses) <= {OK, CONFLICT}, outputs
        check_sound(victim)
        table = lake.load(victim.identifier)
        check_nothing_left(table.location(), table.metadata_location)


def test_an_append_meanwhile_is_kept(firn, lake, namespace):
    """Commits of another engine between plan and commit."""
    victim = Victim(lake, f"{namespace}.appended", commits=20)
    table = lake.load(victim.identifier)
    with table.transaction() as change:  # the writer does not rest: the few attempts that are the default may all be in vain
        change.set_properties({"commit.retry.num-retries": "1000"})
    table = lake.load(victim.identifier)
    process = firn.start("--quiet", "rewrite-data-files", victim.name, "--option", "rewrite-all=true", "--verify", "full")
    appended = 0
    while process.poll() is None and appended < 50:
        try:
            append_events(table, 1, 7)
            appended += 1
        except Exception:  # pylint: disable=broad-except # firn committed first: PyIceberg does not retry an append
            table = lake.load(victim.identifier)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == OK, (out, err)
    assert len(rows_of_pyiceberg(lake.load(victim.identifier))) == len(victim.rows) + 7 * appended


def test_killed_at_any_time(firn, lake, namespace):
    """kill -9: the table is the old one or the new one, nothing half-written is visible, and the next run finishes."""
    victim = Victim(lake, f"{namespace}.killed", commits=40)
    start = time.monotonic()
    firn("--quiet", "rewrite-data-files", victim.name, "--option", "rewrite-all=true", "--dry-run")
    whole = time.monotonic() - start
    chance = random.Random(11)
    for _ in range(12):
        process = firn.start("--quiet", "rewrite-data-files", victim.name, "--option", "rewrite-all=true")
        time.sleep(chance.uniform(0, 3 * whole))
        process.kill()
        process.communicate()
        check_sound(victim)
    compact(firn, victim.name, OK)
    check_sound(victim)


def test_interrupted(firn, lake, namespace):
    """Control-C: the same, and nothing is left behind."""
    victim = Victim(lake, f"{namespace}.interrupted", commits=40)
    process = firn.start("--quiet", "rewrite-data-files", victim.name, "--option", "rewrite-all=true")
    time.sleep(0.03)
    process.send_signal(2)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode in (OK, FAILED, -2), err
    check_sound(victim)


def test_a_metadata_file_alone_is_read_only(firn, victim):
    run = compact(firn, victim.metadata_file, (FAILED, 2))
    check_one_error(run)
    victim.check_unchanged()


def test_partial_progress_keeps_the_good_groups(firn, spark, lake, namespace):
    identifier = f"{namespace}.partly"
    spark.sql(f"CREATE TABLE {full_name(identifier)} (id bigint, p int) USING iceberg PARTITIONED BY (p)")
    for _ in range(3):
        spark.sql(f"INSERT INTO {full_name(identifier)} SELECT id, id % 4 FROM range(40)")
    table = lake.load(identifier)
    rows = rows_of_pyiceberg(table)
    bad = sorted(file["path"] for file in live_files(metadata_of(table)) if file["partition"]["p"] == 2)[0]
    good = damage(bad, truncated)
    run = firn("--quiet", "--output", "json", "rewrite-data-files", full_name(identifier), "--option", "rewrite-all=true", "--option",
               "partial-progress.enabled=true", status=PARTIAL)
    assert run.json["rewritten_data_files_count"] == 9
    assert run.json["failed_data_files_count"] == 3
    repair(bad, good)
    table = lake.load(identifier)
    assert rows_of_pyiceberg(table) == rows
    check_nothing_left(table.location(), table.metadata_location)
