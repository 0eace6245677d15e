#!/usr/bin/env python3
"""Rewrites and reads a thousand manifests: firn, PyIceberg and Spark on the same table; see README.md.

usage: FIRN=path MAKE_HISTORY=path manifests.py --cache DIR [--manifests N] [--files N] [--days N] [--with-spark]
"""
import argparse
import os
import sys

from bench import MB, Measure
from expire import Source

PYICEBERG_PLAN = """
import sys
from pyiceberg.catalog import load_catalog

table = load_catalog("bench").load_table("bench.long")
print(len(list(table.scan().plan_files())))
"""

SPARK_PLAN = """
print(spark.sql("SELECT count(*) FROM bench.bench.long.files").collect()[0][0])
"""

SPARK_REWRITE = """
row = spark.sql("CALL bench.system.rewrite_manifests(table => 'bench.bench.long')").collect()[0]
print(json.dumps(row.asDict()))
"""


def plan_by_firn(source):
    """What a compaction looks at: every file, with a reason for each. They are of one size and worth nothing."""
    result = source.firn("rewrite-data-files", "bench.bench.long", "--dry-run", "--option", "min-file-size-bytes=1",
                         "--option", "max-file-size-bytes=1000000000000", "--option", "target-file-size-bytes=500000000000")
    result.said = f"{len(result.report['skipped'])} files"
    return result


def plan_by_pyiceberg(source):
    with open(os.path.join(source.folder, "pyiceberg.txt"), "w", encoding="utf-8") as out:
        result = Measure([sys.executable, "-c", PYICEBERG_PLAN], {**os.environ, "PYICEBERG_HOME": source.folder}, stdout=out)
    with open(out.name, encoding="utf-8") as text:
        result.said = f"{int(text.read())} files"
    return result


def plan_by_spark(source):
    result = source.spark(SPARK_PLAN)
    result.said = f"{result.report} files"
    return result


def rewritten(result):
    result.said = f"{result.report['rewritten_manifests_count']} -> {result.report['added_manifests_count']} manifests"
    return result


def rewrite_by_firn(source):
    return rewritten(source.firn("rewrite-manifests", "bench.bench.long"))


def rewrite_by_spark(source):
    return rewritten(source.spark(SPARK_REWRITE))


def show(title, results):
    base = results["firn"]
    print(f"{title}\n{'':<12}{'wall s':>8}{'cpu s':>8}{'peak MB':>9}{'wall/firn':>11}{'peak/firn':>11}")
    for name, result in results.items():
        print(f"{name:<12}{result.wall:>8.2f}{result.cpu:>8.2f}{result.memory / MB:>9.0f}{result.wall / base.wall:>10.1f}x"
              f"{result.memory / base.memory:>10.1f}x  {result.said}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", required=True)
    parser.add_argument("--manifests", type=int, default=1000)
    parser.add_argument("--files", type=int, default=100, help="files in a manifest")
    parser.add_argument("--days", type=int, default=365, help="partitions")
    parser.add_argument("--with-spark", action="store_true")
    arguments = parser.parse_args()
    shape = arguments.manifests, arguments.files, arguments.days
    source = Source(os.path.join(os.path.abspath(arguments.cache), "manifests-" + "-".join(map(str, shape))), *shape)
    source.make()
    plans = {"firn": plan_by_firn, "pyiceberg": plan_by_pyiceberg}
    rewrites = {"firn": rewrite_by_firn}
    if arguments.with_spark:
        plans["spark"] = plan_by_spark
        rewrites["spark"] = rewrite_by_spark
    source.begin()
    show(f"planning over {shape[0] * shape[1]} files in {shape[0]} manifests", {name: run(source) for name, run in plans.items()})
    results = {}
    for name, run in rewrites.items():
        source.begin()
        results[name] = run(source)
    show("rewriting them", results)


if __name__ == "__main__":
    main()
