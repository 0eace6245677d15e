"""The command line as people and programs meet it."""
import json
import os
import re
import resource
import shlex
import subprocess

import pytest

from checks import metadata_of
from firn import NOT_FOUND, OK, PATIENCE, USAGE
from iceberg_files import live_files
from lake import full_name
from tables import EVENTS, append_events

COMMANDS = [
    "plan", "rewrite-data-files", "rewrite-position-delete-files", "convert-equality-deletes", "rewrite-manifests", "compute-table-stats", "compute-partition-stats",
    "expire-snapshots", "create-branch",
    "create-tag", "drop-branch", "drop-tag", "set-properties", "unset-properties", "write-order", "sql", "rollback-to-snapshot",
    "explain", "rollback-to-timestamp", "set-current-snapshot", "fast-forward", "cherrypick-snapshot", "publish-changes",
    "ancestors-of", "remove-orphan-files", "undelete", "journal", "describe", "inspect", "verify", "health", "advise", "maintain", "demo",
]


@pytest.fixture
def table(lake, namespace):
    identifier = f"{namespace}.t"
    append_events(lake.catalog.create_table(identifier, EVENTS))
    return identifier


def test_help_names_every_command(firn):
    text = firn("--help").out
    for command in COMMANDS:
        assert command in text
    assert firn("help").out == text


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(firn, command):
    text = firn("help", command).out
    assert command in text and text.count("\n") > 5
    assert firn(command, "--help").out == text


def test_version(firn):
    assert re.search(r"\d+\.\d+\.\d+", firn("--version").out)


@pytest.mark.parametrize("arguments, word", [
    (["no-such-command"], "no-such-command"),
    (["describe"], "TABLE"),
    (["--no-such-option", "describe", "t"], "--no-such-option"),
    (["rewrite-data-files", "TABLE", "--no-such-option"], "--no-such-option"),
    (["rewrite-data-files", "TABLE", "--option"], "--option"),
    (["rewrite-data-files", "TABLE", "--option", "novalue"], "novalue"),
    (["rewrite-data-files", "TABLE", "--option", "min-input-files=many"], "min-input-files"),
    (["rewrite-data-files", "TABLE", "--option", "min-input-files=0"], "min-input-files"),
    (["rewrite-data-files", "TABLE", "--option", "target-file-size-bytes=-5"], "target-file-size-bytes"),
    (["rewrite-data-files", "TABLE", "--option", "min-file-size-bytes=10", "--option", "target-file-size-bytes=5"], "min-file-size-bytes"),
    (["rewrite-data-files", "TABLE", "--option", "rewrite-job-order=sideways"], "sideways"),
    (["rewrite-data-files", "TABLE", "--option", "output-spec-id=99"], "99"),
    (["rewrite-data-files", "TABLE", "--strategy", "shuffle"], "shuffle"),
    (["rewrite-data-files", "TABLE", "--where", "nocolumn = 1"], "nocolumn"),
    (["remove-orphan-files", "TABLE", "--older-than", "23h"], "24 hours"),
    (["remove-orphan-files", "TABLE", "--max-concurrent-deletes", "0"], "max-concurrent-deletes"),
    (["remove-orphan-files", "TABLE", "--location", "/"], "--location"),
    (["compute-table-stats", "TABLE", "--columns", "nofield"], "nofield"),
    (["compute-table-stats", "TABLE", "--columns", ""], "empty"),
    (["compute-table-stats", "TABLE", "--snapshot-id", "x"], "snapshot id"),
    (["rewrite-manifests", "TABLE", "--spec-id", "99"], "99"),
    (["rewrite-manifests", "TABLE", "--spec-id", "-1"], "--spec-id"),
    (["rewrite-manifests", "TABLE", "--sort-by", ""], "sort_by"),
    (["rewrite-manifests", "TABLE", "--sort-by", "nofield"], "nofield"),
    (["rewrite-data-files", "TABLE", "--where", "id ="], "character 5"),
    (["rewrite-data-files", "TABLE", "--where", "id = 'text'"], "text"),
    (["rewrite-data-files", "TABLE", "--max-bytes", "0"], "max-bytes"),
    (["rewrite-data-files", "TABLE", "--max-requests", "0"], "max-requests"),
    (["rewrite-data-files", "TABLE", "--max-time", "soon"], "max-time"),
    (["rewrite-data-files", "TABLE", "--price", "gets=1"], "gets"),
    (["rewrite-data-files", "TABLE", "--price", "get=much"], "much"),
    (["maintain", "TABLE", "--max-time", "soon"], "budget.time"),
    (["backtest", "TABLE", "--every", "soon"], "every"),
    (["backtest", "TABLE", "--set", "compact.evry=1h"], "compact.every"),
    (["health"], "--all"),
    (["explain", "TABLE"], "--where"),
    (["explain", "TABLE", "--where", "nothing = 1"], "no column 'nothing'"),
    (["explain", "TABLE", "--where", "id = 1", "--snapshot-id", "x"], "snapshot id"),
    (["health", "TABLE", "--all"], "--all"),
    (["health", "TABLE", "--threshold", "table-files=3"], "table-files"),
    (["health", "TABLE", "--threshold", "manifests.ill=1"], "manifests"),
    (["advise"], "TABLE"),
    (["advise", "TABLE", "--latency", "soon"], "latency"),
    (["advise", "TABLE", "--file-size", "1"], "--file-size"),
    (["health", "TABLE", "--html", ""], "--html"),
    (["health", "TABLE", "--html", "/"], "--html"),
    (["--memory", "lots", "describe", "TABLE"], "lots"),
    (["--output", "xml", "describe", "TABLE"], "xml"),
])
def test_wrong_usage(firn, table, arguments, word):
    run = firn(*[full_name(table) if argument == "TABLE" else argument for argument in arguments], status=USAGE)
    assert word in run.err
    assert run.out == ""


def test_all_unknown_options_in_one_error(firn, table):
    run = firn("rewrite-data-files", full_name(table), "--option", "one=1", "--option", "two=2", "--option", "min-input-files=3", status=USAGE)
    assert "one" in run.err and "two" in run.err and "min-input-files" not in run.err


def test_dry_run_prints_the_plan_and_changes_nothing(firn, lake, table):
    before = lake.load(table).metadata_location
    plan = firn("--output", "json", "rewrite-data-files", full_name(table), "--dry-run").json
    assert lake.load(table).metadata_location == before
    files = live_files(metadata_of(lake.load(table)))
    listed = [file for group in plan["groups"] for file in group["files"]] + plan["skipped"]
    assert len(listed) == len(files)
    assert all(file["reason"] for file in listed)
    assert {"bytes_read", "bytes_written", "seconds"} <= set(plan["estimate"])
    columns = plan["groups"][0]["columns"]
    assert columns and all(column["rung"] in ("splice", "repack", "remap", "transcode") for column in columns)
    text = firn("rewrite-data-files", full_name(table), "--dry-run").out
    assert text and not text.lstrip().startswith("{")
    assert firn("--output", "json", "plan", full_name(table)).json["groups"] == plan["groups"]
    assert firn("plan", full_name(table)).out == text
    assert lake.load(table).metadata_location == before


def test_backtest(firn, lake, table):
    before = lake.load(table).metadata_location
    result = firn("--output", "json", "backtest", full_name(table), "--set", "compact.every=1m").json
    assert lake.load(table).metadata_location == before
    row = result["rows"][-1]
    assert row["real"]["data_files"] == len(live_files(metadata_of(lake.load(table))))
    assert row["policy"]["data_files"] <= row["real"]["data_files"]
    assert {"money", "scan_money", "commits", "rewritten_bytes"} <= set(result["total"]["policy"])
    text = firn("backtest", full_name(table)).out
    assert "policy" in text and "all" in text


def test_report(firn, lake, table):
    run = firn("--output", "json", "rewrite-data-files", full_name(table))
    report = run.json
    assert report["rewritten_data_files_count"] == 5
    assert report["added_data_files_count"] == 1
    assert report["failed_data_files_count"] == report["removed_delete_files_count"] == 0
    assert sum(rung["bytes"] for rung in report["pages"]["rungs"].values()) > 0
    predicted, actual = report["work"]["predicted"], report["work"]["actual"]
    assert predicted["currency"] == actual["currency"] == "USD"
    assert abs(predicted["requests"] - actual["requests"]) <= max(10, actual["requests"] * 0.2)
    assert 0 < actual["money"] < 0.01
    files = [file for file in live_files(metadata_of(lake.load(table)), snapshot_id=None)]
    assert len(files) == 1
    text = firn("rewrite-data-files", full_name(table)).out
    assert "rewritten" in text and not text.lstrip().startswith("{")


def test_quiet_says_nothing_on_stderr(firn, table):
    assert firn("--quiet", "rewrite-data-files", full_name(table)).err == ""


def test_progress_without_a_terminal_is_lines(firn, table):
    run = firn("rewrite-data-files", full_name(table))
    assert "\r" not in run.err and "\x1b" not in run.err


def test_default_catalog_and_options_after_the_table(firn, table):
    name = table  # namespace.table, in the only catalog there is
    assert firn("--output", "json", "describe", name).json["live_data_files"] == 5
    assert firn("describe", name, "--output", "json", status=(OK, USAGE)).status in (OK, USAGE)


def test_describe(firn, lake, table):
    found = firn.describe(full_name(table), "--count")
    loaded = lake.load(table)
    assert found["format_version"] == 2
    assert found["current_snapshot_id"] == str(loaded.current_snapshot().snapshot_id)
    assert found["snapshots"] == 5
    assert found["live_rows"] == found["live_data_records"] == 300
    first = loaded.metadata.snapshots[0].snapshot_id
    assert firn.describe(full_name(table), "--snapshot-id", str(first))["live_data_files"] == 1
    assert "PARQUET" in {name.upper() for name in found["file_formats"]}


def test_inspect_each_kind(firn, lake, table):
    metadata = metadata_of(lake.load(table))
    data = live_files(metadata)[0]["path"]
    found = firn("--output", "json", "inspect", data, "--values", "--pages").json
    assert found["rows"] == 60
    assert {column["name"] for column in found["columns"]} == {"id", "at", "kind", "amount"}
    manifest_list = metadata["snapshots"][-1]["manifest-list"].removeprefix("file://")
    found = firn("--output", "json", "inspect", manifest_list).json
    assert found["format"].upper() == "AVRO" and found["rows"] == 5


def test_demo(firn, tmp_path):
    from pyiceberg.catalog.sql import SqlCatalog

    run = firn("demo", str(tmp_path / "demo"), "--commits", "200")
    assert "firn " in run.out, "the demo names the next command to try"
    database = next((tmp_path / "demo").rglob("*.db"))
    catalog = SqlCatalog("demo", uri=f"sqlite:///{database}")
    tables = [name for namespace in catalog.list_namespaces() for name in catalog.list_tables(namespace)]
    assert tables
    assert catalog.load_table(tables[0]).scan().to_arrow().num_rows > 0


def test_json_is_one_document(firn, table):
    json.loads(firn("--output", "json", "describe", full_name(table)).out)


def start_limited(firn, *arguments, **how):
    return subprocess.run([*firn.command, *arguments], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=PATIENCE,
                          env=firn.environment, **how)


def test_a_limit_on_the_size_of_files_is_told(firn, lake, table):
    before = lake.load(table).metadata_location
    done = start_limited(firn, "rewrite-data-files", full_name(table), stdout=subprocess.PIPE,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)))
    assert done.returncode == 1 and "File too large" in done.stderr and "ulimit -f" in done.stderr
    assert lake.load(table).metadata_location == before


def test_a_low_limit_on_open_files_is_raised_or_told(firn, lake, table):
    def run(most):
        return start_limited(firn, "rewrite-data-files", full_name(table), "--option", "rewrite-all=true", stdout=subprocess.PIPE,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, most)))
    before = lake.load(table).metadata_location
    done = run(4)
    assert done.returncode == 1 and "oo many open files" in done.stderr and "ulimit -n" in done.stderr
    assert lake.load(table).metadata_location == before
    done = run(64)
    assert done.returncode == 0, done.stderr
    assert lake.load(table).metadata_location != before


def test_a_full_standard_output_says_what_was_changed(firn, lake, table):
    with open("/dev/full", "w") as full:
        done = start_limited(firn, "rewrite-data-files", full_name(table), stdout=full)
    snapshot = lake.load(table).current_snapshot().snapshot_id
    assert done.returncode == 1 and f"the table was changed to snapshot {snapshot} all the same" in done.stderr
    assert "run the command again" not in done.stderr
    with open("/dev/full", "w") as full:
        done = start_limited(firn, "create-tag", full_name(table), "kept", stdout=full)
    assert done.returncode == 1 and "all the same" in done.stderr and "kept" in lake.load(table).refs()
    with open("/dev/full", "w") as full:
        done = start_limited(firn, "drop-tag", full_name(table), "kept", "--dry-run", stdout=full)
    assert done.returncode == 1 and "all the same" not in done.stderr


def test_a_name_that_is_not_utf8_is_left_alone(firn, lake, table):
    folder = os.fsencode(lake.load(table).location().removeprefix("file://")) + b"/data/"
    for name in b"bad\xff.parquet", b"good.parquet":
        with open(folder + name, "wb"):
            os.utime(folder + name, (1, 1))
    run = firn("remove-orphan-files", full_name(table), "--dry-run", "--output", "json")
    assert [os.path.basename(row["orphan_file_location"]) for row in run.json["orphan_files"]] == ["good.parquet"]
    assert run.json["report"]["unnamable_files_count"] == 1
    assert "bad\\xff.parquet" in run.err
    firn("remove-orphan-files", full_name(table))
    assert os.path.exists(folder + b"bad\xff.parquet") and not os.path.exists(folder + b"good.parquet")


def test_names_with_control_characters_are_one_printable_line(firn, lake, table):
    path = lake.load(table).location().removeprefix("file://") + "/data/a\n\x1b[31mb.parquet"
    with open(path, "wb"):
        os.utime(path, (1, 1))
    run = firn("remove-orphan-files", full_name(table), "--dry-run")
    assert "/data/a\\x0a\\x1b[31mb.parquet" in run.out and "\x1b" not in run.out
    rows = firn("remove-orphan-files", full_name(table), "--dry-run", "--output", "json").json["orphan_files"]
    assert [row["orphan_file_location"].removeprefix("file://") for row in rows] == [path]
    run = firn("describe", "/no\x1b[2J/such\n/table", status=NOT_FOUND)
    assert "\x1b" not in run.err and run.err.startswith("firn: error: ") and "/no\\x1b[2J/such\\x0a/table" in run.err


def test_a_missing_manifest_is_named_with_its_list(firn, lake, table):
    snapshot = lake.load(table).current_snapshot()
    manifests = snapshot.manifests(lake.load(table).io)
    os.rename(manifests[0].manifest_path.removeprefix("file://"), manifests[0].manifest_path.removeprefix("file://") + ".gone")
    for arguments in (["rewrite-data-files"], ["remove-orphan-files"]):
        run = firn(arguments[0], full_name(table), status=NOT_FOUND)
        assert manifests[0].manifest_path in run.err and "manifest list" in run.err, run


@pytest.mark.parametrize("name", ["with space", "it's"])
def test_demo_in_a_folder_with_an_odd_name(firn, tmp_path, name):
    from pyiceberg.catalog.sql import SqlCatalog

    run = firn("demo", str(tmp_path / name), "--commits", "3", "--rows", "5")
    command = next(line for line in run.out.split("\n") if line.startswith("  firn --uri"))
    assert firn(*shlex.split(command)[1:]).out
    catalog = SqlCatalog("demo", uri=f"sqlite:///{tmp_path / name / 'catalog.db'}")
    assert catalog.load_table("db.txn").scan().to_arrow().num_rows > 0


def test_the_uri_of_a_database_may_be_percent_encoded(firn, tmp_path):
    firn("demo", str(tmp_path / "with space"), "--commits", "3", "--rows", "5")
    encoded = f"sqlite:///{tmp_path}/with%20space/catalog.db"  # as SQLAlchemy 2.1 has it
    assert firn("--uri", encoded, "--catalog", "demo", "describe", "db.txn").out


@pytest.mark.parametrize("name", ["what?", "a#b", "per%20cent", "a\nb"])
def test_demo_refuses_what_no_uri_can_hold(firn, tmp_path, name):
    run = firn("demo", str(tmp_path / name), "--commits", "3", status=USAGE)
    assert "HINT" in run.err and not os.listdir(tmp_path)


def test_an_unknown_snapshot_id_is_told(firn, table):
    assert "no snapshot 12" in firn("expire-snapshots", full_name(table), "--snapshot-ids", "12").err


def test_a_folder_in_place_of_a_name_is_suggested(firn, tmp_path):
    (tmp_path / "lnk").mkdir()
    (tmp_path / "a.table").mkdir()
    for name in "lnk", "a.table":
        done = start_limited(firn, "describe", name, stdout=subprocess.PIPE, cwd=tmp_path)
        assert done.returncode in (USAGE, NOT_FOUND) and f"./{name}" in done.stderr


def test_undelete_without_marks(firn, lake, table):
    assert "no file of the table is marked" in firn("undelete", full_name(table)).out
    run = firn("undelete", full_name(table), "/nowhere", status=NOT_FOUND)
    assert "no file of the table is marked" in run.err and "_firn_marks" not in run.err


def test_undelete_without_marks_needs_no_writing(firn, lake, table):
    folder = lake.load(table).location().removeprefix("file://") + "/metadata"
    os.chmod(folder, 0o500)
    try:
        firn("undelete", full_name(table))
    finally:
        os.chmod(folder, 0o700)


def test_sort_needs_an_order(firn, table):
    assert "no sort order" in firn("rewrite-data-files", full_name(table), "--strategy", "sort", status=USAGE).err
