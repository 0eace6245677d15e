"""Tables of all kinds, each made by the engine that its function's decorator names.

A function gets the lake (and Spark) and an identifier; it makes the table with at least two small files in some partition.
"""
import datetime
import decimal
import math
import uuid

import pyarrow as pa
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.types import (
    BinaryType, BooleanType, DateType, DecimalType, DoubleType, FixedType, FloatType, IntegerType, ListType, LongType, MapType,
    NestedField, StringType, StructType, TimestampType, TimestamptzType, TimeType, UUIDType,
)

from lake import full_name

PYICEBERG_TABLES = {}
SPARK_TABLES = {}
UTC = datetime.timezone.utc


def by_pyiceberg(function):
    PYICEBERG_TABLES[function.__name__] = function
    return function


def by_spark(function):
    SPARK_TABLES[function.__name__] = function
    return function


def some(value, index, every=7):
    """Null at every seventh row."""
    return None if index % every == every - 1 else value


ALL_TYPES = Schema(
    NestedField(1, "flag", BooleanType(), required=False),
    NestedField(2, "i", IntegerType(), required=False),
    NestedField(3, "l", LongType(), required=True),
    NestedField(4, "f", FloatType(), required=False),
    NestedField(5, "d", DoubleType(), required=False),
    NestedField(6, "dec9", DecimalType(9, 2), required=False),
    NestedField(7, "dec18", DecimalType(18, 4), required=False),
    NestedField(8, "dec38", DecimalType(38, 10), required=False),
    NestedField(9, "day", DateType(), required=False),
    NestedField(10, "tod", TimeType(), required=False),
    NestedField(11, "ts", TimestampType(), required=False),
    NestedField(12, "tstz", TimestamptzType(), required=False),
    NestedField(13, "s", StringType(), required=False),
    NestedField(14, "u", UUIDType(), required=False),
    NestedField(15, "fix", FixedType(5), required=False),
    NestedField(16, "bin", BinaryType(), required=False),
    NestedField(17, "none", StringType(), required=False),
)

DOUBLES = [0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, -2.25e300, 5e-324]


def all_types_row(n):
    moment = datetime.datetime(1969, 12, 31, 23, 59, 59, 999999) + datetime.timedelta(hours=n * 1237, microseconds=n * 7)
    return {
        "flag": some(n % 3 == 0, n),
        "i": some((n * 2654435761) % 2**32 - 2**31, n + 1),
        "l": n * 1000003 - 5,
        "f": some([0.0, -0.0, math.nan, math.inf, 1.5][n % 5], n + 2),
        "d": some(DOUBLES[n % len(DOUBLES)], n + 3),
        "dec9": some(decimal.Decimal(n * 137 - 9999999) / 100, n),
        "dec18": some(decimal.Decimal(n * 10**11 - 10**13).scaleb(-4), n + 1),
        "dec38": some(decimal.Decimal((-1) ** n * n * 10**25).scaleb(-10), n + 2),
        "day": some(datetime.date(1969, 12, 25) + datetime.timedelta(days=n % 50), n + 3),
        "tod": some(datetime.time(n % 24, n % 60, (n * 7) % 60, n), n + 4),
        "ts": some(moment, n + 5),
        "tstz": some(moment.replace(tzinfo=UTC), n),
        "s": some(["", "plain", "ümläut €", "x" * 40, "\U0001f9ca" * 20][n % 5] + str(n % 11), n + 1),
        "u": some(uuid.UUID(int=n * 2**120 // 50 + n), n + 2),
        "fix": some(bytes([n % 256, 0, 255, 128, n // 256]), n + 3),
        "bin": some(bytes(range(n % 30)), n + 4),
        "none": None,
    }


def arrow_rows(schema, rows):
    columns = {field.name: [row[field.name] for row in rows] for field in schema.fields}
    arrow = schema.as_arrow()
    arrays = []
    for field in arrow:
        values = columns[field.name]
        if any(isinstance(value, uuid.UUID) for value in values):
            values = [None if value is None else value.bytes for value in values]
            storage = field.type.storage_type if hasattr(field.type, "storage_type") else field.type
            array = pa.array(values, storage)
            arrays.append(pa.ExtensionArray.from_storage(field.type, array) if storage != field.type else array)
        else:
            arrays.append(pa.array(values, field.type))
    return pa.Table.from_arrays(arrays, schema=arrow)


@by_pyiceberg
def all_types(lake, identifier):
    table = lake.catalog.create_table(identifier, ALL_TYPES)
    for commit in range(6):
        table.append(arrow_rows(ALL_TYPES, [all_types_row(n) for n in range(commit * 40, commit * 40 + 40)]))


EVENTS = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "at", TimestamptzType(), required=False),
    NestedField(3, "kind", StringType(), required=False),
    NestedField(4, "amount", DecimalType(12, 2), required=False),
)
KINDS = ["click", "a/b=c d", "ünï", "", "view"]


def event_rows(first, count, days=4):
    start = datetime.datetime(2024, 2, 27, 22, 30, tzinfo=UTC)
    return [{
        "id": some(n, n, 13),
        "at": start + datetime.timedelta(days=n % days, minutes=n * 7, microseconds=n),
        "kind": some(KINDS[n % len(KINDS)], n, 11),
        "amount": some(decimal.Decimal(n * 31 - 500) / 100, n, 5),
    } for n in range(first, first + count)]


def append_events(table, commits=5, count=60):
    for commit in range(commits):
        table.append(arrow_rows(EVENTS, event_rows(commit * count, count)))


@by_pyiceberg
def unpartitioned(lake, identifier):
    append_events(lake.catalog.create_table(identifier, EVENTS))


@by_pyiceberg
def version_1(lake, identifier):
    append_events(lake.catalog.create_table(identifier, EVENTS, properties={"format-version": "1"}))


@by_pyiceberg
def by_day(lake, identifier):
    spec = PartitionSpec(PartitionField(2, 1000, DayTransform(), "at_day"))
    append_events(lake.catalog.create_table(identifier, EVENTS, partition_spec=spec))


@by_pyiceberg
def by_odd_strings(lake, identifier):
    spec = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "kind"))
    append_events(lake.catalog.create_table(identifier, EVENTS, partition_spec=spec))


@by_pyiceberg
def nested(lake, identifier):
    schema = Schema(
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "point", StructType(
            NestedField(3, "x", DoubleType(), required=False),
            NestedField(4, "tag", StructType(NestedField(5, "name", StringType(), required=False)), required=False),
        ), required=False),
        NestedField(6, "numbers", ListType(7, LongType(), element_required=False), required=False),
        NestedField(8, "ranks", MapType(9, StringType(), 10, ListType(11, IntegerType(), element_required=False),
                                        value_required=False), required=False),
    )
    table = lake.catalog.create_table(identifier, schema)
    for commit in range(5):
        table.append(arrow_rows(table.schema(), [{
            "id": n,
            "point": some({"x": some(n / 3, n, 4), "tag": some({"name": some(f"t{n}", n, 3)}, n, 5)}, n, 6),
            "numbers": some([some(k, k, 3) for k in range(n % 5)], n, 7),
            "ranks": some([(f"k{k}", some(list(range(k)), k, 3)) for k in range(n % 4)], n, 8),
        } for n in range(commit * 30, commit * 30 + 30)]))


@by_pyiceberg
def evolved_schema(lake, identifier):
    """Columns added, renamed, moved, dropped and widened between the commits."""
    schema = Schema(
        NestedField(1, "id", IntegerType(), required=False),
        NestedField(2, "ratio", FloatType(), required=False),
        NestedField(3, "price", DecimalType(9, 2), required=False),
        NestedField(4, "gone", StringType(), required=False),
    )
    table = lake.catalog.create_table(identifier, schema)

    def append(**columns):
        arrow = lake.load(identifier).schema().as_arrow()
        table.refresh()
        table.append(pa.table([pa.array(columns[field.name], field.type) for field in arrow], schema=arrow))

    append(id=[1, 2, None], ratio=[0.5, math.nan, None], price=[decimal.Decimal("1.25"), None, decimal.Decimal("-9.99")],
           gone=["a", "b", None])
    with table.update_schema() as update:
        update.add_column("note", StringType())
        update.update_column("id", LongType())
        update.update_column("ratio", DoubleType())
    append(id=[2**40, 4], ratio=[1e300, 0.1], price=[None, decimal.Decimal("3.00")], gone=["c", None], note=["n", None])
    with table.update_schema() as update:
        update.delete_column("gone")
        update.rename_column("note", "remark")
        update.update_column("price", DecimalType(18, 2))
    with table.update_schema() as update:
        update.move_first("remark")
    append(id=[5], ratio=[2.5], price=[decimal.Decimal("123456789012.34")], remark=["r"])
    with table.update_schema() as update:
        update.add_column("gone", LongType())
    append(id=[6, 7], ratio=[None, 1.0], price=[None, None], remark=[None, "z"], gone=[77, None])


@by_pyiceberg
def evolved_spec(lake, identifier):
    """Files of three specs; all must end in the partitions of the last."""
    table = lake.catalog.create_table(identifier, EVENTS)
    append_events(table, 2)
    with table.update_spec() as update:
        update.add_field("kind", IdentityTransform(), "kind")
    append_events(table, 2)
    with table.update_spec() as update:
        update.remove_field("kind")
        update.add_field("at", DayTransform(), "at_day")
    append_events(table, 2)


def insert(spark, identifier, select):
    spark.sql(f"INSERT INTO {full_name(identifier)} {select}")


def create(spark, identifier, columns, rest=""):
    spark.sql(f"CREATE TABLE {full_name(identifier)} ({columns}) USING iceberg {rest}")


@by_spark
def spark_day_and_bucket(spark, identifier):
    create(spark, identifier, "id bigint, at timestamp, s string", "PARTITIONED BY (days(at), bucket(2, id))")
    for commit in range(3):
        insert(spark, identifier, f"""
            SELECT id, timestamp'2023-12-31 20:00:00' + make_interval(0, 0, 0, 0, cast(id % 3 * 20 as int)), concat('s', id)
            FROM range({commit * 50}, {commit * 50 + 50}) ORDER BY id""")


@by_spark
def spark_truncate_and_hour(spark, identifier):
    create(spark, identifier, "s string, n decimal(10, 2), at timestamp_ntz",
           "PARTITIONED BY (truncate(2, s), truncate(50, n), hours(at))")
    for commit in range(3):
        insert(spark, identifier, f"""
            SELECT concat(array('ab', 'a€x', '')[id % 3], id % 4), cast(id % 3 * 40.25 - 45 AS decimal(10, 2)),
                   timestamp_ntz'1969-12-31 23:30:00' + make_interval(0, 0, 0, 0, cast(id % 2 as int))
            FROM range({commit * 20}, {commit * 20 + 20})""")


@by_spark
def spark_identity_of_all_types(spark, identifier):
    create(spark, identifier, "b boolean, i int, l bigint, f float, d double, m decimal(20, 3), day date, s string, x binary, v int",
           "PARTITIONED BY (b, i, l, f, d, m, day, s, x)")
    for commit in range(3):
        insert(spark, identifier, f"""
            SELECT id = 1, if(id = 2, null, -7), 9007199254740993, float('1.5'), double('-0.25'), 12.345, date'1960-02-29',
                   'a b/c', X'00FF', {commit} FROM range(3)""")


@by_spark
def spark_nested(spark, identifier):
    create(spark, identifier, """id bigint, tags array<struct<k: string, v: array<int>>>, bag map<string, struct<a: int, b: double>>,
        deep struct<a: struct<b: array<map<int, string>>>>""")
    for commit in range(4):
        insert(spark, identifier, f"""
            SELECT id,
                   if(id % 5 = 0, null, transform(sequence(1, int(id % 4)),
                      n -> if(n = 2, null, named_struct('k', concat('k', n), 'v', if(n = 3, null, array(n, null, id)))))),
                   if(id % 3 = 0, null, map(concat('m', id), named_struct('a', int(id), 'b', double('NaN')))),
                   if(id % 4 = 0, null, named_struct('a', if(id % 4 = 1, null,
                      named_struct('b', array(map(1, 'x', int(id), null), null, map())))))
            FROM range({commit * 25 + 1}, {commit * 25 + 26})""")


@by_spark
def spark_evolved(spark, identifier):
    """Nested fields come and go, partition fields too.

    A list element keeps one field throughout: Spark reads elements of which no field is left as an empty list.
    """
    name = full_name(identifier)
    create(spark, identifier, "id int, s struct<a: int, b: string>, list array<struct<x: int, w: int>>")
    insert(spark, identifier, "SELECT id, named_struct('a', id, 'b', 'b'), array(named_struct('x', id, 'w', 1)) FROM range(10)")
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS (s.c double, list.element.y string, extra date)")
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN id TYPE bigint")
    insert(spark, identifier, """
        SELECT id + 1099511627776, named_struct('a', id, 'b', null, 'c', 1.5), array(named_struct('x', 1, 'w', 2, 'y', 'y'), null),
               date'2020-01-01' FROM range(10)""")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN s.b TO renamed")
    spark.sql(f"ALTER TABLE {name} DROP COLUMN list.element.x")
    spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD bucket(2, id)")
    insert(spark, identifier, """
        SELECT id, named_struct('a', id, 'renamed', 'r', 'c', null), array(named_struct('w', 3, 'y', 'z')), null FROM range(20)""")
    spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD extra")
    spark.sql(f"ALTER TABLE {name} DROP PARTITION FIELD bucket(2, id)")
    insert(spark, identifier, "SELECT id, null, null, date'2021-06-01' FROM range(5)")
    insert(spark, identifier, "SELECT id, null, array(), date'2021-06-01' FROM range(5)")


@by_spark
def spark_version_1(spark, identifier):
    create(spark, identifier, "id bigint, p string", "PARTITIONED BY (p) TBLPROPERTIES ('format-version' = '1')")
    for commit in range(4):
        insert(spark, identifier, f"SELECT id, if(id % 3 = 0, null, concat('p', id % 2)) FROM range({commit * 10}, {commit * 10 + 10})")


@by_spark
def spark_tuned_writer(spark, identifier):
    """Small pages and row groups, another codec, no dictionary: the properties firn has to honour, too."""
    create(spark, identifier, "id bigint, s string, f float", """TBLPROPERTIES ('write.parquet.compression-codec' = 'gzip',
        'write.parquet.page-size-bytes' = '1024', 'write.parquet.page-row-limit' = '100', 'write.parquet.dict-size-bytes' = '2048',
        'write.parquet.row-group-size-bytes' = '20000', 'write.metadata.metrics.default' = 'truncate(4)',
        'write.metadata.metrics.column.f' = 'counts', 'write.metadata.compression-codec' = 'gzip')""")
    for commit in range(4):
        insert(spark, identifier, f"""
            SELECT id, concat('value ', sha2(string(id), 256)), float(id) FROM range({commit * 900}, {commit * 900 + 900})""")
