"""The tables that bench.py compacts: rows from hashes of their number, so that every run makes the same, written by the
program that the case is about."""
import json
import os
import shutil
import sys

from measure import THREADS, measure_spark

SEED = 20240229

TRANSACTIONS = {
    "id": ("long", "range"),
    "account_id": ("long", f"CAST(hash(range, {SEED}) % 200000 AS BIGINT)"),
    "amount": ("decimal(12, 2)", "CAST(pow(10, (hash(range, 1) % 5000) / 1000.0) AS DECIMAL(12, 2))"),
    "created_at": ("timestamptz", "TIMESTAMPTZ '2024-01-01 00:00:00+00' "
                   "+ to_microseconds(CAST(range * 1300000 + hash(range, 2) % 1000 * 1000 AS BIGINT))"),
    "merchant": ("string", "'Merchant ' || CAST(floor(pow(hash(range, 3) % 1000000 / 1000000.0, 2) * 4000) AS INTEGER) || ' ' "
                 "|| ['Ltd', 'GmbH', 'Inc', 'SA'][CAST(1 + hash(range, 3) % 4 AS BIGINT)]"),
    "txn": ("string", f"substr(md5(range || 'a{SEED}'), 1, 8) || '-' || substr(md5(range || 'b'), 1, 4) || '-4' "
            f"|| substr(md5(range || 'c'), 1, 3) || '-a' || substr(md5(range || 'd'), 1, 3) || '-' "
            f"|| substr(md5(range || 'e{SEED}'), 1, 12)"),
}


def wide_columns():
    """Measures, flags, codes and dates, as feature tables have them."""
    kinds = [
        ("double", "CAST(hash(range, {n}) % 1000000 AS DOUBLE) / 997"),
        ("int", "CAST(hash(range, {n}) % 50 AS INTEGER)"),
        ("long", "CAST(range * {n} + hash(range, {n}) % 100 AS BIGINT)"),
        ("string", "'code-' || CAST(hash(range, {n}) % 300 AS VARCHAR)"),
        ("date", "DATE '2020-01-01' + CAST(hash(range, {n}) % 1500 AS INTEGER)"),
        ("double", "CASE WHEN hash(range, {n}) % 10 = 0 THEN NULL ELSE CAST(hash(range, {n}) % 10000 AS DOUBLE) END"),
    ]
    return {f"c{n:03}": (kinds[n % len(kinds)][0], kinds[n % len(kinds)][1].format(n=n)) for n in range(300)}


NESTED = {
    "id": ("long", "range"),
    "customer": ({"name": "string", "address": {"city": "string", "zip": "int"}},
                 "CASE WHEN range % 17 = 0 THEN NULL ELSE {'name': 'Customer ' || hash(range, 1) % 5000, "
                 "'address': {'city': 'City ' || hash(range, 2) % 300, 'zip': CAST(hash(range, 3) % 99999 AS INTEGER)}} END"),
    "items": ([{"sku": "string", "quantity": "int", "price": "double"}],
              "list_transform(range(CAST(hash(range, 4) % 7 AS BIGINT)), x -> {'sku': 'SKU-' || (hash(range, x) % 20000), "
              "'quantity': CAST(hash(range, x + 100) % 9 AS INTEGER), 'price': CAST(hash(range, x + 200) % 99999 AS DOUBLE) / 100})"),
    "tags": (["string"], "list_transform(range(CAST(hash(range, 5) % 4 AS BIGINT)), x -> 'tag' || (hash(range, x + 300) % 40))"),
    "attributes": ({"key": "string", "value": "string"},
                   "map(list_transform(range(CAST(hash(range, 6) % 3 AS BIGINT)), x -> 'key' || x), "
                   "list_transform(range(CAST(hash(range, 6) % 3 AS BIGINT)), x -> 'value ' || (hash(range, x + 400) % 1000)))"),
}

LONG_STRINGS = {
    "id": ("long", "range"),
    "level": ("string", "['INFO', 'WARN', 'ERROR'][CAST(1 + hash(range, 1) % 3 AS BIGINT)]"),
    "message": ("string", "array_to_string(list_transform(range(CAST(5 + hash(range, 2) % 60 AS BIGINT)), "
                "x -> 'word' || (hash(range, x) % 3000)), ' ')"),
    "body": ("string", "'{\"request\":\"' || md5(range || 'r') || '\",\"trace\":\"' || md5(range || 't') || md5(range || 'u') "
             "|| '\",\"values\":[' || array_to_string(list_transform(range(CAST(hash(range, 3) % 120 AS BIGINT)), "
             "x -> CAST(hash(range, x + 50) % 100000 AS VARCHAR)), ',') || ']}'"),
}


class Case:
    """How a table is made: its columns, the number and size of its files, who writes them and how."""

    def __init__(self, title, columns, files, rows, writer="pyarrow", codec="zstd", dictionary=True, deletes=False):
        self.title, self.columns, self.files, self.rows = title, columns, files, rows
        self.writer, self.codec, self.dictionary, self.deletes = writer, codec, dictionary, deletes


CASES = {
    "a-duckdb": Case("transactions as DuckDB writes them", TRANSACTIONS, 4000, 5000, writer="duckdb"),
    "a-pyarrow": Case("transactions as PyArrow writes them", TRANSACTIONS, 4000, 5000),
    "a-plain": Case("transactions as PyArrow writes them without dictionaries", TRANSACTIONS, 4000, 5000, dictionary=False),
    "a-spark": Case("transactions as Spark writes them", TRANSACTIONS, 4000, 5000, writer="spark"),
    "b-wide": Case("300 columns", wide_columns(), 200, 2000),
    "c-nested": Case("lists, maps and structs", NESTED, 1000, 5000),
    "d-strings": Case("long strings", LONG_STRINGS, 400, 2000),
    "e-snappy": Case("transactions in snappy, to be zstd", TRANSACTIONS, 4000, 5000, codec="snappy"),
    "f-small": Case("files of 50 KB", TRANSACTIONS, 50000, 1400),
    "g-deletes": Case("transactions as Spark writes them, 1 % of the rows deleted", TRANSACTIONS, 4000, 5000, writer="spark",
                      deletes=True),
}

SPARK_WRITE = """
for key in ("maxPartitionBytes", "openCostInBytes"):  # opening one file costs as much as a task may: each gets its own
    spark.conf.set("spark.sql.files." + key, "64m")
name, folder, deletes = sys.argv[4:]
rows = spark.read.parquet(folder)
rows.writeTo("bench.bench." + name).option("distribution-mode", "none").option("fanout-enabled", "true").append()
if deletes == "1":
    spark.sql(f"DELETE FROM bench.bench.{name} WHERE pmod(xxhash64(id), 100) = 0")
"""


class Table:
    """The table of a case in a folder of its own: data files, a catalog beside them, and copies of that catalog to work on."""

    def __init__(self, cache, name, case, file_count):
        self.case, self.file_count = case, file_count
        self.name = name.replace("-", "_")
        self.folder = os.path.join(cache, f"{name}-{file_count}")
        self.warehouse = os.path.join(self.folder, "warehouse")
        self.data = os.path.join(self.warehouse, "bench", self.name, "data")
        self.metadata = os.path.join(self.warehouse, "bench", self.name, "metadata")

    def make(self):
        if os.path.exists(os.path.join(self.folder, "files.json")):
            return
        print(f"generating {self.file_count} files for '{self.case.title}', once ...", file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.data)
        table = self.create()
        if self.case.writer == "spark":
            self.write_by_spark()
        else:
            self.write_files(self.data)
            table.add_files(self.listed(), check_duplicate_files=False)
        with open(os.path.join(self.folder, "files.json"), "w", encoding="utf-8") as file:
            json.dump(self.listed(), file)

    def schema(self):
        from pyiceberg.schema import Schema
        from pyiceberg.types import (DateType, DecimalType, DoubleType, IntegerType, ListType, LongType, MapType, NestedField,
                                     StringType, StructType, TimestamptzType)

        plain = {"long": LongType(), "int": IntegerType(), "double": DoubleType(), "string": StringType(), "date": DateType(),
                 "timestamptz": TimestamptzType(), "decimal(12, 2)": DecimalType(12, 2)}
        last = [len(self.case.columns)]

        def number():
            last[0] += 1
            return last[0]

        def kind_of(kind):
            if isinstance(kind, str):
                return plain[kind]
            if isinstance(kind, list):
                return ListType(number(), kind_of(kind[0]), element_required=False)
            if set(kind) == {"key", "value"}:
                return MapType(number(), kind_of(kind["key"]), number(), kind_of(kind["value"]), value_required=False)
            return StructType(*[NestedField(number(), name, kind_of(member), required=False) for name, member in kind.items()])

        return Schema(*[NestedField(i, name, kind_of(kind), required=False)
                        for i, (name, (kind, _)) in enumerate(self.case.columns.items(), 1)])

    def create(self):
        catalog = self.catalog()
        catalog.create_namespace("bench")
        properties = {"format-version": "2", "write.delete.mode": "merge-on-read", "write.parquet.compression-codec": "zstd",
                      "write.metadata.metrics.max-inferred-column-defaults": "400"}
        return catalog.create_table(f"bench.{self.name}", self.schema(), properties=properties)

    def catalog(self):
        from pyiceberg.catalog.sql import SqlCatalog

        return SqlCatalog("bench", uri=f"sqlite:///{self.folder}/catalog.db", warehouse=f"file://{self.warehouse}")

    def write_files(self, folder):
        import duckdb
        import pyarrow.parquet as parquet
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        connection = duckdb.connect()
        connection.execute(f"SET TimeZone = 'UTC'; SET threads = {THREADS}")
        chosen = ", ".join(f"{value} AS {name}" for name, (_, value) in self.case.columns.items())
        ids = ", ".join(f"{name}: {number}" for number, name in enumerate(self.case.columns, 1))
        schema = schema_to_pyarrow(self.schema())
        rows = self.case.rows
        for number in range(self.file_count):
            query = f"SELECT {chosen} FROM range({number * rows}, {(number + 1) * rows})"
            path = os.path.join(folder, f"part-{number:06}.parquet")
            if self.case.writer == "duckdb":
                connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, CODEC {self.case.codec}, FIELD_IDS {{{ids}}})")
            else:
                parquet.write_table(connection.execute(query).to_arrow_table().cast(schema), path, compression=self.case.codec,
                                    use_dictionary=self.case.dictionary)

    def write_by_spark(self):
        staged = os.path.join(self.folder, "staged")
        os.makedirs(staged)
        self.write_files(staged)
        measure_spark(SPARK_WRITE, self.folder, self.warehouse, self.name, staged, str(int(self.case.deletes)))
        shutil.rmtree(staged)

    def listed(self):
        return sorted(entry.path for entry in os.scandir(self.data) if entry.name.endswith(".parquet"))

    def paths(self):
        """Data and delete files as they were made."""
        with open(os.path.join(self.folder, "files.json"), encoding="utf-8") as file:
            return json.load(file)

    def metadata_location(self):
        return self.catalog().load_table(f"bench.{self.name}").metadata_location

    def working_home(self):
        """A folder with a fresh copy of the catalog: each run starts from the table as it was generated."""
        home = os.path.join(self.folder, "home")
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(home)
        database = os.path.join(home, "catalog.db")
        shutil.copy(os.path.join(self.folder, "catalog.db"), database)
        with open(os.path.join(home, ".pyiceberg.yaml"), "w", encoding="utf-8") as file:
            file.write(f"catalog:\n  bench:\n    type: sql\n    uri: sqlite:///{database}\n    warehouse: file://{self.warehouse}\n")
        return home
