#!/usr/bin/env python3
"""Expires nine tenths of a long history: firn and Spark on the same table; see README.md.

usage: FIRN=path MAKE_HISTORY=path expire.py --cache DIR [--snapshots N] [--files N] [--with-spark]
"""
import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys

from measure import MB, Measure, measure_spark

FIRST = datetime.datetime(2026, 1, 1)  # as make_history.c has it: a snapshot a minute


class Source:
    """A table with a history, made once; each run begins with hard links to its files and a new catalog."""

    def __init__(self, folder, snapshots, *arguments):
        self.folder = folder
        self.snapshots = snapshots
        self.arguments = arguments  # of make_history, after the number of snapshots
        self.table = os.path.join(folder, "table")
        self.made = os.path.join(folder, "made")

    def make(self):
        if os.path.exists(self.made):
            return
        print(f"making {self.snapshots} snapshots, once ...", file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        subprocess.run([os.environ["MAKE_HISTORY"], self.table, str(self.snapshots), *map(str, self.arguments)], check=True)
        os.rename(self.table, self.made)

    def begin(self):
        shutil.rmtree(self.table, ignore_errors=True)
        shutil.copytree(self.made, self.table, copy_function=os.link)
        # In a process of its own: a child begins with its parent's peak memory.
        subprocess.run([sys.executable, "-c", REGISTER, self.folder], check=True)

    def older_than(self):
        return str(FIRST + datetime.timedelta(minutes=self.snapshots * 9 // 10 + 1))

    def firn(self, *arguments):
        """Measures a run of firn on the table; `report` is what it printed."""
        environment = {"PATH": os.environ["PATH"], "HOME": self.folder, "PYICEBERG_HOME": self.folder}
        with open(os.path.join(self.folder, "firn.json"), "w", encoding="utf-8") as out:
            result = Measure([os.environ["FIRN"], "--quiet", "--output", "json", *arguments], environment, stdout=out)
        with open(out.name, encoding="utf-8") as text:
            result.report = json.load(text)
        return result

    def spark(self, body, *arguments):
        """Measures a program for Spark; `report` is the last line that it printed."""
        with open(os.path.join(self.folder, "spark.json"), "w", encoding="utf-8") as out:
            result = measure_spark(body, self.folder, self.folder, *arguments, stdout=out)
        with open(out.name, encoding="utf-8") as lines:
            result.report = json.loads(lines.read().strip().split("\n")[-1])
        return result


REGISTER = """
import os, sys
from pyiceberg.catalog.sql import SqlCatalog

folder = sys.argv[1]
database = os.path.join(folder, "catalog.db")
if os.path.exists(database):
    os.remove(database)
catalog = SqlCatalog("bench", uri=f"sqlite:///{database}", warehouse=f"file://{folder}")
catalog.create_namespace("bench")
catalog.register_table("bench.long", f"file://{folder}/table/metadata/v1.metadata.json")
with open(os.path.join(folder, ".pyiceberg.yaml"), "w", encoding="utf-8") as file:
    file.write(f"catalog:\\n  bench:\\n    type: sql\\n    uri: sqlite:///{database}\\n    warehouse: file://{folder}\\n")
"""


def total_deleted(counts):
    return sum(value for key, value in counts.items() if key.startswith("deleted_") and key.endswith("_count"))


def run_firn(source, *arguments):
    source.begin()
    result = source.firn("expire-snapshots", "bench.bench.long", "--older-than", source.older_than(), *arguments)
    result.files = total_deleted(result.report)
    return result


SPARK_BODY = """
row = spark.sql(f"CALL bench.system.expire_snapshots(table => 'bench.bench.long', older_than => TIMESTAMP '{sys.argv[4]}')").collect()[0]
print(json.dumps(row.asDict()))
"""


def run_spark(source):
    source.begin()
    result = source.spark(SPARK_BODY, source.older_than())
    result.files = total_deleted(result.report)
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", required=True)
    parser.add_argument("--snapshots", type=int, default=10000)
    parser.add_argument("--files", type=int, default=2, help="files that a snapshot appends")
    parser.add_argument("--with-spark", action="store_true")
    arguments = parser.parse_args()
    folder = os.path.join(os.path.abspath(arguments.cache), f"history-{arguments.snapshots}-{arguments.files}")
    source = Source(folder, arguments.snapshots, arguments.files)
    source.make()
    runs = {"firn plan": lambda: run_firn(source, "--dry-run"), "firn": lambda: run_firn(source)}
    if arguments.with_spark:
        runs["spark"] = lambda: run_spark(source)
    results = {name: run() for name, run in runs.items()}
    print(f"{arguments.snapshots * 9 // 10} of {arguments.snapshots} snapshots expire\n"
          f"{'':<12}{'wall s':>8}{'cpu s':>8}{'peak MB':>9}{'files':>9}")
    for name, result in results.items():
        print(f"{name:<12}{result.wall:>8.2f}{result.cpu:>8.2f}{result.memory / MB:>9.0f}{result.files:>9}")


if __name__ == "__main__":
    main()
