"""Runs killed at any moment: the table reads, the next run uses what the killed one had finished, finishes what it had to
delete, and leaves no file behind that the table does not name."""
import os
import random
import time

import pytest

from checks import check_nothing_left
from engines import rows_of_pyiceberg
from firn import OK
from lake import full_name
from tables import EVENTS, append_events
from twice import Twice

KILLS = 8
TRIES = 200
REWRITE = ["rewrite-data-files", "--option", "rewrite-all=true", "--option", "max-file-group-input-files=3"]
EXPIRE = ["expire-snapshots", "--older-than", "0s"]


@pytest.fixture(scope="module")
def many(lake):
    """60 small files; EXPIRE has as many to delete after a compaction."""
    identifier = f"{lake.new_namespace()}.many"
    table = lake.catalog.create_table(identifier, EVENTS)
    with table.update_spec() as spec:
        spec.add_field("kind", "identity", "kind")
    append_events(lake.load(identifier), 10)
    return Twice(lake, identifier)


def command(many, arguments):
    return ["--quiet", "--output", "json", arguments[0], full_name(many.identifier), *arguments[1:]]


def kill_after(firn, seconds, arguments):
    process = firn.start(*arguments)
    time.sleep(seconds)
    process.kill()
    process.communicate()


def how_long(firn, many, arguments):
    start = time.monotonic()
    many.run(lambda _: firn(*command(many, arguments)))
    return time.monotonic() - start


def kinds_of_events(many):
    """What the journals tell that lie there."""
    try:
        return {name.split(".")[-2] for name in os.listdir(f"{many.folder}/metadata/_firn_journal")}
    except FileNotFoundError:
        return set()


def kill_among_groups(firn, many, may_try=False):
    """A rewrite killed when some groups are finished, before it tries to commit, or then."""
    def happened():
        kinds = kinds_of_events(many)
        return "group" in kinds and ("attempt" in kinds) == may_try

    for _ in range(TRIES):
        if firn.kill_when(happened, *command(many, REWRITE)):
            return
        many.restore()
    raise AssertionError("never killed in the middle")


def run_again(firn, lake, many, arguments, rows):
    """The report of the run after a killed one."""
    assert rows_of_pyiceberg(lake.load(many.identifier)) == rows
    report = firn(*command(many, arguments)).json
    table = lake.load(many.identifier)
    assert rows_of_pyiceberg(table) == rows
    check_nothing_left(table.location(), table.metadata_location)
    assert not kinds_of_events(many)
    many.restore()
    return report


def kill_and_run_again(firn, lake, many, arguments):
    """Gives the report of the run that follows each kill."""
    took = how_long(firn, many, arguments)
    rows = rows_of_pyiceberg(lake.load(many.identifier))
    chance = random.Random(7)
    for place in range(KILLS):
        kill_after(firn, took * (place + chance.random()) / KILLS, command(many, arguments))
        yield run_again(firn, lake, many, arguments, rows)


def test_rewrite(firn, lake, many):
    for _ in kill_and_run_again(firn, lake, many, REWRITE):
        pass
    rows = rows_of_pyiceberg(lake.load(many.identifier))
    reused = leftover = tries = 0
    while not (reused and leftover):
        assert tries < TRIES, (reused, leftover)
        kill_among_groups(firn, many, may_try=tries % 2 == 1)
        report = run_again(firn, lake, many, REWRITE, rows)
        reused, leftover, tries = reused + report["reused_groups_count"], leftover + report["leftover_files_count"], tries + 1


def test_rewrite_in_several_commits(firn, lake, many):
    for _ in kill_and_run_again(firn, lake, many, [*REWRITE, "--option", "partial-progress.enabled=true"]):
        pass


def test_expire(firn, lake, many):
    firn.compact(full_name(many.identifier))
    many.save()
    reports = list(kill_and_run_again(firn, lake, many, EXPIRE))
    for report in reports:
        assert report["expired_snapshots_count"] > 0 or report["leftover_files_count"] > 0 or report["deleted_data_files_count"] == 0
    assert len(many.metadata()["snapshots"]) > 1


def test_shown_and_cleared(firn, lake, many):
    """What `firn journal` says of a killed run, and --clear."""
    name = full_name(many.identifier)
    kill_among_groups(firn, many)
    runs = firn("--output", "json", "journal", name).json["runs"]
    assert runs[0]["groups"] and runs[0]["attempt_ms"] is None
    assert runs[0]["state"] == "killed" and runs[0]["procedure"] == "rewrite-data-files"
    text = firn("journal", name).out
    assert "killed" in text and "finished group" in text and "next run: use the finished groups" in text
    report = firn("--output", "json", "journal", name, "--clear").json
    assert report["cleared_runs_count"] == 1 and report["left_runs_count"] == 0 and report["deleted_files_count"] > 0
    assert firn("journal", name).out == "no run has left anything\n"
    table = lake.load(many.identifier)
    check_nothing_left(table.location(), table.metadata_location)
    many.restore()


def test_dry_run_uses_and_changes_nothing(firn, many):
    before = sorted(os.listdir(many.folder + "/metadata"))
    firn(*command(many, REWRITE), "--dry-run", status=OK)
    assert sorted(os.listdir(many.folder + "/metadata")) == before
