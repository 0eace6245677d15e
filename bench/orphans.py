#!/usr/bin/env python3
"""Orphans among many local files, half of which a table refers to: firn and Spark list them; see README.md.

usage: FIRN=path orphans.py --cache DIR [--files N] [--delete] [--with-spark]
"""
import argparse
import os
import shutil
import sys
import time

from measure import MB, Measure, measure_spark, parse_and_make

FOLDER_FILES = 1000
COMMIT_FILES = 50000
AGE = 10 * 86400


class Source:
    """A table of empty files, as many again that nothing refers to, and the catalog beside them."""

    def __init__(self, folder, file_count):
        self.folder = folder
        self.file_count = file_count
        self.complete = os.path.join(folder, "complete")

    def make(self):
        if os.path.exists(self.complete):
            return
        print(f"making {self.file_count} files, once ...", file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(os.path.join(self.folder, "warehouse"))
        self.write_files(self.create())
        with open(self.complete, "w", encoding="utf-8"):
            pass

    def create(self):
        from pyiceberg.catalog.sql import SqlCatalog
        from pyiceberg.schema import Schema
        from pyiceberg.types import LongType, NestedField

        catalog = SqlCatalog("bench", uri=f"sqlite:///{self.folder}/catalog.db", warehouse=f"file://{self.folder}/warehouse")
        catalog.create_namespace("bench")
        with open(os.path.join(self.folder, ".pyiceberg.yaml"), "w", encoding="utf-8") as file:
            file.write(f"catalog:\n  bench:\n    type: sql\n    uri: sqlite:///{self.folder}/catalog.db\n"
                       f"    warehouse: file://{self.folder}/warehouse\n")
        return catalog.create_table("bench.many", Schema(NestedField(1, "id", LongType(), required=False)))

    def write_files(self, table):
        root = table.location().removeprefix("file://") + "/data"
        moment = time.time() - AGE
        paths = []
        for first in range(0, self.file_count, FOLDER_FILES):
            folder = f"{root}/part={first // FOLDER_FILES:06}"
            os.makedirs(folder)
            for number in range(first, min(first + FOLDER_FILES, self.file_count)):
                path = f"{folder}/{number:09}-1-3f2a77b0-3c1e-4b9e-9c8c-0a1b2c3d4e5f-00001.parquet"
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
                os.utime(path, (moment, moment))
                if number % 2:
                    paths.append(path)
            if len(paths) >= COMMIT_FILES:
                append(table, paths)
                paths = []
        append(table, paths)


def append(table, paths):
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    if not paths:
        return
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as files:
        for path in paths:
            files.append_data_file(DataFile.from_args(
                content=DataFileContent.DATA, file_path=f"file://{path}", file_format=FileFormat.PARQUET, partition=Record(),
                record_count=1, file_size_in_bytes=4, column_sizes={}, value_counts={}, null_value_counts={},
                nan_value_counts={}, lower_bounds={}, upper_bounds={}, sort_order_id=None, spec_id=0, equality_ids=None,
                key_metadata=None, split_offsets=None))


def run_firn(source, *arguments):
    environment = {"PATH": os.environ["PATH"], "HOME": source.folder, "PYICEBERG_HOME": source.folder}
    with open(os.path.join(source.folder, "firn.txt"), "w", encoding="utf-8") as out:
        result = Measure([os.environ["FIRN"], "--quiet", "remove-orphan-files", "bench.bench.many", *arguments], environment,
                         stdout=out)
    with open(out.name, encoding="utf-8") as lines:
        result.files = sum("/data/part=" in line for line in lines)
    return result


SPARK_BODY = """
print(len(spark.sql("CALL bench.system.remove_orphan_files(table => 'bench.bench.many', dry_run => true)").collect()))
"""


def run_spark(source):
    with open(os.path.join(source.folder, "spark.txt"), "w", encoding="utf-8") as out:
        result = measure_spark(SPARK_BODY, source.folder, os.path.join(source.folder, "warehouse"), stdout=out)
    with open(out.name, encoding="utf-8") as lines:
        result.files = int(lines.read().split()[-1])
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", required=True)
    parser.add_argument("--files", type=int, default=100000)
    parser.add_argument("--delete", action="store_true", help="then let firn delete them: the files are made anew next time")
    parser.add_argument("--with-spark", action="store_true")
    arguments, source = parse_and_make(
        parser, lambda chosen: Source(os.path.join(os.path.abspath(chosen.cache), f"orphans-{chosen.files}"), chosen.files))
    run_firn(source, "--dry-run")  # so that all find the folders in the cache
    runs = {"firn list": lambda: run_firn(source, "--dry-run")}
    if arguments.with_spark:
        runs["spark list"] = lambda: run_spark(source)
    if arguments.delete:
        os.remove(source.complete)
        runs["firn delete"] = lambda: run_firn(source)
    results = {name: run() for name, run in runs.items()}
    print(f"{arguments.files} files, half of them orphans\n{'':<12}{'wall s':>8}{'cpu s':>8}{'peak MB':>9}{'orphans':>9}")
    for name, result in results.items():
        print(f"{name:<12}{result.wall:>8.2f}{result.cpu:>8.2f}{result.memory / MB:>9.0f}{result.files:>9}")
    return None


if __name__ == "__main__":
    main()
