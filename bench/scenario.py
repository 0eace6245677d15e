#!/usr/bin/env python3
"""A day of a stream's commits, as the articles have it, and the maintenance it gets: files, planning, a filtered read and storage before
and after, and what each job takes; see README.md.

usage: FIRN=path scenario.py --cache DIR [--files N] [--commits N] [--distinct N] [--keys N] [--strategy sort|binpack] [--memory SIZE]
                             [--limit SECONDS] [--json FILE] [--keep]
"""
import argparse
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor

from deletes import ENTRY, LIST
from measure import INTEROP, MB, THREADS, Measure, parse_and_make

SEED = 20260705
SMALLEST, GREATEST = 50_000, 2_000_000
ROW_BYTES = 36  # what a row takes in zstd, roughly
ACCOUNTS = 100_000
ACCOUNT = 4711
DAY = 20639  # 2026-07-05
DAY_MS = DAY * 86_400_000
MERGE_MANIFESTS = 100  # commit.manifest.min-count-to-merge
COLUMNS = {  # field id and what a row holds, over its number `id`
    "id": (1, "id"),
    "created_at": (2, f"make_timestamp({DAY_MS * 1000} + id * 7919 % 86400000000)"),
    "account_id": (3, f"(hash(id, {SEED}) % {ACCOUNTS})::BIGINT"),
    "amount": (4, "(hash(id, 2) % 10000000 / 100)::DECIMAL(12, 2)"),
    "kind": (5, "['card', 'transfer', 'fee', 'interest'][1 + (hash(id, 3) % 4)::INTEGER]"),
    "reference": (6, "md5(id::VARCHAR)"),
}
WHERE = f"account_id = {ACCOUNT} AND created_at >= TIMESTAMP '2026-07-05 00:00:00' AND created_at < TIMESTAMP '2026-07-06 00:00:00'"
TYPES = ["long", "timestamp", "long", "decimal(12, 2)", "string", "string"]
SCHEMA = {"type": "struct", "schema-id": 0, "fields": [
    {"id": number, "name": name, "required": False, "type": kind} for (name, (number, _)), kind in zip(COLUMNS.items(), TYPES)]}
SPEC = {"spec-id": 0, "fields": [{"source-id": 2, "field-id": 1000, "name": "created_at_day", "transform": "day"}]}
ENTRY_BY_DAY = json.loads(json.dumps(ENTRY).replace('"ts_day"', '"created_at_day"'))

DUCKDB_READ = f"""
import json, sys, time
sys.path.insert(0, {INTEROP!r})
import engines
connection = engines.start_duckdb()
connection.execute("SET threads = {THREADS}; SET enable_progress_bar = false")
where = "WHERE {WHERE}"
table = f"iceberg_scan('{{sys.argv[1]}}')" if sys.argv[1].endswith(".metadata.json") else f"read_parquet({{json.load(open(sys.argv[1]))}})"
start = time.monotonic()
count, total = connection.execute(f"SELECT count(*), sum(amount) FROM {{table}} {{where}}").fetchone()
json.dump({{"seconds": time.monotonic() - start, "rows": count, "sum": str(total)}}, open(sys.argv[2], "w"))
"""


class Stream:
    """The table in a folder of its own, without a catalog: metadata is vN.metadata.json.

    Of the data files only some hundred are distinct, and so are the delete files; the others are hard links to these. So their rows
    come again and again, and everything that the manifests say of each of them is true.
    """

    def __init__(self, arguments):
        self.arguments = arguments
        name = f"scenario_{arguments.files}_{arguments.commits}_{arguments.distinct}_{arguments.keys}"
        self.folder = os.path.join(os.path.abspath(arguments.cache), "warehouse", "bench", name)
        self.data, self.metadata, self.distinct = (os.path.join(self.folder, part) for part in ("data", "metadata", "distinct"))
        self.random = random.Random(SEED)

    # Generating -----------------------------------------------------------------------------------------------------

    def make(self):
        """Anew each time but for the distinct files."""
        for folder in (self.data, self.metadata):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
        data, deletes = self.distinct_files()
        self.commit_all(data, deletes)

    def distinct_files(self):
        listing = os.path.join(self.distinct, "files.json")
        if not os.path.exists(listing):
            print(f"generating {os.path.basename(self.folder)}, once ...", file=sys.stderr)
            shutil.rmtree(self.distinct, ignore_errors=True)
            os.makedirs(self.distinct)
            # Most files are small, and some are as large as the greatest.
            rows = [int(SMALLEST * (GREATEST / SMALLEST) ** self.random.random() ** 10 / ROW_BYTES) for _ in range(self.arguments.distinct)]
            starts = [sum(rows[:number]) for number in range(len(rows))]
            with ThreadPoolExecutor(THREADS) as threads:
                data = list(threads.map(self.write_data, range(len(rows)), starts, rows))
                deletes = list(threads.map(lambda number: self.write_deletes(number, sum(rows)), range(self.arguments.distinct)))
            with open(listing, "w", encoding="utf-8") as file:
                json.dump([data, deletes], file)
        with open(listing, encoding="utf-8") as file:
            return json.load(file)

    def write_data(self, number, start, rows):
        return self.write(f"data-{number:06}.parquet", COLUMNS, f"SELECT range AS id FROM range({start}, {start + rows})")

    def write_deletes(self, number, rows):
        count = self.arguments.keys
        return self.write(f"deletes-{number:06}.parquet", {"id": COLUMNS["id"]},
                          f"SELECT DISTINCT (hash(range + {number * count}, {SEED}) % {rows})::BIGINT AS id FROM range({count})")

    def write(self, name, columns, numbers):
        """A file over the numbers that the query gives as `id`; gives what an entry says of it."""
        import duckdb

        path = os.path.join(self.distinct, name)
        chosen = ", ".join(f"{value} AS {column}" for column, (_, value) in columns.items())
        field_ids = ", ".join(f"{column}: {number}" for column, (number, _) in columns.items())
        bounded = [column for column in columns if column in ("id", "created_at", "account_id")]
        with duckdb.connect() as connection:
            connection.execute("SET threads = 1; SET enable_progress_bar = false")
            connection.execute(f"CREATE TEMP TABLE numbers AS {numbers}")
            connection.execute(f"CREATE TEMP TABLE rows AS SELECT {chosen} FROM numbers")
            connection.execute(f"COPY rows TO '{path}' (FORMAT parquet, CODEC zstd, FIELD_IDS {{{field_ids}}})")
            ends = [f"{end}({column if column != 'created_at' else 'epoch_us(created_at)'})" for column in bounded for end in ("min", "max")]
            count, *bounds = connection.execute(f"SELECT count(*), {', '.join(ends)} FROM rows").fetchone()
        return {"path": path, "rows": count, "bytes": os.path.getsize(path),
                "bounds": {str(columns[column][0]): bounds[2 * place:2 * place + 2] for place, column in enumerate(bounded)}}

    def entry(self, file, name, sequence_number, content):
        path = os.path.join(self.data, name)
        os.link(file["path"], path)
        bounds = [(int(field), *ends) for field, ends in file["bounds"].items()]
        lower, upper = ([{"key": field, "value": ends[place].to_bytes(8, "little", signed=True)} for field, *ends in bounds] for place in (0, 1))
        return {"status": 1, "snapshot_id": sequence_number, "sequence_number": sequence_number, "file_sequence_number": sequence_number,
                "data_file": {"content": content, "file_path": path, "file_format": "PARQUET", "partition": {"created_at_day": DAY},
                              "record_count": file["rows"], "file_size_in_bytes": file["bytes"],
                              "null_value_counts": [{"key": field, "value": 0} for field, *_ in bounds],
                              "lower_bounds": lower, "upper_bounds": upper, "equality_ids": [1] if content else None}}

    def write_manifest(self, entries, content, sequence_number):
        """One that is not the commit's own holds what the commits before it brought."""
        import fastavro

        path = os.path.join(self.metadata, f"m-{uuid.uuid4()}.avro")
        with open(path, "wb") as file:
            fastavro.writer(file, self.entry_schema, entries, codec="deflate", metadata={
                "schema": json.dumps(SCHEMA), "schema-id": "0", "partition-spec": json.dumps(SPEC["fields"]), "partition-spec-id": "0",
                "format-version": "2", "content": "deletes" if content else "data"})
        rows = {status: [entry["data_file"]["record_count"] for entry in entries if entry["status"] == status] for status in (0, 1)}
        return {"manifest_path": path, "manifest_length": os.path.getsize(path), "partition_spec_id": 0, "content": 1 if content else 0,
                "sequence_number": sequence_number, "min_sequence_number": min(entry["sequence_number"] for entry in entries),
                "added_snapshot_id": sequence_number, "added_files_count": len(rows[1]), "existing_files_count": len(rows[0]),
                "deleted_files_count": 0, "added_rows_count": sum(rows[1]), "existing_rows_count": sum(rows[0]), "deleted_rows_count": 0}

    def merged(self, small, content, sequence_number):
        """One manifest in place of a hundred, as writers make it by default."""
        entries = [{**entry, "status": 0} for _, held in small for entry in held]
        return self.write_manifest(entries, content, sequence_number)

    def commit_all(self, data, deletes):
        import fastavro

        self.entry_schema = fastavro.parse_schema(ENTRY_BY_DAY)
        list_schema = fastavro.parse_schema(LIST)
        arguments, snapshots = self.arguments, []
        large, small = {0: [], 2: []}, {0: [], 2: []}  # manifests by content; those not merged yet with their entries
        for number in range(1, arguments.commits + 1):
            first, last = (arguments.files * place // arguments.commits for place in (number - 1, number))
            added = {0: [self.entry(data[self.random.randrange(len(data))], f"part-{place:06}.parquet", number, 0) for place in range(first, last)],
                     2: [self.entry(deletes[number % len(deletes)], f"delete-{number:06}.parquet", number, 2)]}
            for content, entries in added.items():
                if len(small[content]) == MERGE_MANIFESTS:
                    large[content].append(self.merged(small[content], content, number))
                    small[content] = []
                small[content].append((self.write_manifest(entries, content, number), entries))
            lines = [line for content in (0, 2) for line in [*large[content], *(line for line, _ in small[content])]]
            path = os.path.join(self.metadata, f"snap-{number}.avro")
            with open(path, "wb") as file:
                fastavro.writer(file, list_schema, lines, metadata={"snapshot-id": str(number), "sequence-number": str(number), "format-version": "2"})
            snapshots.append({"snapshot-id": number, "sequence-number": number, "timestamp-ms": DAY_MS + number * 86_400_000 // (arguments.commits + 1),
                              "schema-id": 0, "manifest-list": path, "summary": {"operation": "overwrite"},
                              **({"parent-snapshot-id": number - 1} if number > 1 else {})})
        self.write_metadata(snapshots)

    def write_metadata(self, snapshots):
        last = snapshots[-1]
        table = {"format-version": 2, "table-uuid": str(uuid.uuid4()), "location": self.folder, "last-sequence-number": last["sequence-number"],
                 "last-updated-ms": last["timestamp-ms"], "last-column-id": len(COLUMNS), "schemas": [SCHEMA], "current-schema-id": 0,
                 "partition-specs": [SPEC], "default-spec-id": 0, "last-partition-id": 1000, "sort-orders": [{"order-id": 0, "fields": []}],
                 "default-sort-order-id": 0, "properties": {}, "current-snapshot-id": last["snapshot-id"], "snapshots": snapshots,
                 "refs": {"main": {"snapshot-id": last["snapshot-id"], "type": "branch"}},
                 "snapshot-log": [{key: snapshot[key] for key in ("snapshot-id", "timestamp-ms")} for snapshot in snapshots]}
        with open(os.path.join(self.metadata, "v1.metadata.json"), "w", encoding="utf-8") as file:
            json.dump(table, file)
        with open(os.path.join(self.metadata, "version-hint.text"), "w", encoding="utf-8") as file:
            file.write("1")

    # Looking --------------------------------------------------------------------------------------------------------

    def newest(self):
        return max(glob.glob(f"{self.metadata}/v*.metadata.json"), key=lambda path: int(os.path.basename(path)[1:].split(".")[0]))

    def stored(self):
        """Bytes of the files that are there, each link for itself: in a store of objects every name has its bytes."""
        return sum(os.path.getsize(os.path.join(place, name)) for folder in (self.data, self.metadata)
                   for place, _, names in os.walk(folder) for name in names)


class Scenario:
    def __init__(self, stream, arguments):
        self.stream, self.arguments = stream, arguments
        self.jobs = {}

    def firn(self, *arguments, out=subprocess.DEVNULL):
        return Measure([os.environ["FIRN"], "--quiet", "--output", "json", "--threads", str(THREADS), "--memory", self.arguments.memory, *arguments],
                       stdout=out)

    def job(self, name, *arguments):
        self.jobs[name] = self.firn(*arguments)

    def query(self, text):
        path = os.path.join(self.stream.folder, "query.json")
        with open(path, "wb") as file:
            taken = self.firn("sql", "-e", text.format(table=f"`{self.stream.folder}`"), out=file)
        with open(path, encoding="utf-8") as file:
            return json.load(file)["rows"], taken

    def look(self):
        """Numbers of the table as it is now."""
        (counts,), _ = self.query("""SELECT sum(content = 0), sum(content > 0), sum((content = 0) * file_size_in_bytes), sum(record_count * (content = 0)),
            (SELECT count(*) FROM {table}.manifests), (SELECT count(*) FROM {table}.snapshots) FROM {table}.files""")
        planning = self.firn("explain", self.stream.folder, "--where", WHERE)
        # The files that a reader of one account opens: all whose bounds do not exclude it.
        rows, _ = self.query(f"""SELECT file_path, file_size_in_bytes FROM {{table}}.files WHERE content > 0 OR
            (readable_metrics.account_id.lower_bound <= {ACCOUNT} AND readable_metrics.account_id.upper_bound >= {ACCOUNT})""")
        return {"data files": counts[0], "delete files": counts[1], "data MB": counts[2] / MB, "rows": counts[3], "manifests": counts[4],
                "snapshots": counts[5], "stored MB": self.stream.stored() / MB, "plan s": planning.wall, "files to read": len(rows),
                "MB to read": sum(size for _, size in rows) / MB, **self.read([path for path, _ in rows])}

    def read(self, paths):
        """One account of the day by DuckDB: the table as it is, else, where that takes too long, its data files without the deletes."""
        listing, found = (os.path.join(self.stream.folder, name) for name in ("read.json", "found.json"))
        with open(listing, "w", encoding="utf-8") as file:
            json.dump([path for path in paths if not os.path.basename(path).startswith("delete-")], file)
        result = {}
        for name, source in (("read without deletes s", listing), ("read s", self.stream.newest())):
            try:
                subprocess.run([sys.executable, "-c", DUCKDB_READ, source, found], check=True, timeout=self.arguments.limit)
                with open(found, encoding="utf-8") as file:
                    one = json.load(file)
                result |= {name: one["seconds"], "found": f"{one['rows']} rows"}
            except subprocess.TimeoutExpired:
                result[name] = None
        return result

    def run(self):
        before = self.look()
        place = self.stream.folder
        strategy = ["--strategy", "sort", "--sort-order", "account_id ASC NULLS LAST"] if self.arguments.strategy == "sort" else []
        self.job("compact", "rewrite-data-files", place, *strategy)
        self.job("manifests", "rewrite-manifests", place)
        self.job("expire", "expire-snapshots", place, "--older-than", "2026-07-06 00:00:00", "--retain-last", "1")
        self.job("orphans", "remove-orphan-files", place, "--dry-run")
        after = self.look()
        if before["read s"] and after["read s"] and before["found"] != after["found"]:
            sys.exit(f"rows were {before['found']}, and are {after['found']}")
        return before, after


def text_of(value):
    if value is None or isinstance(value, str):
        return value or "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def show(before, after, jobs):
    print(f"{'':<24}{'before':>14}{'after':>14}{'':>10}")
    for name, value in before.items():
        texts = [text_of(number) for number in (value, after[name])]
        ratio = f"{value / after[name]:>9.1f}x" if value and after[name] and not isinstance(value, str) else ""
        print(f"{name:<24}{texts[0]:>14}{texts[1]:>14}{ratio:>10}")
    print(f"\n{'job':<24}{'wall s':>14}{'cpu s':>14}{'peak MB':>10}")
    for name, taken in jobs.items():
        print(f"{name:<24}{taken.wall:>14.2f}{taken.cpu:>14.2f}{taken.memory / MB:>10.0f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", required=True)
    parser.add_argument("--files", type=int, default=50000)
    parser.add_argument("--commits", type=int, default=2880, help="one every 30 seconds, each with a file of equality deletes")
    parser.add_argument("--distinct", type=int, default=300, help="files that are not links to others, of each kind")
    parser.add_argument("--keys", type=int, default=50, help="of a delete file")
    parser.add_argument("--strategy", choices=["sort", "binpack"], default="sort")
    parser.add_argument("--memory", default="1G", help="for firn")
    parser.add_argument("--limit", type=float, default=600, help="seconds that a read may take")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--keep", action="store_true", help="keep what was written")
    arguments, stream = parse_and_make(parser, Stream)
    scenario = Scenario(stream, arguments)
    before, after = scenario.run()
    print(f"\n{arguments.files} data files in {arguments.commits} commits, {arguments.strategy}; {THREADS} threads, --memory {arguments.memory}")
    show(before, after, scenario.jobs)
    if arguments.json:
        jobs = {name: {"wall": taken.wall, "cpu": taken.cpu, "memory": taken.memory} for name, taken in scenario.jobs.items()}
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"before": before, "after": after, "jobs": jobs}, file, indent=1)
    if not arguments.keep:
        for folder in (stream.data, stream.metadata):
            shutil.rmtree(folder)
    return None


if __name__ == "__main__":
    main()
