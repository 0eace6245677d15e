"""Pages that firn copies as they lie: files of every writer, each rung forced in turn, read by every engine.

The table is the same for all runs: each works on a twin of it. An engine is compared with itself, before and after.
"""
import datetime
import decimal
import math
import os
import random

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BooleanType, DecimalType, DoubleType, IntegerType, ListType, LongType, NestedField, StringType, StructType, TimestamptzType,
)

from checks import check_files, metadata_of
from engines import path_of
from iceberg_files import live_files
from lake import full_name

FILES, ROWS = 4, 6000
SEED = 20261130
SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "kind", IntegerType()),
    NestedField(3, "name", StringType()),
    NestedField(4, "text", StringType()),
    NestedField(5, "price", DoubleType()),
    NestedField(6, "amount", DecimalType(12, 2)),
    NestedField(7, "created", TimestamptzType()),
    NestedField(8, "flag", BooleanType()),
    NestedField(9, "tags", ListType(element_id=11, element_type=StringType(), element_required=False)),
    NestedField(10, "point", StructType(
        NestedField(12, "x", DoubleType()),
        NestedField(13, "words", ListType(element_id=14, element_type=StringType(), element_required=False)))),
)
EPOCH = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)

# What pages the files have: as parquet.write_table takes it.
BY_PYARROW = {
    "plain, indexes": {"use_dictionary": False, "write_page_index": True},
    "dictionaries": {"use_dictionary": True},
    "version 2": {"data_page_version": "2.0", "use_dictionary": ["kind", "name"], "write_page_index": True},
    "checksums, small row groups": {"use_dictionary": False, "write_page_checksum": True, "row_group_size": 1700},
    "delta": {"use_dictionary": False, "column_encoding": {"id": "DELTA_BINARY_PACKED", "text": "DELTA_LENGTH_BYTE_ARRAY"}},
    "snappy": {"compression": "snappy", "use_dictionary": False},
}
RUNS = [{"force-rung": rung} for rung in ("keep", "splice", "repack", "remap", "transcode")] + [
    {"layout": layout} for layout in ("fastest", "balanced", "smallest")]


def rows_of(random_, first):
    def maybe(value):
        return None if random_.random() < 0.1 else value

    for number in range(first, first + ROWS):
        words = [maybe(f"w{random_.randrange(30)}") for _ in range(random_.randrange(4))]
        yield {
            "id": number,
            "kind": maybe(number // 1000),
            "name": maybe(f"name {random_.randrange(40)}"),
            "text": f"{random_.getrandbits(128):032x}" * random_.randrange(1, 4),
            "price": maybe(math.nan if number < 6000 and number % 97 == 0 else number / 8),
            "amount": maybe(decimal.Decimal(random_.randrange(10**8)).scaleb(-2)),
            "created": maybe(EPOCH + datetime.timedelta(seconds=number)),
            "flag": maybe(number % 3 == 0),
            "tags": maybe(words),
            "point": maybe({"x": maybe(float(number)), "words": maybe(words[::-1])}),
        }


def tables_of_rows():
    random_ = random.Random(SEED)
    arrow = schema_to_pyarrow(SCHEMA, include_field_ids=True)
    return [pa.Table.from_pylist(list(rows_of(random_, file * ROWS)), schema=arrow) for file in range(FILES)]


def table_of_pyarrow(lake, identifier, how):
    table = lake.catalog.create_table(identifier, SCHEMA)
    folder = os.path.join(path_of(table.location()), "data")
    os.makedirs(folder, exist_ok=True)
    paths = []
    for number, rows in enumerate(tables_of_rows()):
        paths.append(os.path.join(folder, f"part-{number}.parquet"))
        parquet.write_table(rows, paths[-1], **{"compression": "zstd", "data_page_size": 40000, **how})
    table.add_files(paths)


def table_of_duckdb(lake, duck, identifier):
    table = lake.catalog.create_table(identifier, SCHEMA)
    folder = os.path.join(path_of(table.location()), "data")
    os.makedirs(folder, exist_ok=True)
    ids = """{id: 1, kind: 2, name: 3, text: 4, price: 5, amount: 6, created: 7, flag: 8, tags: {__duckdb_field_id: 9, element: 11},
              point: {__duckdb_field_id: 10, x: 12, words: {__duckdb_field_id: 13, element: 14}}}"""
    paths = []
    for number, rows in enumerate(tables_of_rows()):
        paths.append(os.path.join(folder, f"part-{number}.parquet"))
        duck.register("rows_of_a_file", rows)
        duck.execute(f"COPY (SELECT * FROM rows_of_a_file) TO '{paths[-1]}' (FORMAT parquet, CODEC zstd, FIELD_IDS {ids})")
        duck.unregister("rows_of_a_file")
    table.add_files(paths)


def table_of_spark(lake, spark, identifier, properties):
    table_of_pyarrow(lake, f"{identifier}_source", {})
    told = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    spark.sql(f"CREATE TABLE {full_name(identifier)} USING iceberg TBLPROPERTIES ({told}) AS "
              f"SELECT * FROM {full_name(identifier)}_source WHERE id < {ROWS}")
    for number in range(1, FILES):
        spark.sql(f"INSERT INTO {full_name(identifier)} SELECT * FROM {full_name(identifier)}_source "
                  f"WHERE id >= {number * ROWS} AND id < {(number + 1) * ROWS} ORDER BY id")


def data_paths(table):
    return [file["path"] for file in live_files(metadata_of(table)) if file["content"] == 0]


def read_by_vectors(spark):
    """Spark's own reader, lists and structs included; it is the strictest about the order of pages."""
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", "true")
    spark.conf.set("spark.sql.parquet.enableNestedColumnVectorizedReader", "true")


def digests(lake, duck, spark, identifier):
    """A digest by each engine, and by Spark's slow readers, too."""
    table = lake.load(identifier)
    name, paths = full_name(identifier), data_paths(table)
    columns = ", ".join(field.name for field in SCHEMA.fields)
    spark_digest = "count(*)", f"CAST(sum(CAST(xxhash64({columns}) AS DECIMAL(38, 0))) AS STRING)"
    found = {}
    for vectorised in ("true", "false"):
        reader = spark.read.option("vectorization-enabled", vectorised)
        found[f"spark, vectorised {vectorised}"] = tuple(reader.table(name).selectExpr(*spark_digest).first())
    read_by_vectors(spark)
    found["spark without iceberg"] = tuple(spark.read.parquet(*paths).selectExpr(*spark_digest).first())
    listed = ", ".join(f"'{path}'" for path in paths)
    found["duckdb"] = duck.execute(
        f"SELECT count(*), sum(hash({columns})::HUGEINT) FROM read_parquet([{listed}])").fetchone()
    arrow = schema_to_pyarrow(SCHEMA, include_field_ids=False)
    rows = pa.concat_tables([parquet.read_table(path, columns=arrow.names).cast(arrow) for path in paths])
    found["pyarrow"] = hash(str(rows.sort_by("id").to_pylist()))
    return found


def check_index_filters(spark, paths):
    """parquet-java passes over pages by their indexes: a wrong index loses rows."""
    conditions = ["id BETWEEN 5990 AND 6010", "kind = 7", "created = TIMESTAMP '2024-01-01 02:00:00Z'", "name = 'name 7'",
                  "kind IS NULL AND id > 12000", "amount < 100", "text < '01'", "price > 2990"]
    read_by_vectors(spark)
    files = spark.read.parquet(*paths)
    for condition in conditions:
        found = {}
        for use_index in ("true", "false"):
            for key in ("parquet.filter.columnindex.enabled", "parquet.filter.stats.enabled", "parquet.filter.dictionary.enabled"):
                spark.sparkContext._jsc.hadoopConfiguration().set(key, use_index)
            found[use_index] = tuple(files.where(condition).selectExpr("count(*)", "sum(id)").first())
        assert found["true"] == found["false"], condition


def copied(report):
    rungs = report["pages"]["rungs"]
    return rungs["keep"]["pages"] + rungs["splice"]["pages"]


def rewrite_by_every_rung(lake, firn, duck, spark, identifier):
    before = digests(lake, duck, spark, identifier)
    copied_pages, repacked_pages = {}, {}
    for run in RUNS:
        (kind, how), = run.items()
        twin = lake.twin(identifier, f"{kind.replace('-', '_')}_{how}")
        report = firn.compact(full_name(twin), options={"rewrite-all": "true", **run})
        assert report["rewritten_data_files_count"] >= FILES and report["added_data_files_count"] == 1
        assert digests(lake, duck, spark, twin) == before, run
        table = lake.load(twin)
        check_files(table)
        if how in ("splice", "balanced"):
            check_index_filters(spark, data_paths(table))
        copied_pages[how] = copied(report)
        repacked_pages[how] = report["pages"]["rungs"]["repack"]["pages"]
    assert copied_pages["repack"] == copied_pages["remap"] == copied_pages["transcode"] == 0
    assert repacked_pages["repack"] > 0
    assert repacked_pages["keep"] == repacked_pages["splice"] == repacked_pages["remap"] == repacked_pages["transcode"] == 0
    assert copied_pages["keep"] <= copied_pages["splice"] == copied_pages["fastest"]
    return copied_pages


@pytest.mark.parametrize("how", sorted(BY_PYARROW))
def test_files_of_pyarrow(lake, firn, duck, spark, namespace, how):
    identifier = f"{namespace}.t"
    table_of_pyarrow(lake, identifier, BY_PYARROW[how])
    pages = rewrite_by_every_rung(lake, firn, duck, spark, identifier)
    assert (pages["splice"] > 0) == (how != "snappy"), "the table's codec is zstd"
    assert how != "dictionaries" or pages["splice"] - pages["keep"] >= 2 * FILES, "ids and texts need no dictionary"


def test_files_of_duckdb(lake, firn, duck, spark, namespace):
    identifier = f"{namespace}.t"
    table_of_duckdb(lake, duck, identifier)
    assert rewrite_by_every_rung(lake, firn, duck, spark, identifier)["splice"] > 0


@pytest.mark.parametrize("properties", [
    {"write.parquet.page-size-bytes": "20000"},
    {"write.parquet.page-row-limit": "500", "write.parquet.page-version": "v2", "format-version": "3"},
], ids=["version 1", "version 2"])
def test_files_of_spark(lake, firn, duck, spark, namespace, properties):
    identifier = f"{namespace}.t"
    table_of_spark(lake, spark, identifier, properties)
    assert rewrite_by_every_rung(lake, firn, duck, spark, identifier)["splice"] > 0


def test_deleted_rows_touch_only_their_pages(lake, firn, duck, spark, namespace):
    """Rows that Spark deletes by position; firn decodes the pages they are in and copies the others."""
    identifier = f"{namespace}.t"
    table_of_spark(lake, spark, identifier, {"write.parquet.page-row-limit": "500", "write.delete.mode": "merge-on-read",
                                             "format-version": "2", "write.parquet.dict-size-bytes": "1"})
    spark.sql(f"DELETE FROM {full_name(identifier)} WHERE id BETWEEN 700 AND 705 OR id BETWEEN 13900 AND 15100 OR id = 23999")
    before = digests_by_iceberg(spark, identifier)
    twin = lake.twin(identifier, "fastest")
    report = firn.compact(full_name(twin), options={"rewrite-all": "true", "layout": "fastest"})
    assert digests_by_iceberg(spark, twin) == before
    pages = report["pages"]
    assert copied(report) > 10 * pages["reasons"]["deleted-rows"]["pages"]
    assert pages["passed_over"]["pages"] > 0
    check_index_filters(spark, data_paths(lake.load(twin)))


def digests_by_iceberg(spark, identifier):
    columns = ", ".join(field.name for field in SCHEMA.fields)
    return [tuple(spark.read.option("vectorization-enabled", vectorised).table(full_name(identifier)).selectExpr(
        "count(*)", f"CAST(sum(CAST(xxhash64({columns}) AS DECIMAL(38, 0))) AS STRING)").first()) for vectorised in ("true", "false")]


def test_dictionaries_that_only_pay_when_joined(lake, firn, duck, namespace):
    """Each file has most of the values once, all files together have them many times: no layout gives the joint dictionary away."""
    identifier, random_, rows = f"{namespace}.t", random.Random(SEED), 10000
    table = lake.catalog.create_table(identifier, Schema(NestedField(1, "price", DoubleType())))
    folder = os.path.join(path_of(table.location()), "data")
    os.makedirs(folder, exist_ok=True)
    paths = [os.path.join(folder, f"part-{number}.parquet") for number in range(60)]
    arrow = schema_to_pyarrow(table.schema(), include_field_ids=True)
    for path in paths:
        prices = [random_.randrange(50000) / 100 for _ in range(rows)]
        parquet.write_table(pa.Table.from_pydict({"price": prices}, schema=arrow), path, compression="zstd")
    table.add_files(paths)

    def digest_and_size(twin):
        (path,) = data_paths(lake.load(twin))
        return duck.execute(f"SELECT count(*), sum(hash(price)::HUGEINT) FROM '{path}'").fetchone(), os.path.getsize(path)

    listed = ", ".join(f"'{path}'" for path in paths)
    before = duck.execute(f"SELECT count(*), sum(hash(price)::HUGEINT) FROM read_parquet([{listed}])").fetchone()
    sizes = {}
    for layout in ("fastest", "balanced", "smallest"):
        twin = lake.twin(identifier, layout)
        firn.compact(full_name(twin), options={"rewrite-all": "true", "layout": layout})
        digest, sizes[layout] = digest_and_size(twin)
        assert digest == before
    assert max(sizes.values()) < 1.02 * sizes["fastest"]
    assert sizes["fastest"] < 0.8 * sum(os.path.getsize(path) for path in paths)
