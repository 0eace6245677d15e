"""Tables by Spark with random schemas, commits and evolution survive compaction unchanged.

FIRN_SEED gives the first seed, FIRN_PROPERTY_RUNS the number of tables; each failure names the seed that repeats it alone.
"""
import datetime
import decimal
import os
import random

import pytest

from checks import (
    check_files, check_filters_of_pyiceberg, check_filters_of_spark, check_nothing_left, check_summary, check_verified,
    right_filters,
)
from engines import canonical, rows_of_duckdb, rows_of_spark
from lake import full_name
from seeds import first_seed

FIRST_SEED = first_seed(2000)
RUNS = int(os.environ.get("FIRN_PROPERTY_RUNS") or 3)

PRIMITIVES = ["boolean", "int", "bigint", "float", "double", "date", "timestamp", "timestamp_ntz", "string", "binary",
              "decimal(7,2)", "decimal(15,5)", "decimal(38,12)"]
PROMOTIONS = {"int": "bigint", "float": "double", "decimal(7,2)": "decimal(12,2)", "decimal(15,5)": "decimal(30,5)"}
PARTITIONS = {
    "int": ["{}", "bucket(3, {})", "truncate(10, {})"],
    "bigint": ["bucket(2, {})", "truncate(100, {})"],
    "string": ["{}", "bucket(2, {})", "truncate(1, {})"],
    "date": ["{}", "months({})", "years({})", "days({})"],
    "timestamp": ["days({})", "months({})", "years({})", "bucket(2, {})"],
    "timestamp_ntz": ["months({})"],
    "boolean": ["{}"],
    "decimal(7,2)": ["{}", "truncate(100, {})", "bucket(2, {})"],
    "binary": ["bucket(2, {})"],
}


class Draw:
    """A random table: its columns with types as trees, and rows to match."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.columns = {f"c{n}": self.kind(0) for n in range(self.random.randint(2, 8))}
        self.columns = {"k": "int", **self.columns}
        self.serial = 100

    def kind(self, depth):
        shape = self.random.random()
        if depth < 3 and shape < 0.12:
            return ("array", self.kind(depth + 1))
        if depth < 3 and shape < 0.2:
            return ("map", self.random.choice(["string", "int", "date"]), self.kind(depth + 1))
        if depth < 3 and shape < 0.35:
            return ("struct", {f"f{n}": self.kind(depth + 1) for n in range(self.random.randint(1, 3))})
        return self.random.choice(PRIMITIVES)

    def value(self, kind, null=0.15):
        pick = self.random
        if pick.random() < null:
            return None
        if isinstance(kind, tuple):
            if kind[0] == "array":
                return [self.value(kind[1]) for _ in range(pick.randint(0, 4))]
            if kind[0] == "map":
                return {self.value(kind[1], 0): self.value(kind[2]) for _ in range(pick.randint(0, 3))}
            return {name: self.value(field) for name, field in kind[1].items()}
        if kind.startswith("decimal"):
            precision, scale = map(int, kind[8:-1].split(","))
            digits = pick.randint(1, precision)
            return decimal.Decimal(pick.randint(-(10**digits) + 1, 10**digits - 1)).scaleb(-scale, decimal.Context(prec=40))
        return {
            "boolean": lambda: pick.random() < 0.5,
            "int": lambda: pick.choice([0, -1, 2**31 - 1, -(2**31), pick.randint(-50, 50)]),
            "bigint": lambda: pick.choice([0, 2**63 - 1, -(2**63), pick.randint(-10**12, 10**12)]),
            "float": lambda: float(pick.choice([0.0, -0.0, 0.5, -3.25, float("inf"), float("nan"), pick.randint(-999, 999) / 8])),
            "double": lambda: pick.choice([0.0, -0.0, 1e300, float("-inf"), float("nan"), pick.random()]),
            "date": lambda: datetime.date(1970, 1, 1) + datetime.timedelta(days=pick.randint(-800, 800)),
            "timestamp": lambda: datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc) + self.span(),
            "timestamp_ntz": lambda: datetime.datetime(1970, 1, 1) + self.span(),
            "string": lambda: "".join(pick.choice("abé€\U0001f9caZ 0/=") for _ in range(pick.choice([0, 1, 5, 40]))),
            "binary": lambda: bytearray(pick.randbytes(pick.choice([0, 1, 16, 33]))),
        }[kind]()

    def span(self):
        return datetime.timedelta(days=self.random.randint(-400, 400), microseconds=self.random.randint(0, 86399999999))

    def rows(self, count):
        return [tuple(self.value(kind) for kind in self.columns.values()) for _ in range(count)]

    def schema(self):
        return ", ".join(f"{name} {sql_of(kind)}" for name, kind in self.columns.items())

    def evolution(self):
        """One ALTER TABLE clause, or None; the columns follow."""
        step = self.random.choice(["add", "drop", "rename", "widen", "none"])
        self.serial += 1
        name = self.random.choice([column for column in self.columns if column != "k"] or ["k"])
        if step == "add":
            kind = self.kind(1)
            self.columns[f"n{self.serial}"] = kind
            return f"ADD COLUMN n{self.serial} {sql_of(kind)}"
        if step == "drop" and name != "k" and len(self.columns) > 2:
            del self.columns[name]
            return f"DROP COLUMN {name}"
        if step == "rename" and name != "k":
            self.columns = {f"r{self.serial}" if column == name else column: kind for column, kind in self.columns.items()}
            return f"RENAME COLUMN {name} TO r{self.serial}"
        if step == "widen":
            for column, kind in self.columns.items():
                if isinstance(kind, str) and kind in PROMOTIONS and column != "k":
                    self.columns[column] = PROMOTIONS[kind]
                    return f"ALTER COLUMN {column} TYPE {PROMOTIONS[kind]}"
        return None

    def partition(self):
        choices = [(name, form) for name, kind in self.columns.items() if isinstance(kind, str) for form in PARTITIONS.get(kind, [])]
        name, form = self.random.choice(choices)
        return form.format(name)


def sql_of(kind):
    if isinstance(kind, str):
        return kind
    if kind[0] == "array":
        return f"array<{sql_of(kind[1])}>"
    if kind[0] == "map":
        return f"map<{sql_of(kind[1])}, {sql_of(kind[2])}>"
    return "struct<" + ", ".join(f"{name}: {sql_of(field)}" for name, field in kind[1].items()) + ">"


def append(spark, draw, identifier, count):
    from pyspark.sql import types

    schema = types._parse_datatype_string(draw.schema())
    spark.createDataFrame(draw.rows(count), schema).coalesce(1).writeTo(full_name(identifier)).append()


def build(spark, draw, identifier):
    """Three chapters of commits with evolution of schema and spec between them."""
    name = full_name(identifier)
    version = draw.random.choice([1, 2, 2, 2])
    partitioned = f"PARTITIONED BY ({draw.partition()})" if draw.random.random() < 0.5 else ""
    spark.sql(f"CREATE TABLE {name} ({draw.schema()}) USING iceberg {partitioned} TBLPROPERTIES "
              f"('format-version' = '{version}', 'write.distribution-mode' = 'hash', 'write.spark.accept-any-schema' = 'false')")
    for _ in range(3):
        for _ in range(2):
            append(spark, draw, identifier, draw.random.randint(1, 60))
        for _ in range(2):
            clause = draw.evolution()
            if clause and not any(clause.split()[2] in str(field) for field in partition_sources(spark, identifier)):
                spark.sql(f"ALTER TABLE {name} {clause}")
            elif clause:
                # A source of a partition field stays as it is; take the column back as it was.
                draw.columns = columns_of(spark, identifier)
        if draw.random.random() < 0.3:
            field = draw.partition()
            if "PARTITIONED" not in partitioned:
                spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD {field}")
                partitioned = "PARTITIONED"
    append(spark, draw, identifier, 20)
    append(spark, draw, identifier, 20)


def partition_sources(spark, identifier):
    rows = spark.sql(f"DESCRIBE TABLE {full_name(identifier)}").collect()
    return [row.data_type for row in rows if row.col_name.startswith("Part ")]


def columns_of(spark, identifier):
    def tree(kind):
        name = kind.typeName()
        if name == "array":
            return ("array", tree(kind.elementType))
        if name == "map":
            return ("map", kind.keyType.simpleString(), tree(kind.valueType))
        if name == "struct":
            return ("struct", {field.name: tree(field.dataType) for field in kind.fields})
        return kind.simpleString()

    return {field.name: tree(field.dataType) for field in spark.table(full_name(identifier)).schema.fields}


def without_empty_lists(value):
    """None in place of empty lists: PyIceberg reads a null list of structs as an empty one. Spark and DuckDB tell them apart."""
    if isinstance(value, dict):
        return {key: without_empty_lists(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(without_empty_lists(item) for item in value) or None
    return value


def rows_of_pyiceberg(table):
    return canonical(without_empty_lists(table.scan().to_arrow().to_pylist()))


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + RUNS))
def test_random_tables_survive(lake, firn, duck, spark, namespace, seed):
    print(f"FIRN_SEED={seed} FIRN_PROPERTY_RUNS=1 repeats this table")
    draw = Draw(seed)
    identifier = f"{namespace}.random"
    build(spark, draw, identifier)
    before = lake.load(identifier)
    snapshot_id = before.current_snapshot().snapshot_id
    rows = {
        "pyiceberg": rows_of_pyiceberg(before),
        "spark": rows_of_spark(spark, identifier),
        "duckdb": rows_of_duckdb(duck, before.metadata_location),
    }
    filters = right_filters(before)
    report = firn.compact(full_name(identifier), options={"rewrite-all": "true"})
    assert report["rewritten_data_files_count"] > 0 < report["added_data_files_count"]
    table = lake.load(identifier)
    assert rows_of_spark(spark, identifier) == rows["spark"]
    assert rows_of_pyiceberg(table) == rows["pyiceberg"]
    assert rows_of_duckdb(duck, table.metadata_location) == rows["duckdb"]
    assert rows_of_spark(spark, identifier, snapshot_id) is not None
    check_files(table)
    check_summary(table, snapshot_id)
    check_filters_of_pyiceberg(table, filters)
    check_filters_of_spark(spark, identifier)
    check_nothing_left(table.location(), table.metadata_location)
    check_verified(firn, identifier, "--deep")
