#!/usr/bin/env python3
"""Puts the transaction table in order with firn, DuckDB and Spark, and says what point filters read of each; see README.md.

usage: FIRN=path sorting.py --cache DIR [--files N] [--runs N] [--memory SIZE] [--limited] [--overhead SIZE] [--filters N]
                            [--with-spark] [--spark-runs N] [--json FILE]
"""
import argparse
import datetime
import json
import os
import random
import shutil
import subprocess
import sys

from bench import Bench, loaded, summed_up, told, with_own
from cases import CASES, Table
from deletes import Limit, bytes_of
from measure import MB, THREADS, Measure, measure_spark, parse_and_make, warm

CASE = "a-plain"
ORDERS = {"sort": "account_id", "zorder": "zorder(account_id, created_at)"}
FILTERED = ("account_id", "created_at")

DUCKDB_SORT = f"""
import duckdb, json, sys
connection = duckdb.connect()
connection.execute("SET threads = {THREADS}; SET preserve_insertion_order = true; SET temp_directory = '" + sys.argv[1] + ".temp'")
paths = ", ".join("'" + path + "'" for path in json.load(open(sys.argv[2])))
connection.execute(f"COPY (SELECT * FROM read_parquet([{{paths}}]) ORDER BY account_id) TO '{{sys.argv[1]}}' (FORMAT parquet, CODEC zstd)")
"""

SPARK_SORT = """
begin = used()
spark.sql(f"CALL bench.system.rewrite_data_files(table => 'bench.{sys.argv[4]}', strategy => 'sort', sort_order => '{sys.argv[5]}', "
          "options => map('rewrite-all', 'true'))").collect()
json.dump(since(begin), open(sys.argv[6], "w"))
"""


class Sorting(Bench):
    """The programs that put the table in order."""

    def __init__(self, table, firn, arguments):
        super().__init__(table, firn, arguments.memory)
        self.limit = Limit(bytes_of(arguments.memory) + bytes_of(arguments.overhead)) if arguments.limited else None

    def sort_by_firn(self, order):
        def run(home):
            command = [self.firn, "--quiet", "--threads", str(THREADS), "--memory", self.memory, "rewrite-data-files",
                       f"bench.bench.{self.table.name}", "--strategy", "sort", "--sort-order", ORDERS[order], "--option", "rewrite-all=true"]
            environment = {"PATH": os.environ["PATH"], "HOME": home, "PYICEBERG_HOME": home}
            return Measure(self.limit.command(command) if self.limit else command, environment)
        return self.in_table(f"firn-{order}", run)

    def sort_by_duckdb(self):
        folder = self.target("duckdb-sort")
        result = Measure([sys.executable, "-c", DUCKDB_SORT, os.path.join(folder, "all.parquet"), os.path.join(self.table.folder, "files.json")])
        shutil.rmtree(os.path.join(folder, "all.parquet.temp"), ignore_errors=True)
        return self.counted(result, folder)

    def sort_by_spark(self, order):
        own = os.path.join(self.table.folder, "spark.json")
        result = self.in_table(f"spark-{order}", lambda home: measure_spark(
            SPARK_SORT, home, self.table.warehouse, f"bench.{self.table.name}", ORDERS[order], own))
        result.own = loaded(own)
        return result

    def sorters(self, with_spark):
        runs = {"firn-sort": lambda: self.sort_by_firn("sort"), "duckdb-sort": self.sort_by_duckdb}
        if with_spark:
            runs["spark-sort"] = lambda: self.sort_by_spark("sort")
        runs["firn-zorder"] = lambda: self.sort_by_firn("zorder")
        if with_spark:
            runs["spark-zorder"] = lambda: self.sort_by_spark("zorder")
        return runs


class RowGroup:
    """A row group of an output, as readers that look at page indexes see it."""

    def __init__(self, file, group):
        columns = {column["path"]: column for column in group["columns"]}
        self.file, self.rows = file, group["rows"]
        self.bytes = sum(column["compressed_bytes"] for column in group["columns"])
        self.pages = {name: self.pages_of(columns[name]) for name in FILTERED}

    def pages_of(self, column):
        """Rows and bounds of each page; of the chunk where there is no index."""
        if "column_index" not in column:
            return [(self.rows, bound(column["min"]), bound(column["max"]))]
        first_rows = [page["first_row"] for page in column["offset_index"]] + [self.rows]
        return [(end - first, bound(page["min"]), bound(page["max"]))
                for first, end, page in zip(first_rows, first_rows[1:], column["column_index"]["pages"])]

    def rows_read(self, column, value):
        return sum(rows for rows, least, most in self.pages[column] if least <= value <= most)


def bound(text):
    return int(text) if text.lstrip("-").isdigit() else datetime.datetime.fromisoformat(text)


def row_groups_of(folder, firn):
    """All row groups below a folder."""
    found = []
    for entry in os.scandir(folder):
        shown = subprocess.run([firn, "inspect", entry.path, "--pages", "--output", "json"], check=True, capture_output=True)
        found += [RowGroup(entry.name, group) for group in json.loads(shown.stdout)["row_groups"]]
    return found


def filtered(groups, column, values):
    """Files and bytes that a filter on one value reads, on average, if pages are left out by their bounds."""
    files = size = 0
    for value in values:
        rows = [(group, group.rows_read(column, value)) for group in groups]
        files += len({group.file for group, count in rows if count})
        size += sum(group.bytes * count / group.rows for group, count in rows)
    return files / len(values), size / len(values)


def values_of(table, count):
    """Values of random rows."""
    import pyarrow.parquet as parquet

    chooser = random.Random(1)
    rows = [parquet.read_table(chooser.choice(table.paths()), columns=list(FILTERED)).slice(chooser.randrange(table.case.rows), 1).to_pylist()[0]
            for _ in range(count)]
    return {column: [row[column] for row in rows] for column in FILTERED}


def show(rows, filters):
    """Ratios are to firn's run of the same order."""
    print(f"{'':<14}{'wall s':>8}{'cpu s':>8}{'wall/firn':>11}{'cpu/firn':>10}{'peak MB':>9}{'out MB':>9}{'files':>7}"
          + "".join(f"{column + ': files':>20}{'MB':>8}" for column in FILTERED))
    for name, program, row in with_own(rows):
        base = rows["firn-" + program.partition("-")[2]]
        print(f"{name:<14}{row['wall']:>8.2f}{row['cpu']:>8.2f}{row['wall'] / base['wall']:>10.2f}x{row['cpu'] / base['cpu']:>9.2f}x", end="")
        if name in filters:
            print(f"{row['memory'] / MB:>9.0f}{row['bytes'] / MB:>9.1f}{row['files']:>7}"
                  + "".join(f"{filters[name][column][0]:>20.2f}{filters[name][column][1] / MB:>8.1f}" for column in FILTERED), end="")
        print()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", required=True)
    parser.add_argument("--files", type=int, default=CASES[CASE].files)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--memory", default="1G", help="what firn may use, as its option has it")
    parser.add_argument("--limited", action="store_true", help="firn runs in a control group of --memory and --overhead")
    parser.add_argument("--overhead", default="128M", help="for the program itself and the table's metadata")
    parser.add_argument("--filters", type=int, default=100, help="point filters on each column")
    parser.add_argument("--with-spark", action="store_true")
    parser.add_argument("--spark-runs", type=int, default=1, help="Spark takes part in so many of the runs")
    parser.add_argument("--json", help="file for the results")
    arguments, table = parse_and_make(parser, lambda chosen: Table(os.path.abspath(chosen.cache), CASE, CASES[CASE], chosen.files))
    bench = Sorting(table, os.environ["FIRN"], arguments)
    runs = {}
    for number in range(arguments.runs):
        for name, sort in bench.sorters(arguments.with_spark and number < arguments.spark_runs).items():
            warm(table.paths())
            runs.setdefault(name, []).append(told(name, sort()))
    rows = {name: summed_up(results) for name, results in runs.items()}
    values = values_of(table, arguments.filters)
    filters = {}
    for name in runs:
        groups = row_groups_of(os.path.join(table.folder, "out", name), bench.firn)
        filters[name] = {column: filtered(groups, column, values[column]) for column in FILTERED}
    print(f"{arguments.files} files, {arguments.files * table.case.rows} rows; {THREADS} threads, --memory {arguments.memory}; "
          f"medians of {arguments.runs}; {arguments.filters} point filters on each column, by bounds of pages")
    show(rows, filters)
    if bench.limit:
        print(f"held: {'a control group' if bench.limit.folder else 'prlimit'} of {bench.limit.size / MB:.0f} MB was enough")
        bench.limit.close()
    shutil.rmtree(os.path.join(table.folder, "out"))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"files": arguments.files, "programs": rows, "filters": filters}, file, indent=1)
    return None


if __name__ == "__main__":
    main()
