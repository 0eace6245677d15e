#!/usr/bin/env python3
"""Puts files in order that are in order already, each by itself: merged, or end to end, beside sorting them again; see README.md.

usage: FIRN=path merging.py --cache DIR [--files N] [--sorted N] [--runs N] [--memory SIZE]
"""
import argparse
import os
import shutil
import statistics

from cases import CASES, Table
from measure import MB, THREADS, Measure, parse_and_make, warm

CASE = "a-plain"
ORDER = "account_id"
SAME_ROWS_ANOTHER_ORDER = "account_id ASC NULLS LAST"  # there are no nulls; but no file is marked as sorted so


class Sorted:
    """A copy of the table whose files were sorted: in so many groups, whose ranges overlap, or in one, into many files."""

    def __init__(self, table, firn, folder, groups, file_bytes):
        self.firn, self.folder = firn, folder
        self.name = f"bench.bench.{table.name}"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        size = sum(os.path.getsize(path) for path in table.paths())
        self.home = table.working_home()
        self.warehouse = table.warehouse
        self.before = {name: set(os.listdir(os.path.join(os.path.dirname(table.data), name))) for name in ("data", "metadata")}
        self.table = table
        self.run("1G", "write-order", self.name, ORDER)
        self.run("4G", "rewrite-data-files", self.name, "--strategy", "sort", "--option", "rewrite-all=true",
                 "--option", f"max-file-group-size-bytes={size // groups + size // 50}", "--option", f"target-file-size-bytes={file_bytes}")
        shutil.copy(os.path.join(self.home, "catalog.db"), os.path.join(folder, "catalog.db"))
        self.made = {name: set(os.listdir(self.path(name))) for name in self.before}

    def path(self, name):
        return os.path.join(os.path.dirname(self.table.data), name)

    def run(self, memory, *arguments):
        environment = {"PATH": os.environ["PATH"], "HOME": self.home, "PYICEBERG_HOME": self.home}
        return Measure([self.firn, "--quiet", "--threads", str(THREADS), "--memory", memory, *arguments], environment)

    def inputs(self):
        return [os.path.join(self.path("data"), name) for name in self.made["data"] - self.before["data"]]

    def rewrite(self, memory, order):
        """Rewrites the sorted files once, and takes away what came of it."""
        shutil.copy(os.path.join(self.folder, "catalog.db"), os.path.join(self.home, "catalog.db"))
        warm(self.inputs())
        result = self.run(memory, "rewrite-data-files", self.name, "--sort-order", order, "--option", "rewrite-all=true")
        outputs = set(os.listdir(self.path("data"))) - self.made["data"]
        result.files = len(outputs)
        result.bytes = sum(os.path.getsize(os.path.join(self.path("data"), name)) for name in outputs)
        self.remove(self.made)
        return result

    def remove(self, known):
        for name, kept in known.items():
            for entry in set(os.listdir(self.path(name))) - kept:
                path = os.path.join(self.path(name), entry)
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)

    def close(self):
        self.remove(self.before)
        shutil.rmtree(self.folder)


def show(name, files, results):
    wall, cpu = (statistics.median(getattr(result, key) for result in results) for key in ("wall", "cpu"))
    memory = max(result.memory for result in results)
    last = results[-1]
    print(f"{name:<34}{files:>7}{wall:>8.2f}{cpu:>8.2f}{memory / MB:>9.0f}{last.bytes / MB:>9.1f}{last.files:>7}{last.written / MB:>12.0f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", required=True)
    parser.add_argument("--files", type=int, default=CASES[CASE].files)
    parser.add_argument("--sorted", type=int, default=4, help="groups that overlap")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--memory", default="1G", help="what firn may use")
    arguments, table = parse_and_make(parser, lambda chosen: Table(os.path.abspath(chosen.cache), CASE, CASES[CASE], chosen.files))
    print(f"{arguments.files * table.case.rows} rows; {THREADS} threads, --memory {arguments.memory}")
    print(f"{'':<34}{'inputs':>7}{'wall s':>8}{'cpu s':>8}{'peak MB':>9}{'out MB':>9}{'files':>7}{'written MB':>12}")
    shapes = {f"{arguments.sorted} that overlap": (arguments.sorted, 512 << 20), "one after the other": (1, 4 << 20)}
    for title, (groups, file_bytes) in shapes.items():
        made = Sorted(table, os.environ["FIRN"], os.path.join(table.folder, "sorted"), groups, file_bytes)
        for way, order in (("sorted again", SAME_ROWS_ANOTHER_ORDER), ("as they are", ORDER)):
            results = [made.rewrite(arguments.memory, order) for _ in range(arguments.runs)]
            show(f"{title}, {way}", len(made.inputs()), results)
        made.close()
    return None


if __name__ == "__main__":
    main()
