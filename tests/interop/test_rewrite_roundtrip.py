"""A compaction changes the files and nothing else: every engine reads the same rows, before, after and back in time."""
import pytest

from checks import (
    check_files, check_filters_of_pyiceberg, check_filters_of_spark, check_nothing_left, check_summary, metadata_of, right_filters,
)
from engines import rows_of_duckdb, rows_of_pyiceberg, rows_of_spark
from iceberg_files import live_files
from lake import full_name
from tables import PYICEBERG_TABLES, SPARK_TABLES

COMPACT = {"min-input-files": "2"}
# Types that Spark has no writer or reader for.
NOT_FOR_SPARK = {"all_types"}
# DuckDB's extension stops at these by itself, before firn did anything.
NOT_FOR_DUCKDB = set()


class Readers:
    """The rows of a table by each engine that can read it."""

    def __init__(self, lake, duck, spark, identifier, use_duck, use_spark):
        self.lake = lake
        self.identifier = identifier
        self.duck = duck if use_duck else None
        self.spark = spark if use_spark else None

    def rows(self, snapshot_id=None):
        table = self.lake.load(self.identifier)
        found = {"pyiceberg": rows_of_pyiceberg(table, snapshot_id)}
        if self.duck:
            found["duckdb"] = rows_of_duckdb(self.duck, table.metadata_location, snapshot_id)
        if self.spark:
            found["spark"] = rows_of_spark(self.spark, self.identifier, snapshot_id)
        return found


def compact_and_compare(lake, firn, readers, identifier, options=None):
    options = options or COMPACT
    before_table = lake.load(identifier)
    snapshot_id = before_table.current_snapshot().snapshot_id
    files_before = len(live_files(metadata_of(before_table)))
    rows = readers.rows()
    filters = right_filters(before_table)
    rows_in_old_schema = readers.rows(snapshot_id)

    report = firn.compact(full_name(identifier), options=options)

    table = lake.load(identifier)
    files_after = len(live_files(metadata_of(table)))
    assert report["rewritten_data_files_count"] > report["added_data_files_count"] > 0
    assert files_after == files_before - report["rewritten_data_files_count"] + report["added_data_files_count"]
    assert readers.rows() == rows
    assert readers.rows(snapshot_id) == rows_in_old_schema
    check_files(table)
    check_summary(table, snapshot_id)
    check_filters_of_pyiceberg(table, filters)
    check_nothing_left(table.location(), table.metadata_location)

    again = firn.compact(full_name(identifier), options=options)
    assert again["rewritten_data_files_count"] == 0
    assert lake.load(identifier).metadata_location == table.metadata_location, "nothing to do, but something was committed"
    return report


@pytest.mark.parametrize("kind", sorted(PYICEBERG_TABLES))
def test_tables_of_pyiceberg(lake, firn, duck, spark, namespace, kind):
    identifier = f"{namespace}.{kind}"
    PYICEBERG_TABLES[kind](lake, identifier)
    readers = Readers(lake, duck, spark, identifier, kind not in NOT_FOR_DUCKDB, kind not in NOT_FOR_SPARK)
    compact_and_compare(lake, firn, readers, identifier)
    if readers.spark:
        check_filters_of_spark(spark, identifier)


@pytest.mark.parametrize("kind", sorted(SPARK_TABLES))
def test_tables_of_spark(lake, firn, duck, spark, namespace, kind):
    identifier = f"{namespace}.{kind}"
    SPARK_TABLES[kind](spark, identifier)
    readers = Readers(lake, duck, spark, identifier, kind not in NOT_FOR_DUCKDB, True)
    compact_and_compare(lake, firn, readers, identifier)
    check_filters_of_spark(spark, identifier)


def test_old_specs_end_in_the_current_one(lake, firn, namespace):
    identifier = f"{namespace}.t"
    PYICEBERG_TABLES["evolved_spec"](lake, identifier)
    # The first run moves the files, the second joins them with those that were there.
    for _ in range(2):
        firn.compact(full_name(identifier), options={"rewrite-all": "true"})
    table = lake.load(identifier)
    files = live_files(metadata_of(table))
    assert {file["spec_id"] for file in files} == {table.spec().spec_id}
    assert len({file["partition"]["at_day"] for file in files}) == len(files)
    check_files(table)


def test_row_lineage_is_kept(lake, firn, spark, namespace):
    """Format version 3: every row keeps its id and the number of the commit that last changed it."""
    identifier = f"{namespace}.lineage"
    spark.sql(f"CREATE TABLE {full_name(identifier)} (id bigint, s string) USING iceberg TBLPROPERTIES ('format-version' = '3')")
    for commit in range(4):
        spark.sql(f"INSERT INTO {full_name(identifier)} SELECT id, concat('s', id) FROM range({commit * 10}, {commit * 10 + 10})")

    def lineage():
        query = f"SELECT id, s, _row_id, _last_updated_sequence_number FROM {full_name(identifier)} ORDER BY id"
        return [tuple(row) for row in spark.sql(query).collect()]

    before = lineage()
    assert firn.compact(full_name(identifier), options=COMPACT)["rewritten_data_files_count"] >= 4
    assert lineage() == before
    spark.sql(f"INSERT INTO {full_name(identifier)} VALUES (1000, 'new')")
    after = lineage()
    assert after[:-1] == before
    assert after[-1][2] not in {row[2] for row in before}


def test_a_branch_is_compacted_and_main_is_not(lake, firn, spark, namespace):
    identifier = f"{namespace}.branched"
    name = full_name(identifier)
    PYICEBERG_TABLES["unpartitioned"](lake, identifier)
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH audit")
    spark.sql(f"INSERT INTO {name}.branch_audit SELECT 9999, null, 'on the branch', null")
    before = lake.load(identifier)
    rows = rows_of_pyiceberg(before, before.refs()["audit"].snapshot_id)
    firn.compact(name, "--branch", "audit", options=COMPACT)
    after = lake.load(identifier)
    assert after.refs()["main"].snapshot_id == before.refs()["main"].snapshot_id
    assert after.refs()["audit"].snapshot_id != before.refs()["audit"].snapshot_id
    assert rows_of_pyiceberg(after, after.refs()["audit"].snapshot_id) == rows


def test_where_selects_whole_files(lake, firn, namespace):
    identifier = f"{namespace}.selected"
    PYICEBERG_TABLES["by_day"](lake, identifier)
    before = lake.load(identifier)
    rows = rows_of_pyiceberg(before)
    report = firn.compact(full_name(identifier), "--where", "at >= '2024-02-29 00:00:00' AND at < '2024-03-01 00:00:00'", options=COMPACT)
    assert 0 < report["rewritten_data_files_count"] < len(live_files(metadata_of(before)))
    table = lake.load(identifier)
    assert rows_of_pyiceberg(table) == rows
    new = {file["path"] for file in live_files(metadata_of(table))} - {file["path"] for file in live_files(metadata_of(before))}
    days = {str(file["partition"]["at_day"]) for file in live_files(metadata_of(table)) if file["path"] in new}
    assert days == {"2024-02-29"}


def test_full_verification_records_the_fingerprint(lake, firn, namespace):
    identifier = f"{namespace}.verified"
    PYICEBERG_TABLES["all_types"](lake, identifier)
    firn.compact(full_name(identifier), "--verify", "full", options=COMPACT)
    summary = metadata_of(lake.load(identifier))["snapshots"][-1]["summary"]
    assert any("firn" in key for key in summary), summary


def test_a_hadoop_table_by_its_folder(lake, firn, spark, duck, folder):
    """A table that no catalog knows: version-hint.text and v<N>.metadata.json."""
    catalog = "spark.sql.catalog.files"
    spark.conf.set(catalog, "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set(f"{catalog}.type", "hadoop")
    spark.conf.set(f"{catalog}.cache-enabled", "false")
    spark.conf.set(f"{catalog}.warehouse", f"file://{folder}/hadoop")
    spark.sql("CREATE TABLE files.db.t (id bigint, d date) USING iceberg PARTITIONED BY (months(d))")
    for _ in range(4):
        spark.sql("INSERT INTO files.db.t SELECT id, date'2024-01-20' + int(id) FROM range(20)")
    rows = sorted(map(tuple, spark.table("files.db.t").collect()))
    report = firn.compact(f"{folder}/hadoop/db/t", options=COMPACT)
    assert (report["rewritten_data_files_count"], report["added_data_files_count"]) == (8, 2)
    assert sorted(map(tuple, spark.table("files.db.t").collect())) == rows
    spark.sql("INSERT INTO files.db.t VALUES (100, null)")
    assert spark.table("files.db.t").count() == len(rows) + 1
