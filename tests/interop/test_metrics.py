"""For the same table, settings and call, the manifests of firn's rewrite say of every column what those of Spark's say."""
import pytest

from checks import pairs
from iceberg_files import live_files
from lake import full_name
from twice import Twice

MAPS = ("value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")

SELECTS = [
    # code points past the surrogates, the last one, the one before the surrogates; bytes that cannot be incremented
    "1 AS i, 5000000000L AS l, 'aaaaaaaaaaaaaaaaaaaaaaaa' AS s, X'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF' AS b, double('NaN') AS d, "
    "float(1.5) AS f, CAST('-12.34' AS DECIMAL(9, 2)) AS m, DATE '1969-12-31' AS day, TIMESTAMP '2026-01-01 00:00:00.123456' AS t, true AS yes, "
    "CAST(NULL AS STRING) AS none, named_struct('a', 1, 'b', 'bbbbbbbbbbbbbbbbbbbbbbbbb', 'c', named_struct('d', 'deep deep deep deep deep')) AS st, "
    "array(1, NULL) AS xs, map('k', 'v') AS kv",
    "-7, 2L, concat(repeat('\U0010ffff', 20)), X'00', -0.0D, float('NaN'), CAST(99.99 AS DECIMAL(9, 2)), DATE '2030-01-01', "
    "TIMESTAMP '1960-01-01 00:00:00', false, NULL, named_struct('a', 2, 'b', 'a', 'c', named_struct('d', NULL)), array(), map()",
    "NULL, 3L, concat(repeat('\ud7ff', 15), '\ud7ff\U0010ffff\U0010ffff'), X'0102030405060708090A0B0C0D0E0F10FF', 0.0D, float(-2), NULL, NULL, NULL, NULL, "
    "NULL, NULL, NULL, NULL",
]

SETTINGS = {
    "as Spark has it": {},
    "none": {"write.metadata.metrics.default": "none"},
    "counts, some columns more": {"write.metadata.metrics.default": "counts", "write.metadata.metrics.column.s": "truncate(3)",
                                  "write.metadata.metrics.column.st.b": "full", "write.metadata.metrics.column.none": "none",
                                  "write.metadata.metrics.column.xs.element": "full"},
    "full": {"write.metadata.metrics.default": "full"},
    "truncated to 1": {"write.metadata.metrics.default": "Truncate(1)"},
    "the first columns": {"write.metadata.metrics.max-inferred-column-defaults": "4"},
    "the first columns, nested": {"write.metadata.metrics.max-inferred-column-defaults": "13", "write.metadata.metrics.column.kv.key": "counts"},
    "no columns": {"write.metadata.metrics.max-inferred-column-defaults": "0"},
    "a default beside a limit": {"write.metadata.metrics.default": "counts", "write.metadata.metrics.max-inferred-column-defaults": "2"},
    "no mode": {"write.metadata.metrics.default": "most", "write.metadata.metrics.column.s": "truncate(0)",
                "write.metadata.metrics.column.l": "truncate(x)"},
}
# Sorted columns are promoted where the default is none or counts.
SORTED = {
    "sorted, counts": {"write.metadata.metrics.default": "counts", "write.metadata.metrics.column.day": "none"},
    "sorted, none": {"write.metadata.metrics.default": "none"},
    "sorted, the first columns": {"write.metadata.metrics.max-inferred-column-defaults": "1"},
    "sorted, full": {"write.metadata.metrics.default": "full"},
}


def make_table(spark, identifier, version):
    name = full_name(identifier)
    first, *others = SELECTS
    for number, select in enumerate((first, " UNION ALL ".join(f"SELECT {other}" for other in others))):
        if number == 0:
            spark.sql(f"CREATE TABLE {name} USING iceberg TBLPROPERTIES ('format-version' = '{version}') AS SELECT {select}")
        else:
            spark.sql(f"INSERT INTO {name} {select}")


@pytest.fixture(scope="module", params=[2, 3])
def twice(request, lake, spark):
    identifier = f"{lake.new_namespace()}.measured"
    make_table(spark, identifier, request.param)
    return Twice(lake, identifier)


@pytest.fixture(scope="module")
def ordered(lake, spark):
    identifier = f"{lake.new_namespace()}.ordered"
    make_table(spark, identifier, 2)
    spark.sql(f"ALTER TABLE {full_name(identifier)} WRITE ORDERED BY s, bucket(4, i), st.b DESC, truncate(2, b), days(t), day")
    return Twice(lake, identifier)


def set_properties(spark, name, properties):
    if properties:
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({', '.join(f'{key!r} = {value!r}' for key, value in properties.items())})")


def metrics_of(metadata):
    (file,) = live_files(metadata)
    found = {key: pairs(file[key]) for key in MAPS}
    found["column_sizes"] = dict.fromkeys(pairs(file["column_sizes"]))
    assert file["record_count"] == 3
    return found


def compare(twice, spark, firn, properties, comparable=lambda found: found):
    def by_spark(name):
        set_properties(spark, name, properties)
        spark.sql(f"CALL lake.system.rewrite_data_files(table => '{twice.identifier}', options => map('rewrite-all', 'true'))").collect()
        return metrics_of(twice.metadata())

    def by_firn(name):
        set_properties(spark, name, properties)
        firn.compact(name, options={"rewrite-all": "true"})
        firn("--quiet", "verify", "--deep", name)
        return metrics_of(twice.metadata())

    wanted, _, _ = twice.run(by_spark)
    found, _, _ = twice.run(by_firn)
    wanted, found = comparable(wanted), comparable(found)
    different = {key: (found[key], values) for key, values in wanted.items() if found[key] != values}
    assert not different, different


@pytest.mark.parametrize("settings", SETTINGS)
def test_same_metrics(twice, spark, firn, settings):
    compare(twice, spark, firn, SETTINGS[settings])


def test_counts_without_statistics(twice, spark, firn):
    """Where the Parquet statistics of a column are switched off, Spark knows nothing of it; firn counted."""
    compare(twice, spark, firn, {"write.parquet.stats-enabled.column.l": "false"}, lambda found: {
        key: {field: value for field, value in values.items() if field != 2} for key, values in found.items()})


@pytest.mark.parametrize("settings", SORTED)
def test_same_metrics_of_sorted_columns(ordered, spark, firn, settings):
    compare(ordered, spark, firn, SORTED[settings])
