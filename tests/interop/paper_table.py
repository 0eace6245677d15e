"""Tables of metadata alone: entries of files that are not there, of any size, with a history that nobody lived through."""
import random
import uuid

from pyiceberg.conversions import to_bytes
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from hand_table import HandTable
from iceberg_files import DATA, EQUALITY_DELETES, POSITION_DELETES

MIB = 1 << 20
DAY_MS = 86_400_000

EVENTS = Schema(NestedField(1, "account_id", LongType(), required=True), NestedField(2, "day", StringType(), required=False),
                NestedField(3, "amount", IntegerType(), required=False), NestedField(4, "note", StringType(), required=False),
                identifier_field_ids=[1])
BY_DAY = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "day"), spec_id=0)


def paper_table(lake, identifier, schema=EVENTS, spec=BY_DAY, **properties):
    table = HandTable(lake, identifier, schema, spec, **properties)
    table.folder = table.table.location()
    return table


def pairs(numbers):
    return [{"key": key, "value": value} for key, value in numbers.items()]


def entry(table, day, size, low=None, high=None, content=DATA, rows=None, **more):
    """An entry of a file of `size` bytes; accounts from `low` to `high` are in it."""
    rows = rows or max(size // 200, 1)
    bounds = {} if low is None else {
        "lower_bounds": pairs({1: to_bytes(LongType(), low)}), "upper_bounds": pairs({1: to_bytes(LongType(), high)})}
    return {
        "content": content, "file_path": f"{table.folder}/data/{uuid.uuid4()}.parquet", "file_format": "PARQUET",
        "partition": {"day": day}, "record_count": rows, "file_size_in_bytes": size, "sort_order_id": 0, "spec_id": 0,
        "column_sizes": pairs({1: size // 2, 2: size // 50, 3: size // 5, 4: size // 4}),
        "value_counts": pairs(dict.fromkeys((1, 2, 3, 4), rows)), "null_value_counts": pairs({1: 0, 2: 0, 3: 0, 4: rows // 10}),
        **bounds, **more,
    }


def equality_delete(table, day, rows=100):
    return entry(table, day, 4096, content=EQUALITY_DELETES, rows=rows, equality_ids=[1])


def position_delete(table, day, rows=100):
    return entry(table, day, 4096, content=POSITION_DELETES, rows=rows, sort_order_id=None)


def live_through(table, commits, every_ms, writer="flink", seed=7):
    """Puts `commits` older snapshots before the current one, of which every 60th compacts; all list the same files."""
    draw = random.Random(seed)

    def change(metadata):
        last = metadata["snapshots"][-1]
        summary, files, size, deletes, chain = last["summary"], 40, 40 * 64 * MIB, 0, []
        for number in range(commits):
            compacts = number % 60 == 59
            added = 1 if compacts else draw.randint(4, 12)
            files, size = (files // 6, size) if compacts else (files + added, size + added * 900_000)
            deletes = 0 if compacts else deletes + draw.randint(0, 2)
            chain.append({
                **last, "snapshot-id": number + 1, "sequence-number": 1,
                "timestamp-ms": last["timestamp-ms"] - (commits - number) * every_ms + draw.randint(0, every_ms // 4),
                "summary": {"operation": "replace" if compacts else "append", "engine-name": "firn" if compacts else writer,
                            "added-data-files": str(added), "added-files-size": str(added * 900_000),
                            "total-data-files": str(files), "total-files-size": str(size), "total-delete-files": str(deletes),
                            "total-records": str(size // 200)},
            })
            chain[-1].pop("parent-snapshot-id", None)
            if number > 0:
                chain[-1]["parent-snapshot-id"] = number
        summary["engine-name"] = writer
        last["parent-snapshot-id"] = commits
        last["sequence-number"] = metadata["last-sequence-number"]
        metadata["snapshots"] = [*chain, last]
        metadata["snapshot-log"] = [{"snapshot-id": snapshot["snapshot-id"], "timestamp-ms": snapshot["timestamp-ms"]}
                                    for snapshot in metadata["snapshots"]]

    table.committer.edit(change)


def sick_table(lake, identifier):
    """A month of a streaming job that nobody compacts."""
    draw = random.Random(1)
    table = paper_table(lake, identifier)
    days = [f"2026-10-{day:02d}" for day in range(1, 31)]
    files = []
    for at, day in enumerate(days):
        for _ in range(draw.randint(30, 120) if at < 28 else 700):
            low = draw.randrange(1_000_000)
            files.append(entry(table, day, int(50_000 * 2 ** draw.uniform(0, 6)), low, low + draw.randrange(600_000)))
        files += [entry(table, day, draw.randint(300, 520) * MIB, 0, 1_000_000) for _ in range(2)]
    table.commit(files, operation="append")
    table.commit([equality_delete(table, day) for day in days for _ in range(8)],
                 [position_delete(table, day) for day in days for _ in range(3)])
    live_through(table, 700, 3_600_000)
    return table


def healthy_table(lake, identifier):
    draw = random.Random(2)
    table = paper_table(lake, identifier)
    files = []
    for day in (f"2026-11-{day:02d}" for day in range(1, 25)):
        for part in range(draw.randint(3, 5)):
            files.append(entry(table, day, draw.randint(420, 560) * MIB, part * 1000, part * 1000 + 999))
    table.commit(files, operation="append")
    live_through(table, 40, 3 * 3_600_000, writer="spark")
    return table


def wide_table(lake, identifier, partitions=5000):
    """Far too many partitions."""
    draw = random.Random(3)
    table = paper_table(lake, identifier)
    table.commit([entry(table, f"tenant-{number:05d}", draw.randint(20_000, 2_000_000), 0, 1_000_000)
                  for number in range(partitions) for _ in range(1 + (number % 97 == 0) * draw.randint(1, 40))], operation="append")
    return table
