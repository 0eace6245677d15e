"""The articles' scenario at 1:100: a day of a stream's commits into a table of card transactions, merge-on-read, by day.

125 commits bring 500 small data files and a file of equality deletes each. The table is kept by the article's CALL statements as they
stand, hour by hour and day by day, and again by `firn maintain`; what both leave is counted without firn and read by other engines.
"""
import datetime
import decimal
import os
import random
import time

import pyarrow.parquet as parquet
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform
from pyiceberg.types import DecimalType, LongType, NestedField, StringType, TimestampType

from articles import ARTICLES, SEEDS, call_blocks, catalog_of_article
from checks import check_files
from engines import path_of, rows_of_duckdb, rows_of_pyiceberg
from firn import Firn
from hand_table import HandTable
from iceberg_files import DATA, EQUALITY_DELETES, files_below, live_files, manifests_of, read_metadata, snapshot_of
from model import Model

pytestmark = pytest.mark.skipif(not os.path.isdir(SEEDS), reason="the articles are not here")

SEED = 14
HOURS, COMMITS_PER_HOUR, FILES_PER_COMMIT, ROWS_PER_FILE, KEYS_PER_COMMIT = 25, 5, 4, 20, 12
ACCOUNTS, KINDS = 300, ["card", "transfer", "fee"]
EPOCH, MONTH_END, DAY = datetime.datetime(1970, 1, 1), datetime.datetime(2026, 6, 30), datetime.datetime(2026, 7, 5)

TXN = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "account_id", LongType(), required=False),
    NestedField(3, "amount", DecimalType(12, 2), required=False),
    NestedField(4, "kind", StringType(), required=False),
    NestedField(5, "created_at", TimestampType(), required=False),
)
BY_DAY = PartitionSpec(PartitionField(5, 1000, DayTransform(), "created_at_day"))


def ms_of(moment):
    return int(moment.replace(tzinfo=datetime.timezone.utc).timestamp() * 1000)


class Place:
    """A catalog of the article's name, as HandTable wants its lake."""

    def __init__(self, folder, name, identifier):
        self.folder, self.catalog = catalog_of_article(folder, name, identifier)
        self.database = f"{self.folder}/catalog.db"

    def load(self, identifier):
        return self.catalog.load_table(identifier)


class Stream:
    """The table, what it should hold, and the hours of its day."""

    def __init__(self, place, identifier):
        self.random = random.Random(SEED)
        self.hand = HandTable(place, identifier, TXN, BY_DAY, **{
            "write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read", "write.merge.mode": "merge-on-read"})
        self.files = self.hand.files
        self.model = Model(TXN)
        self.next_id = 0

    def metadata(self):
        return self.hand.committer.metadata()

    def rows(self, moment, count, ids=None):
        """New transactions, or those of `ids` as they are from now on."""
        rows = []
        for number in range(count):
            rows.append({
                "id": ids[number] if ids else self.next_id,
                "account_id": self.random.randrange(ACCOUNTS),
                "amount": decimal.Decimal(self.random.randrange(10**6)).scaleb(-2),
                "kind": self.random.choice(KINDS),
                "created_at": moment + datetime.timedelta(seconds=self.random.randrange(600), microseconds=number),
            })
            self.next_id += not ids
        return rows

    def commit(self, moment):
        """Some files of new rows; some old rows go, and half of them come again with other amounts."""
        live = [row["id"] for row in self.model.visible() if row["created_at"] >= DAY]
        keys = self.random.sample(live, min(KEYS_PER_COMMIT, len(live)))
        new = [self.rows(moment, ROWS_PER_FILE) for _ in range(FILES_PER_COMMIT)]
        if keys:
            new[0] += self.rows(moment, len(keys) // 2, keys[::2])
        added = [self.files.data(rows) for rows in new]
        if keys:
            added.append(self.files.equality([1], [{"id": key, "created_at": DAY} for key in keys]))
        self.hand.commit(*added, operation="overwrite" if keys else "append")
        gone = set(keys)
        self.model.delete(lambda row: row["id"] in gone)
        self.model.insert([row for rows in new for row in rows])

    def month_end(self):
        rows = self.rows(MONTH_END, 60)
        self.hand.commit(self.files.data(rows), operation="append")
        self.model.insert(rows)

    def hour(self, number):
        """Commits of one hour; the last of them ends the day."""
        for commit in range(COMMITS_PER_HOUR):
            self.commit(DAY + datetime.timedelta(minutes=57 * number + 11 * commit))

    def set_back(self, moment):
        """What was committed since the last call, and seems of now, was committed at that moment."""

        def change(metadata):
            entries = metadata["snapshots"] + metadata.get("snapshot-log", []) + metadata.get("metadata-log", [])
            for entry in entries:
                entry["timestamp-ms"] = min(entry["timestamp-ms"], ms_of(moment))
            metadata["last-updated-ms"] = min(metadata["last-updated-ms"], ms_of(moment))

        self.hand.committer.edit(change)


def cost_of(metadata, account):
    """What a reader opens who wants one account's transactions of the day: counted from the manifests, without any engine."""
    files = [file for file in live_files(metadata) if file["partition"]["created_at_day"] in (DAY.date(), (DAY - EPOCH).days)]

    def may_have(file):
        lower, upper = ({pair["key"]: pair["value"] for pair in file[name] or []}.get(2) for name in ("lower_bounds", "upper_bounds"))
        return lower is None or int.from_bytes(lower, "little", signed=True) <= account <= int.from_bytes(upper, "little", signed=True)

    data = [file for file in files if file["content"] == DATA and may_have(file)]
    deletes = [file for file in files if file["content"] == EQUALITY_DELETES]
    manifests = list(manifests_of(snapshot_of(metadata, metadata["current-snapshot-id"]), path_of))
    return {"manifests": len(manifests), "files": len(data), "deletes": len(deletes),
            "bytes": sum(file["file_size_in_bytes"] for file in data + deletes)}


def stored_bytes(table):
    """Without the metadata.json of every commit, which are other properties' affair."""
    return sum(os.path.getsize(path) for path in files_below(path_of(table.location())) if not path.endswith(".metadata.json"))


def put_stray(table, moment, name):
    """A file that a dead writer left."""
    path = f"{path_of(table.location())}/data/{name}"
    with open(path, "wb") as file:
        file.write(b"left" * 5000)
    os.utime(path, (moment, moment))
    return path


def check_readers(duck, stream):
    table = stream.hand.table
    assert rows_of_pyiceberg(table) == stream.model.canonical()
    assert rows_of_duckdb(duck, table.metadata_location) == stream.model.canonical()


def check_sound(firn):
    report = firn("--quiet", "--output", "json", "verify", "catalog.db.txn").json
    assert not report["broken"] and all(snapshot["readable"] for snapshot in report["snapshots"]), report


def check_sorted(stream):
    """Rows of a file come by account."""
    for file in stream.hand.live(DATA):
        if file["record_count"] > 60:  # not that of the month before
            accounts = parquet.read_table(file["path"], columns=["account_id"]).column(0).to_pylist()
            assert accounts == sorted(accounts)


def check_gain(before, after, stored):
    """What the article promises of files and of a filtered read, in what can be counted."""
    print(f"before {before}, after {after}, stored {stored}")
    assert after["files"] <= before["files"] / 100 and after["deletes"] == 0
    assert after["manifests"] <= before["manifests"] / 10
    assert after["bytes"] < before["bytes"] / 8
    assert stored["after"] < stored["before"]


@pytest.fixture(scope="module")
def neglected(folder):
    """The day without any maintenance."""
    stream = Stream(Place(folder, "catalog", "db.txn"), "db.txn")
    stream.month_end()
    for hour in range(HOURS):
        stream.hour(hour)
    return stream


@pytest.fixture
def kept(folder):
    stream = Stream(Place(folder, "catalog", "db.txn"), "db.txn")
    stream.month_end()
    return stream


def test_the_neglected_table_is_what_the_article_says(duck, neglected):
    live = neglected.hand.live()
    assert sum(file["content"] == DATA for file in live) >= 500 and sum(file["content"] == EQUALITY_DELETES for file in live) >= 120
    assert rows_of_duckdb(duck, neglected.hand.table.metadata_location) == neglected.model.canonical()
    found = Firn(neglected.hand.lake.folder)("--quiet", "--output", "json", "sql", "-e", "SELECT count(*) FROM catalog.db.txn.files").json
    assert found["rows"] == [[len(live)]]


def test_by_the_articles_statements(duck, neglected, kept):
    firn = Firn(kept.hand.lake.folder)
    binpack, by_account, expire, orphans, manifests = call_blocks(ARTICLES[0][0])
    table = kept.hand.table
    strays = [put_stray(table, ms_of(MONTH_END) / 1000, "task-failed.parquet"), put_stray(table, time.time(), "being-written.parquet")]
    kept.set_back(MONTH_END)
    firn("--quiet", "sql", "-e", "ALTER TABLE catalog.db.txn CREATE TAG `2026-06` RETAIN 36500 DAYS")
    for hour in range(HOURS):
        kept.hour(hour)
        firn("--quiet", "sql", "-e", by_account if hour > 0 else binpack)
        kept.set_back(DAY + datetime.timedelta(minutes=57 * hour + 56))
    check_readers(duck, kept)
    check_sorted(kept)
    full = stored_bytes(table)

    before = [snapshot["snapshot-id"] for snapshot in kept.metadata()["snapshots"]]
    assert len(before) >= HOURS * (COMMITS_PER_HOUR + 1)
    firn("--quiet", "sql", "-e", expire)
    metadata = kept.metadata()
    left = {snapshot["snapshot-id"] for snapshot in metadata["snapshots"]}
    assert left == {*before[-10:], metadata["refs"]["2026-06"]["snapshot-id"]}  # retain_last => 10, and the month's end
    firn("--quiet", "sql", "-e", orphans)
    assert [os.path.exists(path) for path in strays] == [False, True]
    firn("--quiet", "sql", "-e", manifests)

    check_readers(duck, kept)
    check_files(kept.hand.table)
    check_sound(firn)
    assert len(rows_of_pyiceberg(kept.hand.table, metadata["refs"]["2026-06"]["snapshot-id"])) == 60
    check_gain(cost_of(neglected.metadata(), 17), cost_of(kept.metadata(), 17),
               {"before": min(full, stored_bytes(neglected.hand.table)), "after": stored_bytes(table)})


def test_by_firn_maintain(duck, neglected, kept):
    firn = Firn(kept.hand.lake.folder)
    table = kept.hand.table
    stray = put_stray(table, ms_of(MONTH_END) / 1000, "task-failed.parquet")
    policy = os.path.join(kept.hand.lake.folder, "firn.yaml")
    with open(policy, "w", encoding="utf-8") as file:
        file.write("""maintain:
  tables:
    db.txn:
      compact: { every: 1h, strategy: sort, sort-order: account_id ASC NULLS LAST }
      manifests: { min-count: 2 }
      expire: { older-than: 0s, retain-last: 10 }
      orphans: { mode: delete }
      sample: { where: "created_at >= TIMESTAMP '2026-07-05 00:00:00' AND account_id = 17" }
""")

    def maintain(*arguments):
        return firn("--quiet", "--output", "json", "maintain", "catalog.db.txn", "--policy", policy, *arguments).json

    firn("--quiet", "sql", "-e", "ALTER TABLE catalog.db.txn CREATE TAG `2026-06` RETAIN 36500 DAYS")
    for hour in range(HOURS):
        kept.hour(hour)
        report = maintain("--force", "--steps", "compact")
        assert report["status"] == "done"
    again = maintain("--force", "--steps", "compact")
    assert {step["step"]: step["status"] for step in again["steps"]}["compact"] == "nothing to do"
    full = stored_bytes(table)
    report = maintain("--force")
    assert report["status"] == "done" and not os.path.exists(stray)

    check_readers(duck, kept)
    check_sorted(kept)
    check_files(kept.hand.table)
    check_sound(firn)
    metadata = kept.metadata()
    assert len(rows_of_pyiceberg(kept.hand.table, metadata["refs"]["2026-06"]["snapshot-id"])) == 60
    assert len(metadata["snapshots"]) <= 12
    cost = cost_of(metadata, 17)
    assert report["after"]["sample_files"] == cost["files"] and report["after"]["sample_bytes"] == cost["bytes"]
    check_gain(cost_of(neglected.metadata(), 17), cost, {"before": min(full, stored_bytes(neglected.hand.table)), "after": stored_bytes(table)})
