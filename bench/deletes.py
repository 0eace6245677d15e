#!/usr/bin/env python3
"""Equality deletes at scale: data files, delete files and keys as many as asked for, digested by firn and by Spark; see
README.md.

usage: FIRN=path deletes.py --cache DIR [--files N] [--rows N] [--delete-files N] [--keys N] [--wide] [--memory SIZE]
                            [--limited] [--count] [--with-spark]
"""
import argparse
import json
import os
import shutil
import sys
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

from measure import MB, SPARK_END, THREADS, Measure, parse_and_make, spark_jars, warm

SEED = 20240229
KEY_SPACE = 10  # one row in ten has a key that is deleted
DAY = 19782
WIDE_BYTES = 64
SCHEMA = {"type": "struct", "schema-id": 0, "fields": [
    {"id": 1, "name": "id", "required": False, "type": "long"},
    {"id": 2, "name": "ts", "required": False, "type": "timestamp"},
    {"id": 3, "name": "amount", "required": False, "type": "double"},
    {"id": 4, "name": "key", "required": False, "type": "string"}]}
SPEC = {"spec-id": 0, "fields": [{"source-id": 2, "field-id": 1000, "name": "ts_day", "transform": "day"}]}


def optional(kind):
    return ["null", kind]


def bound_map(name, field, key, value, kind):
    pair = {"type": "record", "name": f"k{key}_v{value}", "fields": [
        {"name": "key", "type": "int", "field-id": key}, {"name": "value", "type": kind, "field-id": value}]}
    return {"name": name, "type": optional({"type": "array", "items": pair, "logicalType": "map"}), "default": None,
            "field-id": field}


ENTRY = {"type": "record", "name": "manifest_entry", "fields": [
    {"name": "status", "type": "int", "field-id": 0},
    {"name": "snapshot_id", "type": optional("long"), "field-id": 1},
    {"name": "sequence_number", "type": optional("long"), "field-id": 3},
    {"name": "file_sequence_number", "type": optional("long"), "field-id": 4},
    {"name": "data_file", "field-id": 2, "type": {"type": "record", "name": "r2", "fields": [
        {"name": "content", "type": "int", "field-id": 134},
        {"name": "file_path", "type": "string", "field-id": 100},
        {"name": "file_format", "type": "string", "field-id": 101},
        {"name": "partition", "field-id": 102, "type": {"type": "record", "name": "r102", "fields": [
            {"name": "ts_day", "type": optional({"type": "int", "logicalType": "date"}), "field-id": 1000}]}},
        {"name": "record_count", "type": "long", "field-id": 103},
        {"name": "file_size_in_bytes", "type": "long", "field-id": 104},
        bound_map("null_value_counts", 110, 121, 122, "long"),
        bound_map("lower_bounds", 125, 126, 127, "bytes"),
        bound_map("upper_bounds", 128, 129, 130, "bytes"),
        {"name": "equality_ids", "type": optional({"type": "array", "items": "int", "element-id": 136}),
         "default": None, "field-id": 135}]}}]}

LIST = {"type": "record", "name": "manifest_file", "fields": [
    {"name": name, "type": kind, "field-id": field} for name, kind, field in [
        ("manifest_path", "string", 500), ("manifest_length", "long", 501), ("partition_spec_id", "int", 502),
        ("content", "int", 517), ("sequence_number", "long", 515), ("min_sequence_number", "long", 516),
        ("added_snapshot_id", "long", 503), ("added_files_count", "int", 504), ("existing_files_count", "int", 505),
        ("deleted_files_count", "int", 506), ("added_rows_count", "long", 512), ("existing_rows_count", "long", 513),
        ("deleted_rows_count", "long", 514)]]}


class Table:
    """A table of one day partition in a folder of its own, as a stream of upserts leaves it: commit after commit, each
    with data files and a file of deletes that reach what was there before. No catalog; metadata is v1.metadata.json."""

    def __init__(self, cache, arguments):
        self.arguments = arguments
        name = f"deletes-{arguments.files}-{arguments.rows}-{arguments.delete_files}-{arguments.keys}"
        self.name = name.replace("-", "_") + ("_wide" if arguments.wide else "")
        self.folder = os.path.join(cache, "warehouse", "bench", self.name)
        self.data = os.path.join(self.folder, "data")
        self.metadata = os.path.join(self.folder, "metadata")
        self.key_id = 4 if arguments.wide else 1
        self.local = threading.local()

    def make(self):
        if os.path.exists(os.path.join(self.folder, "files.json")):
            return
        print(f"generating {self.name}, once ...", file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.data)
        os.makedirs(self.metadata)
        with ThreadPoolExecutor(THREADS) as threads:
            data = list(threads.map(self.write_data, range(self.arguments.files)))
            deletes = list(threads.map(self.write_deletes, range(self.arguments.delete_files)))
        self.write_metadata(data, deletes)
        with open(os.path.join(self.folder, "files.json"), "w", encoding="utf-8") as file:
            json.dump(sorted(self.files()), file)

    def write(self, path, numbers, columns):
        """Columns over the numbers that the query `numbers` gives as `id`. Gives the file's size, the lowest and the highest
        number."""
        import duckdb

        fields = {"id": 1, "ts": 2, "amount": 3, "key": 4}
        listed = ", ".join(f"{name}: {fields[name]}" for name in columns)
        chosen = ", ".join(f"{value} AS {name}" for name, value in columns.items())
        connection = self.local.__dict__.setdefault("connection", None) or duckdb.connect()
        self.local.connection = connection
        connection.execute("SET threads = 1")
        connection.execute(f"CREATE OR REPLACE TEMP TABLE numbers AS {numbers}")
        connection.execute(f"COPY (SELECT {chosen} FROM numbers) TO '{path}' (FORMAT parquet, CODEC zstd, FIELD_IDS {{{listed}}})")
        return os.path.getsize(path), *connection.execute("SELECT min(id), max(id) FROM numbers").fetchone()

    def key_columns(self):
        return {"key": "md5(id::VARCHAR) || md5((id + 1)::VARCHAR)"} if self.arguments.wide else {"id": "id"}

    def write_data(self, number):
        rows = self.arguments.rows
        path = os.path.join(self.data, f"part-{number:06}.parquet")
        columns = {"id": "id", "ts": f"make_timestamp({DAY * 86_400_000_000} + id % 86400000000)", "amount": "id % 9973 / 100.0::DOUBLE"}
        size, lower, upper = self.write(path, f"SELECT range AS id FROM range({number * rows}, {(number + 1) * rows})",
                                        columns | self.key_columns())
        commit = 1 + number * self.arguments.delete_files // self.arguments.files
        return self.entry(path, size, rows, commit, 0, lower, upper)

    def write_deletes(self, number):
        count = self.arguments.keys // self.arguments.delete_files
        space = self.arguments.files * self.arguments.rows * KEY_SPACE
        path = os.path.join(self.data, f"delete-{number:06}.parquet")
        size, lower, upper = self.write(path, f"SELECT (hash(range + {number * count}, {SEED}) % {space})::BIGINT AS id FROM range({count})",
                                        self.key_columns())
        return self.entry(path, size, count, number + 2, 2, lower, upper)

    def entry(self, path, size, rows, sequence_number, content, lower, upper):
        """Wide keys get no bounds."""
        bounds = [] if self.arguments.wide else [number.to_bytes(8, "little", signed=True) for number in (lower, upper)]
        maps = [[{"key": self.key_id, "value": value}] for value in (0, *bounds)] if bounds else [None] * 3
        return {"status": 0, "snapshot_id": 1, "sequence_number": sequence_number, "file_sequence_number": sequence_number,
                "data_file": {"content": content, "file_path": path, "file_format": "PARQUET", "partition": {"ts_day": DAY},
                              "record_count": rows, "file_size_in_bytes": size, "null_value_counts": maps[0],
                              "lower_bounds": maps[1], "upper_bounds": maps[2],
                              "equality_ids": [self.key_id] if content else None}}

    def write_manifest(self, entries, content):
        import fastavro

        path = os.path.join(self.metadata, f"manifest-{content}.avro")
        properties = {"schema": json.dumps(SCHEMA), "schema-id": "0", "partition-spec": json.dumps(SPEC["fields"]),
                      "partition-spec-id": "0", "format-version": "2", "content": "deletes" if content else "data"}
        with open(path, "wb") as file:
            fastavro.writer(file, ENTRY, entries, codec="deflate", metadata=properties)
        numbers = [entry["sequence_number"] for entry in entries]
        rows = sum(entry["data_file"]["record_count"] for entry in entries)
        return {"manifest_path": path, "manifest_length": os.path.getsize(path), "partition_spec_id": 0,
                "content": 1 if content else 0, "sequence_number": max(numbers), "min_sequence_number": min(numbers),
                "added_snapshot_id": 1, "added_files_count": 0, "existing_files_count": len(entries),
                "deleted_files_count": 0, "added_rows_count": 0, "existing_rows_count": rows, "deleted_rows_count": 0}

    def write_metadata(self, data, deletes):
        import fastavro

        last = self.arguments.delete_files + 1
        listing = os.path.join(self.metadata, "snap-1.avro")
        rows = [self.write_manifest(data, 0), self.write_manifest(deletes, 2)]
        with open(listing, "wb") as file:
            fastavro.writer(file, LIST, rows, metadata={"snapshot-id": "1", "sequence-number": str(last), "format-version": "2"})
        table = {"format-version": 2, "table-uuid": str(uuid.uuid4()), "location": self.folder, "last-sequence-number": last,
                 "last-updated-ms": 1, "last-column-id": 4, "schemas": [SCHEMA], "current-schema-id": 0,
                 "partition-specs": [SPEC], "default-spec-id": 0, "last-partition-id": 1000,
                 "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0, "properties": {},
                 "current-snapshot-id": 1, "refs": {"main": {"snapshot-id": 1, "type": "branch"}},
                 "snapshots": [{"snapshot-id": 1, "sequence-number": last, "timestamp-ms": 1, "schema-id": 0,
                                "manifest-list": listing, "summary": {"operation": "overwrite"}}]}
        with open(os.path.join(self.metadata, "v1.metadata.json"), "w", encoding="utf-8") as file:
            json.dump(table, file)
        self.set_version()

    def set_version(self):
        with open(os.path.join(self.metadata, "version-hint.text"), "w", encoding="utf-8") as file:
            file.write("1")

    def files(self):
        return [os.path.join(base, name) for folder in (self.data, self.metadata) for base, _, names in os.walk(folder) for name in names]

    def restore(self):
        """Removes what a run wrote, and gives its size."""
        with open(os.path.join(self.folder, "files.json"), encoding="utf-8") as file:
            known = set(json.load(file))
        new = [path for path in self.files() if path not in known]
        written = [path for path in new if path.endswith(".parquet")]
        total = sum(os.path.getsize(path) for path in written)
        for path in new:
            os.remove(path)
        self.set_version()
        return total, len(written)


class Limit:
    """A control group that the process begins in; where none can be made, a limit on the memory it may map."""

    def __init__(self, size):
        self.size = size
        self.folder = next((folder for folder in self.candidates() if self.create(folder)), None)

    @staticmethod
    def candidates():
        name = f"firn-bench-{os.getpid()}"
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            own = {line.split(":")[1]: line.strip().split(":", 2)[2] for line in file}
        yield os.path.join("/sys/fs/cgroup" + own.get("", "/"), name)
        yield os.path.join("/sys/fs/cgroup/memory" + own.get("memory", "/"), name)

    def create(self, folder):
        try:
            os.mkdir(folder)
        except OSError:
            return False
        for name in ("memory.max", "memory.limit_in_bytes"):
            path = os.path.join(folder, name)
            if os.path.exists(path):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(str(self.size))
                return True
        os.rmdir(folder)
        return False

    def command(self, command):
        if self.folder:
            return ["sh", "-c", f'echo $$ > "{self.folder}/cgroup.procs" && exec "$@"', "sh", *command]
        return ["prlimit", f"--data={self.size}", *command]

    def peak(self):
        """What the kernel charged at most, page cache included."""
        for name in ("memory.peak", "memory.max_usage_in_bytes"):
            path = os.path.join(self.folder or "", name)
            if self.folder and os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    return int(file.read())
        return 0

    def close(self):
        if self.folder:
            os.rmdir(self.folder)


def bytes_of(text):
    return int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1]]


def run_firn(table, arguments):
    command = [os.environ["FIRN"], "--quiet", "--threads", str(THREADS), "--memory", arguments.memory, "--log-level", "info"]
    if arguments.count:
        command += ["describe", table.folder, "--count", "--output", "json"]
    else:
        command += ["rewrite-data-files", table.folder, "--option", "rewrite-all=true"]
    limit = Limit(bytes_of(arguments.memory) + bytes_of(arguments.overhead)) if arguments.limited else None
    result = Measure(limit.command(command) if limit else command)
    if limit:
        print(f"held: {'a control group' if limit.folder else 'prlimit'} of {limit.size / MB:.0f} MB "
              f"(peak {limit.peak() / MB:.0f} MB) was enough for --memory {arguments.memory} and the metadata beside it")
        limit.close()
    result.bytes, result.files = table.restore()
    return result


SPARK_PROGRAM = """
import glob, os, sys
from pyspark.sql import SparkSession
jars, warehouse, folder, table, what = sys.argv[1:6]
settings = {
    "spark.jars": ",".join(glob.glob(jars + "/*.jar")), "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": sys.argv[6],
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.local.dir": folder,
    "spark.sql.warehouse.dir": folder, "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.lake.type": "hadoop",
    "spark.sql.catalog.lake.warehouse": warehouse}
builder = SparkSession.builder.master("local[2]").appName("firn-bench")
for key, value in settings.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
if what == "count":
    spark.sql(f"SELECT count(*) FROM lake.bench.{table}").show()
else:
    spark.sql(f"CALL lake.system.rewrite_data_files(table => 'bench.{table}', options => map('rewrite-all', 'true'))").show()
"""


def run_spark(table, arguments):
    scratch = os.path.join(table.folder, "spark")
    warehouse = os.path.dirname(os.path.dirname(table.folder))
    what = "count" if arguments.count else "rewrite"
    result = Measure([sys.executable, "-c", SPARK_PROGRAM + SPARK_END, spark_jars(), warehouse, scratch, table.name, what, arguments.spark_memory])
    result.bytes, result.files = table.restore()
    shutil.rmtree(scratch, ignore_errors=True)
    return result


def show(results):
    base = results["firn"]
    print(f"{'':<8}{'wall s':>8}{'cpu s':>8}{'peak MB':>9}{'out MB':>9}{'files':>7}{'wall/firn':>11}{'cpu/firn':>10}")
    for name, result in results.items():
        print(f"{name:<8}{result.wall:>8.2f}{result.cpu:>8.2f}{result.memory / MB:>9.0f}{result.bytes / MB:>9.1f}"
              f"{result.files:>7}{result.wall / base.wall:>10.2f}x{result.cpu / base.cpu:>9.2f}x")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", required=True)
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--rows", type=int, default=1000, help="of a data file")
    parser.add_argument("--delete-files", type=int, default=200)
    parser.add_argument("--keys", type=int, default=1000000)
    parser.add_argument("--wide", action="store_true", help=f"keys are {WIDE_BYTES} bytes long instead of 8")
    parser.add_argument("--memory", default="1G", help="for firn")
    parser.add_argument("--limited", action="store_true", help="firn runs in a control group of --memory and --overhead")
    parser.add_argument("--overhead", default="128M", help="for the program itself and the table's metadata")
    parser.add_argument("--count", action="store_true", help="count the rows that are left, write nothing")
    parser.add_argument("--with-spark", action="store_true")
    parser.add_argument("--spark-memory", default="4g", help="of Spark's one process")
    arguments, table = parse_and_make(parser, lambda chosen: Table(os.path.abspath(chosen.cache), chosen))
    runs = {"firn": run_firn}
    if arguments.with_spark:
        runs["spark"] = run_spark
    results = {}
    for name, run in runs.items():
        warm(table.files())
        results[name] = run(table, arguments)
    print(f"{arguments.files} data files of {arguments.rows} rows, {arguments.delete_files} equality delete files, "
          f"{arguments.keys} keys of {WIDE_BYTES if arguments.wide else 8} bytes; {THREADS} threads, --memory {arguments.memory}")
    show(results)
    return None


if __name__ == "__main__":
    main()
