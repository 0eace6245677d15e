#!/usr/bin/env python3
"""Compacts one generated table with firn and copies the same files with DuckDB and cat; see README.md.

usage: FIRN=path bench.py --cache DIR [--files N] [--runs N] [--with-spark]
"""
import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
INTEROP = os.path.join(os.path.dirname(HERE), "tests", "interop")
ROWS_A_FILE = 5000
THREADS = 2
SEED = 20240229
MB = 1000 * 1000


class Source:
    """The generated table: data files, a catalog beside them, and copies of that catalog to work on."""

    def __init__(self, folder, file_count):
        self.folder = folder
        self.file_count = file_count
        self.data = os.path.join(folder, "warehouse", "bench", "transactions", "data")

    def make(self):
        if os.path.exists(os.path.join(self.folder, "complete")):
            return
        print(f"generating {self.file_count} files, once ...", file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.data)
        table = self.create()
        self.write_files()
        table.add_files(self.paths(), check_duplicate_files=False)
        with open(os.path.join(self.folder, "complete"), "w", encoding="utf-8"):
            pass

    def create(self):
        from pyiceberg.schema import Schema
        from pyiceberg.types import DecimalType, LongType, NestedField, StringType, TimestamptzType

        schema = Schema(
            NestedField(1, "id", LongType(), required=False),
            NestedField(2, "account_id", LongType(), required=False),
            NestedField(3, "amount", DecimalType(12, 2), required=False),
            NestedField(4, "created_at", TimestamptzType(), required=False),
            NestedField(5, "merchant", StringType(), required=False),
            NestedField(6, "txn", StringType(), required=False),
        )
        catalog = self.catalog()
        catalog.create_namespace("bench")
        return catalog.create_table("bench.transactions", schema)

    def catalog(self):
        from pyiceberg.catalog.sql import SqlCatalog

        database = os.path.join(self.folder, "catalog.db")
        return SqlCatalog("bench", uri=f"sqlite:///{database}", warehouse=f"file://{self.folder}/warehouse")

    def write_files(self):
        """Rows by DuckDB from hashes of their number and the seed, so that every run writes the same table."""
        import duckdb
        import pyarrow as pa
        import pyarrow.parquet as parquet

        connection = duckdb.connect()
        connection.execute(f"SET TimeZone = 'UTC'; SET threads = {THREADS}")
        schema = pa.schema([
            pa.field(name, kind, metadata={b"PARQUET:field_id": str(field_id).encode()})
            for field_id, (name, kind) in enumerate([
                ("id", pa.int64()), ("account_id", pa.int64()), ("amount", pa.decimal128(12, 2)),
                ("created_at", pa.timestamp("us", tz="UTC")), ("merchant", pa.string()), ("txn", pa.string())], 1)])
        for number in range(self.file_count):
            first = number * ROWS_A_FILE
            rows = connection.execute(f"""
                SELECT range AS id, CAST(hash(range, {SEED}) % 200000 AS BIGINT) AS account_id,
                       CAST(pow(10, (hash(range, 1) % 5000) / 1000.0) AS DECIMAL(12, 2)) AS amount,
                       TIMESTAMPTZ '2024-01-01 00:00:00+00' + to_microseconds(CAST(range * 1300000 + hash(range, 2) % 1000 * 1000 AS BIGINT)) AS created_at,
                       'Merchant ' || CAST(floor(pow(hash(range, 3) % 1000000 / 1000000.0, 2) * 4000) AS INTEGER) || ' '
                           || ['Ltd', 'GmbH', 'Inc', 'SA'][CAST(1 + hash(range, 3) % 4 AS BIGINT)] AS merchant,
                       substr(md5(range || 'a{SEED}'), 1, 8) || '-' || substr(md5(range || 'b'), 1, 4) || '-4' || substr(md5(range || 'c'), 1, 3)
                           || '-a' || substr(md5(range || 'd'), 1, 3) || '-' || substr(md5(range || 'e{SEED}'), 1, 12) AS txn
                FROM range({first}, {first + ROWS_A_FILE})""").to_arrow_table().cast(schema)
            parquet.write_table(rows, os.path.join(self.data, f"part-{number:05}.parquet"), compression="zstd",
                                use_dictionary=False)

    def paths(self):
        return sorted(entry.path for entry in os.scandir(self.data) if entry.name.startswith("part-"))

    def working_home(self):
        """A folder with a fresh copy of the catalog: each run starts from the table as it was generated."""
        home = os.path.join(self.folder, "home")
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(home)
        database = os.path.join(home, "catalog.db")
        shutil.copy(os.path.join(self.folder, "catalog.db"), database)
        with open(os.path.join(home, ".pyiceberg.yaml"), "w", encoding="utf-8") as file:
            file.write(f"catalog:\n  bench:\n    type: sql\n    uri: sqlite:///{database}\n")
            file.write(f"    warehouse: file://{self.folder}/warehouse\n")
        return home


class Measure:
    """One process run to its end, as the kernel counted it."""

    def __init__(self, command, environment=None, stdout=subprocess.DEVNULL):
        start = time.monotonic()
        with open(os.devnull, "rb") as nothing:
            process = subprocess.Popen(command, stdin=nothing, stdout=stdout, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        self.wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{command[0]} failed with status {process.returncode}")
        self.cpu = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss * 1024
        self.bytes = self.files = 0


def warm(paths):
    for path in paths:
        with open(path, "rb") as file:
            while file.read(1 << 20):
                pass


def written(folder, known):
    """Size and number of the Parquet files in a folder that were not there before; they are then removed."""
    new = [entry for entry in os.scandir(folder) if entry.name.endswith(".parquet") and entry.path not in known]
    total = sum(entry.stat().st_size for entry in new)
    for entry in new:
        os.remove(entry.path)
    return total, len(new)


def run_firn(source, program):
    home = source.working_home()
    known = set(source.paths())
    environment = {"PATH": os.environ["PATH"], "HOME": home, "PYICEBERG_HOME": home}
    result = Measure([program, "--quiet", "--threads", str(THREADS), "rewrite-data-files", "bench.bench.transactions"], environment)
    result.bytes, result.files = written(source.data, known)
    return result


DUCKDB_PROGRAM = """
import duckdb, json, sys
target, paths = sys.argv[1], json.load(open(sys.argv[2]))
connection = duckdb.connect()
connection.execute("SET threads = %d; SET preserve_insertion_order = false" % int(sys.argv[3]))
listed = ", ".join("'" + path + "'" for path in paths)
connection.execute(f"COPY (SELECT * FROM read_parquet([{listed}])) TO '{target}' (FORMAT parquet, CODEC zstd)")
"""


def run_duckdb(source):
    target = os.path.join(source.folder, "duckdb.parquet")
    listing = os.path.join(source.folder, "paths.json")
    with open(listing, "w", encoding="utf-8") as file:
        json.dump(source.paths(), file)
    result = Measure([sys.executable, "-c", DUCKDB_PROGRAM, target, listing, str(THREADS)])
    result.bytes, result.files = os.path.getsize(target), 1
    os.remove(target)
    return result


def run_cat(source):
    target = os.path.join(source.folder, "cat.out")
    with open(target, "wb") as file:
        result = Measure(["cat", *source.paths()], stdout=file)
    result.bytes, result.files = os.path.getsize(target), 1
    os.remove(target)
    return result


SPARK_BEGIN = """
import json, sys
sys.path.insert(0, sys.argv[1])
import engines, lake
lake.NAME = engines.NAME = "bench"
class Home: pass
home = Home()
home.folder, home.database, home.warehouse = sys.argv[2], sys.argv[2] + "/catalog.db", sys.argv[3]
spark = engines.start_spark(home)
"""
SPARK_END = """
gateway = spark.sparkContext._gateway
spark.stop()
gateway.shutdown()
gateway.proc.stdin.close()
gateway.proc.wait()  # or the kernel would not count it
"""


def spark_jars():
    return os.path.join(os.path.dirname(os.path.dirname(sys.executable)), "jars")


def measure_spark(body, folder, warehouse, *arguments, stdout=None):
    """Measures a program that finds a session as `spark`, and the arguments from sys.argv[4] on."""
    return Measure([sys.executable, "-c", SPARK_BEGIN + body + SPARK_END, INTEROP, folder, warehouse, *arguments],
                   {**os.environ, "FIRN_JARS": spark_jars()}, stdout=stdout)


def run_spark(source):
    known = set(source.paths())
    result = measure_spark("""spark.sql("CALL bench.system.rewrite_data_files(table => 'bench.bench.transactions')").show()""",
                           source.working_home(), os.path.join(source.folder, "warehouse"))
    result.bytes, result.files = written(source.data, known)
    return result


def show(results, input_bytes):
    base = results["firn"]
    print(f"{'':<8}{'wall s':>8}{'cpu s':>8}{'peak MB':>9}{'out MB':>9}{'files':>7}{'wall/firn':>11}{'cpu/firn':>10}{'MB/s in':>9}")
    for name, result in results.items():
        print(f"{name:<8}{result.wall:>8.2f}{result.cpu:>8.2f}{result.memory / MB:>9.0f}{result.bytes / MB:>9.1f}{result.files:>7}"
              f"{result.wall / base.wall:>10.2f}x{result.cpu / base.cpu:>9.2f}x{input_bytes / MB / result.wall:>9.0f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", required=True)
    parser.add_argument("--files", type=int, default=4000)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--with-spark", action="store_true")
    parser.add_argument("--generate", action="store_true", help="make the table and stop")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    source = Source(os.path.join(os.path.abspath(arguments.cache), str(arguments.files)), arguments.files)
    if arguments.generate:
        return source.make()
    # In a process of its own: a child begins with its parent's peak memory.
    subprocess.run([sys.executable, __file__, "--generate", "--cache", arguments.cache, "--files", str(arguments.files)], check=True)
    runs = {"firn": lambda: run_firn(source, os.environ["FIRN"]), "duckdb": lambda: run_duckdb(source), "cat": lambda: run_cat(source)}
    if arguments.with_spark:
        runs["spark"] = lambda: run_spark(source)
    results = {}
    for _ in range(arguments.runs):
        for name, run in runs.items():
            warm(source.paths())
            result = run()
            if name not in results or result.wall < results[name].wall:
                results[name] = result
    input_bytes = sum(os.path.getsize(path) for path in source.paths())
    print(f"{arguments.files} files, {input_bytes / MB:.1f} MB, {arguments.files * ROWS_A_FILE} rows; {THREADS} threads; best of {arguments.runs}")
    show(results, input_bytes)
    return None


if __name__ == "__main__":
    main()
