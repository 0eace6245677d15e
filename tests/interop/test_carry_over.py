"""Deletes that Spark commits between a plan of firn and its commit: they hold for the new files, in every engine."""
import os
import subprocess

import pytest

from checks import check_nothing_left, check_verified, metadata_of
from engines import rows_of_duckdb, rows_of_pyiceberg, rows_of_spark
from firn import PATIENCE, PROGRAM
from iceberg_files import DATA, live_files
from lake import NAME, full_name

BUILD = os.path.dirname(os.path.dirname(os.path.dirname(PROGRAM)))
TOOL = os.path.join(BUILD, "tests", "interop", "catalog_tool")


@pytest.fixture(scope="module", autouse=True)
def tool_is_built():
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        pytest.skip(f"{BUILD} is no build folder")
    subprocess.run(["ninja", "-C", BUILD, "tests/interop/catalog_tool"], check=True, stdout=subprocess.DEVNULL)


class Rewrite:
    """A rewrite that has planned and waits."""

    def __init__(self, lake, identifier, *options):
        properties = ["type=sql", f"uri=sqlite:///{lake.database}", f"warehouse=file://{lake.warehouse}"]
        self.process = subprocess.Popen([TOOL, NAME, *properties, "--", "rewrite", identifier, *options], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stdout.readline() == "planned\n", self.process.communicate()[1]

    def finish(self):
        """Delete files and rows carried over, groups planned anew."""
        out, err = self.process.communicate("\n", timeout=PATIENCE)
        assert self.process.returncode == 0, err
        return [int(number) for number in out.split("\n")[0].split()]


def make_table(spark, identifier, version):
    spark.sql(f"""CREATE TABLE {full_name(identifier)} (id bigint, part int, s string) USING iceberg PARTITIONED BY (part)
        TBLPROPERTIES ('format-version' = '{version}', 'write.delete.granularity' = 'partition',
        'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read')""")
    for commit in range(5):
        spark.sql(f"""INSERT INTO {full_name(identifier)} SELECT /*+ COALESCE(1) */ id, cast(id % 2 as int), concat('s', id)
            FROM range({commit * 40}, {commit * 40 + 40}) SORT BY id % 2""")
    spark.sql(f"DELETE FROM {full_name(identifier)} WHERE id % 10 = 3")


def rows_of_all(lake, spark, duck, identifier, version):
    table = lake.load(identifier)
    found = {"spark": rows_of_spark(spark, identifier), "duckdb": rows_of_duckdb(duck, table.metadata_location)}
    if version == 2:
        found["pyiceberg"] = rows_of_pyiceberg(table)
    return found


@pytest.mark.parametrize("version", [2, 3])
def test_concurrent_deletes_of_spark_are_carried(lake, firn, spark, duck, namespace, version):
    identifier = f"{namespace}.t"
    name = full_name(identifier)
    make_table(spark, identifier, version)
    rewrite = Rewrite(lake, identifier, "min-input-files=2")
    # Rows of several files, some deleted before; rows that come back changed; a file that was not planned.
    spark.sql(f"DELETE FROM {name} WHERE id IN (0, 1, 3, 39, 77, 120) OR id BETWEEN 150 AND 160")
    spark.sql(f"UPDATE {name} SET s = 'changed' WHERE id IN (5, 78, 199)")
    spark.sql(f"INSERT INTO {name} VALUES (1000, 0, 'late'), (1001, 1, 'late')")
    spark.sql(f"DELETE FROM {name} WHERE id IN (40, 41, 1000)")
    wanted = rows_of_spark(spark, identifier)

    files, rows, groups = rewrite.finish()
    assert groups == 0
    assert files == 2, "one for the output of each partition"
    assert rows == 5 + 10 + 3 + 2
    after = rows_of_all(lake, spark, duck, identifier, version)
    assert all(found == wanted for found in after.values()), after
    table = lake.load(identifier)
    check_nothing_left(table.location(), table.metadata_location)
    check_verified(firn, identifier, "--deep")
    summary = metadata_of(table)["snapshots"][-1]["summary"]
    assert summary["operation"] == "replace"
    assert summary["added-position-deletes"] == "20"
    assert summary["added-dvs" if version == 3 else "added-position-delete-files"] == "2"

    # What was carried over is what later writers and runs build on.
    spark.sql(f"DELETE FROM {name} WHERE id IN (2, 4, 42, 1001)")
    wanted = rows_of_spark(spark, identifier)
    assert len(wanted) == len(after["spark"]) - 4
    firn.compact(name, options={"rewrite-all": "true", "remove-dangling-deletes": "true"})
    after = rows_of_all(lake, spark, duck, identifier, version)
    assert all(found == wanted for found in after.values()), after
    assert [file["path"] for file in live_files(metadata_of(lake.load(identifier))) if file["content"] != DATA] == []
