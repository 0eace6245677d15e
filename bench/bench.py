#!/usr/bin/env python3
"""Compacts generated tables with firn, Spark, DuckDB, PyArrow and cat, and scans what they wrote; see README.md.

usage: FIRN=path bench.py --cache DIR [--case NAME,...|all] [--files N] [--runs N] [--layout NAME,...] [--with-spark]
                          [--spark-runs N] [--memory SIZE] [--json FILE] [--keep] [--cold]
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

from cases import CASES, Table
from measure import INTEROP, MB, THREADS, Measure, chill, measure_spark, medians, open_many_files, warm

SCANS = 3
# Time at most so many times another program's.
TIME_AIMS = (("firn-balanced", "duckdb", 1 / 8), ("firn-balanced", "spark", 1 / 25), ("firn-balanced", "cat", 4), ("firn-fastest", "cat", 1.5))
SIZE_AIM = 1.05
MEMORY_AIM = 512 * MB

DUCKDB_COPY = f"""
import duckdb, json, sys
target, source, codec = sys.argv[1:]
if source.endswith("files.json"):
    connection = duckdb.connect()
    table = "read_parquet([" + ", ".join("'" + path + "'" for path in json.load(open(source))) + "])"
else:
    sys.path.insert(0, {INTEROP!r})
    import engines
    connection = engines.start_duckdb()
    table = f"iceberg_scan('{{source}}')"
connection.execute("SET threads = {THREADS}; SET preserve_insertion_order = false")
connection.execute(f"COPY (SELECT * FROM {{table}}) TO '{{target}}' (FORMAT parquet, CODEC {{codec}})")
"""

PYARROW_COPY = f"""
import json, sys
import pyarrow, pyarrow.dataset as dataset
target, source, codec = sys.argv[1:]
pyarrow.set_cpu_count({THREADS})
options = dataset.ParquetFileFormat().make_write_options(compression=codec)
dataset.write_dataset(dataset.dataset(json.load(open(source)), format="parquet"), target, format="parquet", file_options=options,
                      max_rows_per_group=1 << 20)
"""

# Hashes: it could tell maxima from the footers alone.
DUCKDB_SCAN = f"""
import duckdb, json, sys, time
connection = duckdb.connect()
connection.execute("SET threads = {THREADS}; SET TimeZone = 'UTC'")
times = {{}}
for _ in range({SCANS} + 1):
    for folder in sys.argv[2:]:
        start, used = time.monotonic(), time.process_time()
        connection.execute(f"CREATE OR REPLACE TEMP TABLE seen AS SELECT bit_xor(hash(COLUMNS(*))) FROM read_parquet('{{folder}}/*.parquet')")
        times.setdefault(folder, []).append((time.monotonic() - start, time.process_time() - used))
json.dump(times, open(sys.argv[1], "w"))
"""

SPARK_COMPACT = """
begin = used()
spark.sql(f"CALL bench.system.rewrite_data_files(table => 'bench.{sys.argv[4]}')").collect()
json.dump(since(begin), open(sys.argv[5], "w"))
"""

SPARK_SCAN = f"""
times = {{}}
for _ in range({SCANS} + 1):
    for folder in sys.argv[5:]:
        begin = used()
        spark.read.parquet(folder).write.format("noop").mode("overwrite").save()
        times.setdefault(folder, []).append(since(begin))
json.dump(times, open(sys.argv[4], "w"))
"""


class Bench:
    """One case: the programs that work on its table, and what they left in folders of their own."""

    def __init__(self, table, firn, memory):
        self.table, self.firn, self.memory = table, firn, memory
        self.codec = "zstd"

    def target(self, tool):
        """An empty folder for a program's output."""
        folder = os.path.join(self.table.folder, "out", tool)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        return folder

    def in_table(self, tool, run):
        """Runs a program that commits to a copy of the catalog, takes away what it wrote, and restores the folders."""
        home = self.table.working_home()
        folders = (self.table.data, self.table.metadata)
        before = [set(os.listdir(folder)) for folder in folders]
        result = run(home)
        target = self.target(tool)
        for folder, known in zip(folders, before):
            for name in set(os.listdir(folder)) - known:
                path = os.path.join(folder, name)
                if folder == self.table.data and name.endswith(".parquet"):
                    shutil.move(path, os.path.join(target, name))
                elif os.path.isdir(path):
                    shutil.rmtree(path)
                else:
                    os.remove(path)
        return self.counted(result, target)

    @staticmethod
    def counted(result, folder):
        sizes = [entry.stat().st_size for entry in os.scandir(folder)]
        result.bytes, result.files = sum(sizes), len(sizes)
        return result

    def run_firn(self, layout):
        def run(home):
            environment = {"PATH": os.environ["PATH"], "HOME": home, "PYICEBERG_HOME": home}
            memory = ["--memory", self.memory] if self.memory else []
            return Measure([self.firn, "--quiet", "--threads", str(THREADS), *memory, "rewrite-data-files", f"bench.bench.{self.table.name}",
                            "--option", f"layout={layout}"], environment)
        return self.in_table(f"firn-{layout}", run)

    def run_spark(self):
        own = os.path.join(self.table.folder, "spark.json")
        result = self.in_table("spark", lambda home: measure_spark(SPARK_COMPACT, home, self.table.warehouse, f"bench.{self.table.name}", own))
        result.own = loaded(own)
        return result

    def run_duckdb(self):
        folder = self.target("duckdb")
        source = self.table.metadata_location().removeprefix("file://") if self.table.case.deletes else os.path.join(self.table.folder, "files.json")
        return self.counted(Measure([sys.executable, "-c", DUCKDB_COPY, os.path.join(folder, "all.parquet"), source, self.codec]), folder)

    def run_pyarrow(self):
        folder = self.target("pyarrow")
        return self.counted(Measure([sys.executable, "-c", PYARROW_COPY, folder, os.path.join(self.table.folder, "files.json"), self.codec]), folder)

    def run_cat(self):
        folder = self.target("cat")
        listing = "\0".join(self.table.paths())
        with open(os.path.join(self.table.folder, "paths0"), "w", encoding="utf-8") as file:
            file.write(listing)
        command = f"xargs -0 cat < {self.table.folder}/paths0 > {folder}/all.bytes"
        return self.counted(Measure(["sh", "-c", command]), folder)

    def programs(self, layouts, with_spark):
        """In the order in which they run, cat first: no other takes so little."""
        runs = {"cat": self.run_cat}
        runs |= {f"firn-{layout}": lambda layout=layout: self.run_firn(layout) for layout in layouts}
        runs["duckdb"] = self.run_duckdb
        if not self.table.case.deletes:
            runs["pyarrow"] = self.run_pyarrow
        if with_spark:
            runs["spark"] = self.run_spark
        return runs

    def scan(self, tools, with_spark):
        """Median wall and CPU seconds that DuckDB and Spark take to read the outputs, side by side, by output."""
        folders = {os.path.join(self.table.folder, "out", tool): tool for tool in tools if tool != "cat"}
        times = os.path.join(self.table.folder, "scan.json")
        found = {}
        Measure([sys.executable, "-c", DUCKDB_SCAN, times, *folders])
        found["duckdb"] = scan_medians(times, folders)
        if with_spark:
            measure_spark(SPARK_SCAN, self.table.working_home(), self.table.warehouse, times, *folders)
            found["spark"] = scan_medians(times, folders)
        return found


def told(name, run):
    """The run, which standard error hears of at once: all of a bench can take long."""
    print(f"  {name}: {run.wall:.2f} s, CPU {run.cpu:.2f} s, {run.memory / MB:.0f} MB of memory, {run.bytes / MB:.1f} MB written", file=sys.stderr)
    return run


def loaded(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def scan_medians(path, folders):
    """The first scan of each folder warms up."""
    return {folders[folder]: medians(times[1:]) for folder, times in loaded(path).items()}


def summed_up(runs):
    """Medians of the runs of one program, and the most memory any of them took."""
    row = dict(zip(("wall", "cpu", "bytes"), medians([(run.wall, run.cpu, run.bytes) for run in runs])))
    row |= {"runs": len(runs), "memory": max(run.memory for run in runs), "files": runs[-1].files}
    if hasattr(runs[0], "own"):
        row["own"] = dict(zip(("wall", "cpu"), medians([run.own for run in runs])))
    return row


def with_own(rows):
    """What to call each row, its program and the row; what Spark takes once it is started is one more."""
    for name, row in rows.items():
        yield name, name, row
        if "own" in row:
            yield "  once started", name, row["own"]


def show(rows, scans, input_bytes):
    base = rows.get("firn-balanced") or next(row for name, row in rows.items() if name.startswith("firn"))
    print(f"{'':<14}{'wall s':>8}{'cpu s':>8}{'wall/firn':>11}{'cpu/firn':>10}{'MB/s in':>9}{'peak MB':>9}{'files':>7}{'out MB':>9}{'size/firn':>11}"
          + "".join(f"{name + ' scan s':>15}{'cpu s':>8}" for name in scans))
    for name, _, row in with_own(rows):
        print(f"{name:<14}{row['wall']:>8.2f}{row['cpu']:>8.2f}{row['wall'] / base['wall']:>10.2f}x{row['cpu'] / base['cpu']:>9.2f}x"
              f"{input_bytes / MB / row['wall']:>9.0f}", end="")
        if "bytes" in row:
            print(f"{row['memory'] / MB:>9.0f}{row['files']:>7}{row['bytes'] / MB:>9.1f}{row['bytes'] / base['bytes']:>10.3f}x"
                  + "".join("{:>15.2f}{:>8.2f}".format(*times[name]) for times in scans.values() if name in times), end="")
        print()


def aims(rows, scans, timed):
    """What is aimed at, as text, what was measured of it (wall time, then CPU time, where there are two), and the limit of that."""
    if timed:
        for name, other, limit in TIME_AIMS:
            if name in rows and other in rows:
                yield f"time of {name} / {other}", [rows[name][kind] / rows[other][kind] for kind in ("wall", "cpu")], limit
    for other in ("duckdb", "spark"):
        if "firn-balanced" in rows and other in rows:
            yield f"size of firn-balanced / {other}", [rows["firn-balanced"]["bytes"] / rows[other]["bytes"]], SIZE_AIM
        if "firn-balanced" in scans.get(other, ()):
            times = zip(scans[other]["firn-balanced"], scans[other][other])
            yield f"{other}'s scan of firn-balanced / its own", [ours / own for ours, own in times], 1
    most = max(row["memory"] for name, row in rows.items() if name.startswith("firn"))
    yield "memory of firn, most, MB", [most / MB], MEMORY_AIM / MB


def show_aims(rows, scans, timed):
    for text, measured, limit in aims(rows, scans, timed):
        verdicts = [f"{value:.3f} {'held' if value <= limit else 'missed'}" for value in measured]
        print(f"  {text + ', at most ' + format(limit, '.4g'):<60}" + ", by CPU ".join(verdicts))


def run_case(name, arguments, file_count):
    table = Table(os.path.abspath(arguments.cache), name, CASES[name], file_count)
    # In a process of its own: a child begins with its parent's peak memory.
    subprocess.run([sys.executable, __file__, "--generate", "--cache", arguments.cache, "--case", name, "--files", str(file_count)], check=True)
    bench = Bench(table, os.environ["FIRN"], arguments.memory)
    programs = bench.programs(arguments.layout.split(","), arguments.with_spark)
    runs = {}
    for number in range(arguments.runs):
        for tool, program in programs.items():
            if tool != "spark" or number < arguments.spark_runs:
                (chill if arguments.cold else warm)(table.paths())
                runs.setdefault(tool, []).append(told(tool, program()))
    rows = {tool: summed_up(results) for tool, results in runs.items()}
    scans = bench.scan(rows, arguments.with_spark)
    input_bytes = sum(os.path.getsize(path) for path in table.paths())
    print(f"\n{name}: {table.case.title}: {file_count} files, {input_bytes / MB:.1f} MB, {file_count * table.case.rows} rows; {THREADS} threads; "
          f"medians of {arguments.runs}{', input not in the page cache' if arguments.cold else ''}")
    show(rows, scans, input_bytes)
    show_aims(rows, scans, name.startswith("a-") and not arguments.cold)
    if not arguments.keep:
        shutil.rmtree(os.path.join(table.folder, "out"))
    return {"files": file_count, "cold": arguments.cold, "input_bytes": input_bytes, "rows": file_count * table.case.rows, "programs": rows, "scans": scans}


def chosen(text):
    """The cases that a comma-separated list names, by whole names or by their beginnings."""
    if text == "all":
        return list(CASES)
    names = [name for part in text.split(",") for name in CASES if name.startswith(part)]
    return names or sys.exit(f"no case '{text}'; there are {', '.join(CASES)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", required=True)
    parser.add_argument("--case", default="a-plain", help="all, or comma-separated beginnings of: " + ", ".join(CASES))
    parser.add_argument("--files", type=int, help="files of each table, for a smaller run")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--layout", default="fastest,balanced,smallest", help="firn's layouts, comma-separated")
    parser.add_argument("--with-spark", action="store_true")
    parser.add_argument("--spark-runs", type=int, default=1, help="Spark takes part in so many of the runs")
    parser.add_argument("--memory", help="what firn may use, as its option has it")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--cold", action="store_true", help="take the input out of the page cache before each run")
    parser.add_argument("--keep", action="store_true", help="keep what was written, below out/ in the cache")
    parser.add_argument("--generate", action="store_true", help="make the tables and stop")
    arguments = parser.parse_args()
    open_many_files()
    results = {}
    for name in chosen(arguments.case):
        file_count = arguments.files or CASES[name].files
        if arguments.generate:
            Table(os.path.abspath(arguments.cache), name, CASES[name], file_count).make()
        else:
            results[name] = run_case(name, arguments, file_count)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
