"""The engines: how each is started and how each reads the rows of a table."""
import glob
import math
import os
import re

import duckdb
import duckdb_extension_avro
import duckdb_extension_iceberg

from lake import NAME, full_name


def start_spark(lake, cores=2):
    from pyspark.sql import SparkSession

    jars = sorted(glob.glob(os.path.join(os.environ["FIRN_JARS"], "*.jar")))
    catalog = f"spark.sql.catalog.{NAME}"
    settings = {
        "spark.jars": ",".join(jars),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1500m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": os.path.join(lake.folder, "spark"),
        "spark.sql.warehouse.dir": os.path.join(lake.folder, "spark-warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.default.parallelism": str(cores),
        "spark.sql.adaptive.enabled": "false",
        # All rows are looked at before ranges are made: those of a sample differ from run to run.
        "spark.sql.execution.rangeExchange.sampleSizePerPartition": "1000000",
        # The tables are so small that compiling a query, by Spark and then by the JVM, takes most of its time. Expressions
        # stay compiled: interpreted ones of structs that are null give rows that Spark has not otherwise.
        "spark.sql.codegen.wholeStage": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "jdbc",
        f"{catalog}.uri": f"jdbc:sqlite:{lake.database}",
        # Looking whether its tables are there, the Java catalog leaves a query open, and so SQLite locked for all others.
        f"{catalog}.jdbc.init-catalog-tables": "false",
        f"{catalog}.warehouse": f"file://{lake.warehouse}",
        f"{catalog}.cache-enabled": "false",
    }
    os.environ["TZ"] = "UTC"
    builder = SparkSession.builder.master(f"local[{cores}]").appName("firn-interop")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def start_duckdb():
    """DuckDB with its Iceberg extension, which is shipped as Python packages and not signed for this build."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for module, name in ((duckdb_extension_avro, "avro"), (duckdb_extension_iceberg, "iceberg")):
        folder = os.path.join(os.path.dirname(module.__file__), "extensions")
        connection.execute(f"LOAD '{glob.glob(folder + f'/*/{name}.duckdb_extension')[0]}'")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET threads = 2")
    return connection


def plain(value):
    """A value that compares and sorts by its repr: NaN equals NaN, structs and maps are sorted pairs."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dict):
        return tuple(sorted(((str(key), plain(item)) for key, item in value.items())))
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bytearray):
        return bytes(value)
    return value


def canonical(rows):
    return sorted(repr(plain(row)) for row in rows)


def without_zone(rows):
    """Canonical rows to compare with Spark's, whose timestamps come without the zone, which is UTC here."""
    return [re.sub(r", tzinfo=(datetime.timezone.utc|zoneinfo.ZoneInfo\(key='UTC'\))", "", row) for row in rows]


def rows_of_pyiceberg(table, snapshot_id=None):
    return canonical(table.scan(snapshot_id=snapshot_id).to_arrow().to_pylist())


def rows_of_spark(spark, identifier, snapshot_id=None):
    version = f" VERSION AS OF {snapshot_id}" if snapshot_id is not None else ""
    rows = spark.sql(f"SELECT * FROM {full_name(identifier)}{version}").collect()
    return canonical(row.asDict(recursive=True) for row in rows)


def path_of(location):
    """The local path of a file: location."""
    for scheme in ("file://", "file:"):
        if location.startswith(scheme):
            return location.removeprefix(scheme)
    return location


def rows_of_duckdb(connection, metadata_location, snapshot_id=None):
    version = f", snapshot_from_id = {snapshot_id}" if snapshot_id is not None else ""
    result = connection.execute(f"SELECT * FROM iceberg_scan('{path_of(metadata_location)}'{version})")
    return canonical(result.to_arrow_table().to_pylist())
