"""For the same table and the same call, firn and Spark let the same snapshots go, delete the same files and print the same
counts; and the procedures on references do the same."""
import datetime
import json
import os
import random
import time

import pytest

from engines import path_of, rows_of_spark
from firn import FAILED, NOT_FOUND, OK, USAGE
from iceberg_files import live_files, read_metadata
from lake import full_name
from seeds import first_seed
from twice import Twice, refs_of

FIRST_SEED = first_seed(3000)
COUNTS = [f"deleted_{what}_count" for what in (
    "data_files", "position_delete_files", "equality_delete_files", "manifest_files", "manifest_lists", "statistics_files")]


def timestamp_of(ms):
    moment = datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{ms % 1000:03}"


def make_history(spark, identifier, version):
    """Appends, merge-on-read deletes, an overwritten partition, a compaction, a branch, a tag and a rollback."""
    name = full_name(identifier)

    def run(statement):
        time.sleep(0.02)  # so that no two snapshots are of one millisecond
        return spark.sql(statement).collect()

    def insert(target, first):
        run(f"INSERT INTO {target} SELECT id, CASE WHEN id % 2 = 0 THEN 'a' ELSE 'b' END FROM range({first}, {first + 20}, 1, 1)")

    run(f"CREATE TABLE {name} (id BIGINT, p STRING) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ("
        f"'format-version' = '{version}', 'write.delete.mode' = 'merge-on-read', 'commit.manifest.min-count-to-merge' = '3')")
    for first in (0, 20):
        insert(name, first)
    run(f"CALL lake.system.compute_table_stats(table => '{identifier}')")
    run(f"ALTER TABLE {name} CREATE TAG early")
    run(f"DELETE FROM {name} WHERE id % 5 = 0")
    run(f"ALTER TABLE {name} CREATE BRANCH dev")
    insert(f"{name}.branch_dev", 40)
    insert(name, 60)
    run(f"INSERT OVERWRITE {name} PARTITION (p = 'a') VALUES (CAST(1000 AS BIGINT))")
    run(f"ALTER TABLE {name} ADD COLUMN v INT")
    run(f"CALL lake.system.rewrite_data_files(table => '{identifier}', options => map('rewrite-all', 'true'))")
    kept = run(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at DESC LIMIT 1")[0][0]
    run(f"INSERT INTO {name} SELECT id, 'a', 1 FROM range(80, 90, 1, 1)")
    run(f"CALL lake.system.rollback_to_snapshot('{identifier}', {kept})")
    run(f"ALTER TABLE {name} ADD PARTITION FIELD bucket(4, id)")
    run(f"INSERT INTO {name} SELECT id, 'b', 1 FROM range(90, 100, 1, 1)")
    run(f"CALL lake.system.compute_table_stats(table => '{identifier}')")


@pytest.fixture(scope="module", params=[2, 3])
def twice(request, lake, spark):
    identifier = f"{lake.new_namespace()}.history"
    make_history(spark, identifier, request.param)
    return Twice(lake, identifier)


# Statements that prepare the table, then the call. `older_than` and `snapshot_ids` name snapshots by place, oldest first.
EXPIRY = {
    "defaults": ([], {}),
    "everything_old": ([], {"older_than": 99}),
    "half": ([], {"older_than": 4}),
    "half_and_last_three": ([], {"older_than": 99, "retain_last": 3}),
    "last_two": ([], {"older_than": 6, "retain_last": 2}),
    "by_id": ([], {"snapshot_ids": [0, 4]}),
    "by_id_and_age": ([], {"older_than": 3, "snapshot_ids": [5]}),
    "unknown_id": ([], {"snapshot_ids": [0, 12345]}),
    "concurrent": ([], {"older_than": 99, "max_concurrent_deletes": 3}),
    "streamed": ([], {"older_than": 99, "stream_results": True}),
    "clean_metadata": ([], {"older_than": 99, "clean_expired_metadata": True}),
    "clean_metadata_only": ([], {"clean_expired_metadata": True}),
    "branch_keeps": (["CREATE OR REPLACE BRANCH dev RETAIN 1000 DAYS WITH SNAPSHOT RETENTION 2 SNAPSHOTS 1000 DAYS"],
                     {"older_than": 99}),
    "branch_keeps_by_number": (["REPLACE BRANCH dev WITH SNAPSHOT RETENTION 2 SNAPSHOTS"], {"older_than": 99}),
    "table_age": (["SET TBLPROPERTIES ('history.expire.max-snapshot-age-ms' = '1')"], {}),
    "table_number": (["SET TBLPROPERTIES ('history.expire.max-snapshot-age-ms' = '1', "
                      "'history.expire.min-snapshots-to-keep' = '4')"], {}),
    "old_references": (["SET TBLPROPERTIES ('history.expire.max-ref-age-ms' = '1')"], {"older_than": 99}),
    "no_references": (["DROP BRANCH dev", "DROP TAG early"], {"older_than": 99}),
    "branch_age": (["REPLACE BRANCH dev WITH SNAPSHOT RETENTION 1000 DAYS"], {"older_than": 99}),
    "old_tag": (["CREATE OR REPLACE TAG early RETAIN 1 MINUTES"], {"older_than": 99}),
    "retain_all": ([], {"older_than": 99, "retain_last": 2147483647}),
    "retain_none": ([], {"older_than": 99, "retain_last": 0}),
    "no_deletes": ([], {"older_than": 99, "max_concurrent_deletes": 0}),
    "head_by_id": ([], {"snapshot_ids": [-1]}),
    "tag_by_id": ([], {"snapshot_ids": [1]}),
    "gc_disabled": (["SET TBLPROPERTIES ('gc.enabled' = 'false')"], {"older_than": 99}),
}


def resolve(metadata, arguments):
    """Arguments with times and ids in place of places."""
    snapshots = sorted(metadata["snapshots"], key=lambda snapshot: snapshot["timestamp-ms"])
    resolved = dict(arguments)
    if "older_than" in resolved:
        place = resolved["older_than"]
        ms = snapshots[place]["timestamp-ms"] if place < len(snapshots) else snapshots[-1]["timestamp-ms"] + 3600000
        resolved["older_than"] = timestamp_of(ms)
    if "snapshot_ids" in resolved:
        resolved["snapshot_ids"] = [snapshots[place]["snapshot-id"] if place < len(snapshots) else place
                                    for place in resolved["snapshot_ids"]]
    return resolved


def by_spark(spark, arguments):
    def literal(name, value):
        if name == "older_than":
            return f"TIMESTAMP '{value}'"
        if name == "snapshot_ids":
            return "array(" + ", ".join(f"{item}L" for item in value) + ")"
        return str(value).lower()

    def call(name):
        given = "".join(f", {key} => {literal(key, value)}" for key, value in arguments.items())
        try:
            row = spark.sql(f"CALL lake.system.expire_snapshots(table => '{name.split('.', 1)[1]}'{given})").collect()[0]
        except Exception as problem:  # whatever Spark raises
            return str(problem).split("\n", 1)[0]
        return {count: row[count] for count in COUNTS}
    return call


def by_firn(firn, arguments):
    given = []
    for key, value in arguments.items():
        given.append("--" + key.replace("_", "-"))
        if value is not True:
            given.append(",".join(map(str, value)) if isinstance(value, list) else str(value))

    def call(name):
        run = firn("--quiet", "--output", "json", "expire-snapshots", name, *given, status=(OK, FAILED, USAGE))
        return {count: run.json[count] for count in COUNTS} if run.status == OK else run.err
    return call


def state_of(metadata):
    """What of the metadata must be the same afterwards."""
    return {
        "snapshots": {snapshot["snapshot-id"] for snapshot in metadata["snapshots"]},
        "refs": refs_of(metadata),
        "log": metadata.get("snapshot-log"),
        "statistics": sorted(file["snapshot-id"] for file in metadata.get("statistics", [])),
        "specs": sorted(spec["spec-id"] for spec in metadata["partition-specs"]),
        "schemas": sorted(schema["schema-id"] for schema in metadata["schemas"]),
    }


def prepare(spark, twice, statements):
    """Runs statements on the table; gives how to take them back."""
    saved = twice.pointer
    for statement in statements:
        spark.sql(f"ALTER TABLE {full_name(twice.identifier)} {statement}")
    twice.pointer = twice.location()
    return saved


@pytest.mark.parametrize("case", EXPIRY)
def test_the_same_expiry(spark, firn, twice, case):
    statements, arguments = EXPIRY[case]
    saved = prepare(spark, twice, statements)
    twice.save()
    try:
        arguments = resolve(twice.metadata(), arguments)
        expected, spark_metadata, spark_deleted = twice.run(by_spark(spark, arguments))
        found, firn_metadata, firn_deleted = twice.run(by_firn(firn, arguments))
        if isinstance(expected, str):
            assert isinstance(found, str), f"Spark: {expected}; firn: {found}"
            assert not spark_deleted and not firn_deleted
        else:
            assert found == expected
            assert case != "no_references" or all(found[count] > 0 for count in COUNTS if "equality" not in count)
        assert state_of(firn_metadata) == state_of(spark_metadata)
        assert firn_deleted == spark_deleted
    finally:
        twice.pointer = saved
        twice.restore()
        twice.save()


def test_every_remaining_snapshot_reads(spark, firn, lake, twice):
    """Also what a tag alone holds; then back to it: the rollback drill."""
    name = full_name(twice.identifier)
    early = twice.metadata()["refs"]["early"]["snapshot-id"]

    def rows(version=""):
        return sorted(map(tuple, spark.sql(f"SELECT id, p FROM {name}{version}").collect()))

    before = rows(f" VERSION AS OF {early}")
    try:
        firn("--quiet", "expire-snapshots", name, "--older-than", "0s")
        left = [snapshot["snapshot-id"] for snapshot in twice.metadata()["snapshots"]]
        assert early in left
        for snapshot_id in left:
            rows_of_spark(spark, twice.identifier, snapshot_id)
        firn("set-current-snapshot", name, "--ref", "early")
        assert rows() == before
    finally:
        twice.restore()


def test_killed_at_any_time(firn, lake, twice):
    """Whenever it is killed, every snapshot that is left has all its files; another run completes."""
    name = full_name(twice.identifier)
    start = time.monotonic()
    twice.run(lambda _: firn("--quiet", "expire-snapshots", name, "--older-than", "0s"))
    took = time.monotonic() - start
    kills = 12
    for place in range(kills):
        process = firn.start("--quiet", "expire-snapshots", name, "--older-than", "0s")
        time.sleep(took * place / kills)
        process.kill()
        process.communicate()
        metadata = twice.metadata()
        for snapshot in metadata["snapshots"]:
            for entry in live_files(metadata, snapshot_id=snapshot["snapshot-id"]):
                assert os.path.exists(path_of(entry["file_path"])), f"after {place} of {kills}: {entry['file_path']} is missing"
        assert lake.load(twice.identifier).scan().to_arrow().num_rows > 0
        firn("--quiet", "expire-snapshots", name, "--older-than", "0s")
        assert len(twice.metadata()["snapshots"]) < 5
        twice.restore()


def random_step(rng, name, identifier, ids):
    """One statement of a random history."""
    day = rng.choice("ab")
    first = rng.randrange(1000)
    return rng.choice([
        f"INSERT INTO {name} SELECT id, '{day}' FROM range({first}, {first + 5}, 1, 1)",
        f"INSERT INTO {name} SELECT id, '{day}' FROM range({first}, {first + 5}, 1, 1)",
        f"DELETE FROM {name} WHERE id % {rng.randrange(2, 7)} = 0",
        f"DELETE FROM {name} WHERE p = '{day}'",
        f"INSERT OVERWRITE {name} PARTITION (p = '{day}') VALUES (CAST({first} AS BIGINT))",
        f"CALL lake.system.rewrite_data_files(table => '{identifier}', options => map('rewrite-all', 'true'))",
        f"ALTER TABLE {name} CREATE OR REPLACE BRANCH dev AS OF VERSION {rng.choice(ids)}",
        f"ALTER TABLE {name} CREATE OR REPLACE BRANCH dev AS OF VERSION {rng.choice(ids)} RETAIN 10 DAYS "
        f"WITH SNAPSHOT RETENTION {rng.randrange(1, 4)} SNAPSHOTS 1 MINUTES",
        f"ALTER TABLE {name} CREATE OR REPLACE TAG t{rng.randrange(2)} AS OF VERSION {rng.choice(ids)}",
        f"CALL lake.system.set_current_snapshot('{identifier}', {rng.choice(ids)})",
        f"CALL lake.system.compute_table_stats(table => '{identifier}')",
    ])


def let_snapshots_age_at_once(lake, identifier):
    """SQL takes no less than "1 MINUTES": whether a snapshot is older than that would depend on how long the test takes."""
    path = path_of(lake.load(identifier).metadata_location)
    metadata = read_metadata(path)
    for ref in metadata["refs"].values():
        if "max-snapshot-age-ms" in ref:
            ref["max-snapshot-age-ms"] = 1
    with open(path, "w", encoding="utf-8") as file:
        json.dump(metadata, file)
    checksum = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.crc")
    if os.path.exists(checksum):
        os.remove(checksum)


def random_arguments(rng, count):
    arguments = {"older_than": rng.randrange(count + 1)}
    if rng.randrange(2):
        arguments["retain_last"] = rng.randrange(1, 4)
    if rng.randrange(3) == 0:
        arguments["snapshot_ids"] = rng.sample(range(count), min(2, count))
    if rng.randrange(3) == 0:
        arguments["clean_expired_metadata"] = True
    return arguments


def strays_around(rng, folder):
    """Files that nothing refers to, and all others, older than the age guard of orphan removal."""
    for number in range(12):
        place = rng.choice(["data", "data/p=a", "data/p=new", "metadata", "data/_hidden", "deep/er"])
        os.makedirs(os.path.join(folder, place), exist_ok=True)
        with open(os.path.join(folder, place, f"stray-{number}"), "w", encoding="utf-8") as file:
            file.write("stray")
    moment = time.time() - 10 * 86400
    for root, _, names in os.walk(folder):
        for name in names:
            os.utime(os.path.join(root, name), (moment, moment))


def orphans_of_both(spark, firn, twice):
    """What each calls an orphan, and what it deletes."""
    def spark_orphans(_):
        rows = spark.sql(f"CALL lake.system.remove_orphan_files(table => '{twice.identifier}')").collect()
        return sorted(path_of(row[0]) for row in rows)

    def firn_orphans(name):
        rows = firn("--quiet", "--output", "json", "remove-orphan-files", name).json["orphan_files"]
        return sorted(path_of(row["orphan_file_location"]) for row in rows)

    return [(found, deleted) for found, _, deleted in (twice.run(spark_orphans), twice.run(firn_orphans))]


@pytest.mark.parametrize("run", range(int(os.environ.get("FIRN_PROPERTY_RUNS") or 2)))
def test_random_histories(spark, firn, lake, run):
    seed = FIRST_SEED + run
    rng = random.Random(seed)
    identifier = f"{lake.new_namespace()}.random"
    name = full_name(identifier)
    spark.sql(f"CREATE TABLE {name} (id BIGINT, p STRING) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('format-version' = "
              f"'{rng.choice((2, 3))}', 'write.delete.mode' = 'merge-on-read', 'commit.manifest.min-count-to-merge' = '3')")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a')")
    for _ in range(14):
        ids = [row[0] for row in spark.sql(f"SELECT snapshot_id FROM {name}.snapshots").collect()]
        time.sleep(0.02)
        spark.sql(random_step(rng, name, identifier, ids))
    let_snapshots_age_at_once(lake, identifier)
    twice = Twice(lake, identifier)
    snapshots = twice.metadata()["snapshots"]
    for _ in range(4):
        arguments = resolve(twice.metadata(), random_arguments(rng, len(snapshots)))
        expected, spark_metadata, spark_deleted = twice.run(by_spark(spark, arguments))
        found, firn_metadata, firn_deleted = twice.run(by_firn(firn, arguments))
        assert isinstance(found, str) == isinstance(expected, str), f"seed {seed}: {arguments}: {expected}; {found}"
        assert isinstance(found, str) or found == expected, f"seed {seed}: {arguments}"
        assert firn_deleted == spark_deleted, f"seed {seed}: {arguments}"
        assert state_of(firn_metadata) == state_of(spark_metadata), f"seed {seed}: {arguments}"
    strays_around(rng, twice.folder)
    twice.save()
    by_spark_found, by_firn_found = orphans_of_both(spark, firn, twice)
    assert by_firn_found == by_spark_found and len(by_firn_found[1]) > 0, f"seed {seed}"


# Procedures on references: CALL arguments and firn's. {0} is the oldest snapshot, {-1} the current one.
PROCEDURES = {
    "rollback": ("rollback_to_snapshot('{table}', {1})", "rollback-to-snapshot {1}"),
    "rollback_to_current": ("rollback_to_snapshot('{table}', {-1})", "rollback-to-snapshot {-1}"),
    "rollback_beside": ("rollback_to_snapshot('{table}', {3})", "rollback-to-snapshot {3}"),
    "rollback_unknown": ("rollback_to_snapshot('{table}', 5)", "rollback-to-snapshot 5"),
    "rollback_time": ("rollback_to_timestamp('{table}', TIMESTAMP '{time2}')", "rollback-to-timestamp {time2}"),
    "rollback_time_too_old": ("rollback_to_timestamp('{table}', TIMESTAMP '{time0}')", "rollback-to-timestamp {time0}"),
    "set_id": ("set_current_snapshot('{table}', {3})", "set-current-snapshot --snapshot-id {3}"),
    "set_ref": ("set_current_snapshot(table => '{table}', ref => 'dev')", "set-current-snapshot --ref dev"),
    "set_both": ("set_current_snapshot(table => '{table}', snapshot_id => {1}, ref => 'dev')",
                 "set-current-snapshot --snapshot-id {1} --ref dev"),
    "set_neither": ("set_current_snapshot(table => '{table}')", "set-current-snapshot"),
    "set_unknown": ("set_current_snapshot(table => '{table}', ref => 'nobody')", "set-current-snapshot --ref nobody"),
    "forward_diverged": ("fast_forward('{table}', 'main', 'dev')", "fast-forward main dev"),
    "forward_new": ("fast_forward('{table}', 'fresh', 'dev')", "fast-forward fresh dev"),
    "forward_tag": ("fast_forward('{table}', 'early', 'main')", "fast-forward early main"),
    "forward_unknown": ("fast_forward('{table}', 'main', 'nobody')", "fast-forward main nobody"),
    "forward_equal": ("fast_forward('{table}', 'main', 'main')", "fast-forward main main"),
    "pick_append": ("cherrypick_snapshot('{table}', {3})", "cherrypick-snapshot {3}"),
    "pick_ancestor": ("cherrypick_snapshot('{table}', {0})", "cherrypick-snapshot {0}"),
    "pick_unknown": ("cherrypick_snapshot('{table}', 5)", "cherrypick-snapshot 5"),
    "publish_unknown": ("publish_changes('{table}', 'nothing')", "publish-changes nothing"),
    "ancestors": ("ancestors_of('{table}')", "ancestors-of"),
    "ancestors_of_one": ("ancestors_of('{table}', {3})", "ancestors-of {3}"),
    "ancestors_of_unknown": ("ancestors_of('{table}', 5)", "ancestors-of 5"),
}
STATEMENTS = {
    "create_branch": ("CREATE BRANCH b", "create-branch b"),
    "create_branch_of": ("CREATE BRANCH b AS OF VERSION {1} RETAIN 7 DAYS WITH SNAPSHOT RETENTION 3 SNAPSHOTS 2 HOURS",
                         "create-branch b --as-of-version {1} --retain 7d --snapshot-retention '3 snapshots 2h'"),
    "create_taken": ("CREATE BRANCH dev", "create-branch dev"),
    "create_taken_by_tag": ("CREATE BRANCH early", "create-branch early"),
    "create_if_not_exists": ("CREATE BRANCH IF NOT EXISTS dev", "create-branch dev --if-not-exists"),
    "create_or_replace": ("CREATE OR REPLACE BRANCH dev RETAIN 1 DAYS", "create-branch dev --or-replace --retain 1d"),
    "replace": ("REPLACE BRANCH dev AS OF VERSION {0}", "create-branch dev --replace --as-of-version {0}"),
    "replace_missing": ("REPLACE BRANCH b", "create-branch b --replace"),
    "replace_other_kind": ("REPLACE TAG dev", "create-tag dev --replace"),
    "create_tag": ("CREATE TAG t RETAIN 90 MINUTES", "create-tag t --retain 90m"),
    "create_tag_unknown": ("CREATE TAG t AS OF VERSION 5", "create-tag t --as-of-version 5"),
    "drop_branch": ("DROP BRANCH dev", "drop-branch dev"),
    "drop_missing": ("DROP BRANCH b", "drop-branch b"),
    "drop_if_exists": ("DROP BRANCH IF EXISTS b", "drop-branch b --if-exists"),
    "drop_other_kind": ("DROP TAG dev", "drop-tag dev"),
    "drop_main": ("DROP BRANCH main", "drop-branch main"),
    "drop_tag": ("DROP TAG early", "drop-tag early"),
}


def fill(template, twice):
    snapshots = sorted(twice.metadata()["snapshots"], key=lambda snapshot: snapshot["timestamp-ms"])
    current = twice.metadata()["current-snapshot-id"]
    values = {"table": twice.identifier, "-1": current}
    for place, snapshot in enumerate(snapshots):
        values[str(place)] = snapshot["snapshot-id"]
        values[f"time{place}"] = timestamp_of(snapshot["timestamp-ms"])
    for key, value in values.items():
        template = template.replace("{" + key + "}", str(value))
    return template


def firn_call(firn, line):
    """Times have a blank, quoted texts too."""
    command, _, rest = line.partition(" ")
    arguments, quoted = [], rest.split("'")
    for place, part in enumerate(quoted):
        arguments.extend([part] if place % 2 else part.split())
    if command == "rollback-to-timestamp":
        arguments = [rest]

    def call(name):
        run = firn("--output", "json", command, name, *arguments, status=(OK, FAILED, USAGE, NOT_FOUND))
        return run.json if run.status == OK else run.err
    return call


def spark_call(spark, statement):
    def call(_):
        try:
            return [row.asDict() for row in spark.sql(statement).collect()]
        except Exception as problem:  # whatever Spark raises
            return str(problem).split("\n", 1)[0]
    return call


def check_same(twice, by_spark_call, by_firn_call):
    """Same outcome, same references; snapshots that each made itself are compared by what they hold."""
    old = {snapshot["snapshot-id"] for snapshot in twice.metadata()["snapshots"]}
    expected, spark_metadata, _ = twice.run(by_spark_call)
    found, firn_metadata, _ = twice.run(by_firn_call)
    assert isinstance(expected, str) == isinstance(found, str), f"Spark: {expected}; firn: {found}"

    def known(value):
        is_id = isinstance(value, int) and value > 2 * 10**12  # larger than any time or age
        return "new" if is_id and value not in old else value

    def plain(refs):
        return {name: {key: known(value) for key, value in ref.items()} for name, ref in refs.items()}

    assert plain(refs_of(firn_metadata)) == plain(refs_of(spark_metadata))
    assert len(firn_metadata["snapshots"]) == len(spark_metadata["snapshots"])
    new = [[snapshot for snapshot in metadata["snapshots"] if snapshot["snapshot-id"] not in old]
           for metadata in (firn_metadata, spark_metadata)]
    for ours, theirs in zip(*new):
        for key in ("operation", "source-snapshot-id", "added-data-files", "added-records", "total-data-files", "total-records"):
            assert ours["summary"].get(key) == theirs["summary"].get(key), key
        assert ours.get("parent-snapshot-id") == theirs.get("parent-snapshot-id")
    return expected, found, known


@pytest.mark.parametrize("twice", [2], indirect=True)
@pytest.mark.parametrize("case", PROCEDURES)
def test_the_same_procedure(spark, firn, twice, case):
    call, line = (fill(text, twice) for text in PROCEDURES[case])
    expected, found, known = check_same(twice, spark_call(spark, f"CALL lake.system.{call}"), firn_call(firn, line))
    if not isinstance(expected, str):
        rows = found if isinstance(found, list) else [found]
        assert [{key: known(value) for key, value in row.items()} for row in rows] == \
            [{key: known(value) for key, value in row.items()} for row in expected]


@pytest.mark.parametrize("twice", [2], indirect=True)
@pytest.mark.parametrize("case", STATEMENTS)
def test_the_same_statement(spark, firn, twice, case):
    statement, line = (fill(text, twice) for text in STATEMENTS[case])
    check_same(twice, spark_call(spark, f"ALTER TABLE {full_name(twice.identifier)} {statement}"), firn_call(firn, line))


def test_a_branch_on_an_empty_table(spark, firn, lake):
    identifier = f"{lake.new_namespace()}.empty"
    spark.sql(f"CREATE TABLE {full_name(identifier)} (id BIGINT) USING iceberg")
    twice = Twice(lake, identifier)
    for statement, line in (("CREATE BRANCH b RETAIN 2 DAYS", "create-branch b --retain 2d"), ("CREATE TAG t", "create-tag t"),
                            ("REPLACE BRANCH b", "create-branch b --replace")):
        check_same(twice, spark_call(spark, f"ALTER TABLE {full_name(identifier)} {statement}"), firn_call(firn, line))


def reading(call, twice, found):
    """The call, after which the sequence number and row ids of every live file are put into `found`."""
    def call_and_read(name):
        result = call(name)
        found.append(sorted((file["file_path"], file["sequence_number"], file.get("first_row_id")) for file in live_files(twice.metadata())))
        return result
    return call_and_read


@pytest.mark.parametrize("version", [2, 3])
def test_staged_writes(spark, firn, lake, version):
    """Write-audit-publish: what was staged beside main is published as Spark does it."""
    identifier = f"{lake.new_namespace()}.staged"
    name = full_name(identifier)
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING iceberg TBLPROPERTIES ('write.wap.enabled' = 'true', 'format-version' = '{version}')")
    spark.sql(f"INSERT INTO {name} VALUES (1)")
    for wap_id in ("next", "beside"):
        spark.conf.set("spark.wap.id", wap_id)
        spark.sql(f"INSERT INTO {name} VALUES ({len(wap_id)})")
    spark.conf.unset("spark.wap.id")
    twice = Twice(lake, identifier)
    for wap_id in ("next", "beside"):
        ids = []
        check_same(twice, reading(spark_call(spark, f"CALL lake.system.publish_changes('{identifier}', '{wap_id}')"), twice, ids),
                   reading(firn_call(firn, f"publish-changes {wap_id}"), twice, ids))
        assert ids[0] == ids[1], wap_id
    firn("publish-changes", name, "next")
    firn("publish-changes", name, "beside")
    assert sorted(row[0] for row in spark.table(name).collect()) == [1, 4, 6]
    firn("publish-changes", name, "beside", status=USAGE)
