"""Parquet files that firn writes, read by PyArrow, DuckDB and Spark.

The test program write_sample rewrites a file that PyArrow made; whatever encodings, page versions and page sizes it chooses, the
engines must read the same values, and what the file says of them must be true.
"""
import datetime
import decimal
import math
import os
import random
import subprocess

import pyarrow
import pyarrow.compute
import pyarrow.parquet
import pytest

from firn import PROGRAM

WRITE_SAMPLE = os.path.join(os.path.dirname(PROGRAM), "..", "..", "tests", "format", "write_sample")
ROWS = 3000
SEED = 20260801

OPTIONS = {
    "plain": ["codec=uncompressed", "dictionary_bytes=0"],
    "default": [],
    "version 2": ["version=2"],
    "snappy": ["codec=snappy", "page_rows=1000"],
    "gzip, version 2": ["codec=gzip", "version=2", "page_rows=700"],
    "lz4": ["codec=lz4", "indices=1"],
    "brotli": ["codec=brotli", "indices=1", "page_rows=100"],
    "small pages": ["page_rows=50", "page_bytes=500"],
    "small pages, version 2": ["page_rows=50", "page_bytes=500", "version=2", "indices=1"],
    "dictionary left on the way": ["page_rows=200", "dictionary_bytes=1000", "indices=1"],
    "one row group": ["groups=1", "page_rows=500", "indices=1"],
    "no statistics": ["statistics=0"],
    "deltas": ["dictionary_bytes=0", "delta=1", "page_rows=700"],
    "deltas, version 2": ["dictionary_bytes=0", "delta=1", "version=2"],
}

# Pages copied as they lie, mixed with pages made anew where that cannot be: how PyArrow writes the source, and the options.
SOURCE = {"row_group_size": 1000, "data_page_size": 4000}
PLAIN = {"use_dictionary": False}
ENCODED = {
    "id": "DELTA_BINARY_PACKED",
    "small": "DELTA_BINARY_PACKED",
    "large": "DELTA_BINARY_PACKED",
    "double": "BYTE_STREAM_SPLIT",
    "tidy": "BYTE_STREAM_SPLIT",
    "word": "DELTA_BYTE_ARRAY",
    "text": "DELTA_BYTE_ARRAY",
    "bytes": "DELTA_LENGTH_BYTE_ARRAY",
    "flag": "RLE",
}
COPY = ["groups=1", "copy=1", "codec=snappy"]
COPIED = {
    "copied": ({}, COPY),
    "copied with indices": ({}, [*COPY, "indices=1", "page_rows=500"]),
    "copied, small dictionary": ({}, [*COPY, "dictionary_bytes=3000"]),
    "copied, plain": (PLAIN, COPY),
    "copied, plain, with a floor": (PLAIN, [*COPY, "floor=5000", "page_rows=700"]),
    "copied, version 2 among 1": ({"data_page_version": "2.0", "write_page_index": True}, COPY),
    "copied, encodings": ({**PLAIN, "column_encoding": ENCODED}, COPY),
    "copied, encodings, version 2": ({**PLAIN, "column_encoding": ENCODED, "data_page_version": "2.0"}, COPY),
    "copied, uncompressed": ({"compression": "none"}, ["groups=1", "copy=1", "codec=uncompressed"]),
}
NAMES = [*OPTIONS, *COPIED]


def column(make, kind, null_share=0.1):
    return pyarrow.array([None if RANDOM.random() < null_share else make() for _ in range(ROWS)], kind)


def list_of(make, longest=3):
    return lambda: [make() for _ in range(RANDOM.randrange(longest + 1))]


def nullable(make):
    return lambda: None if RANDOM.random() < 0.2 else make()


RANDOM = random.Random(SEED)
EPOCH = datetime.datetime(2020, 1, 1)


def number(digits):
    return lambda: decimal.Decimal(RANDOM.randrange(-(10**digits), 10**digits)).scaleb(-2)


def moment():
    return EPOCH + datetime.timedelta(microseconds=RANDOM.randrange(10**14))


def make_table():
    RANDOM.seed(SEED)
    digit = lambda: RANDOM.randrange(10)
    name = lambda: f"name-{RANDOM.randrange(200)}"
    special = lambda: RANDOM.choice([0.0, -0.0, 1.5, -1.5, math.nan, math.inf, RANDOM.random()])
    pair = lambda: {"a": nullable(digit)(), "b": nullable(list_of(name))()}
    return pyarrow.table({
        "id": pyarrow.array(range(ROWS), pyarrow.int64()),
        "flag": column(lambda: RANDOM.random() < 0.5, pyarrow.bool_()),
        "small": column(lambda: RANDOM.randrange(-100, 100), pyarrow.int32()),
        "large": column(lambda: RANDOM.randrange(-(2**63), 2**63), pyarrow.int64()),
        "real": column(special, pyarrow.float32()),
        "double": column(special, pyarrow.float64()),
        "tidy": column(RANDOM.random, pyarrow.float64()),
        "word": column(name, pyarrow.string()),
        "text": column(lambda: "é" * RANDOM.randrange(80) + f"row-{RANDOM.randrange(10**9)}", pyarrow.string()),
        "bytes": column(lambda: RANDOM.randbytes(RANDOM.randrange(100)), pyarrow.binary()),
        "cents": column(number(8), pyarrow.decimal128(9, 2)),
        "sum": column(number(30), pyarrow.decimal128(38, 2)),
        "day": column(lambda: moment().date(), pyarrow.date32()),
        "local": column(moment, pyarrow.timestamp("us")),
        "instant": column(moment, pyarrow.timestamp("us", "UTC")),
        "nothing": pyarrow.nulls(ROWS, pyarrow.int32()),
        "list": column(list_of(nullable(digit)), pyarrow.list_(pyarrow.int32())),
        "lists": column(list_of(nullable(list_of(name))), pyarrow.list_(pyarrow.list_(pyarrow.string()))),
        "map": column(lambda: [(f"k{i}", nullable(digit)()) for i in range(RANDOM.randrange(3))],
                      pyarrow.map_(pyarrow.string(), pyarrow.int32())),
        "struct": column(pair, pyarrow.struct([("a", pyarrow.int64()), ("b", pyarrow.list_(pyarrow.string()))])),
    })


# Types that not every engine has; PyArrow reads them all back.
def make_rare_table():
    RANDOM.seed(SEED)
    return pyarrow.table({
        "tiny": column(lambda: RANDOM.randrange(-128, 128), pyarrow.int8()),
        "u32": column(lambda: RANDOM.randrange(2**32), pyarrow.uint32()),
        "u64": column(lambda: RANDOM.randrange(2**64), pyarrow.uint64()),
        "half": column(RANDOM.random, pyarrow.float32()).cast(pyarrow.float16()),
        "fixed": column(lambda: RANDOM.randbytes(16), pyarrow.binary(16)),
        "time": column(lambda: RANDOM.randrange(86400 * 10**6), pyarrow.time64("us")),
        "nanos": column(lambda: RANDOM.randrange(10**15) * 1000, pyarrow.timestamp("ns")),
        "large": column(lambda: RANDOM.randbytes(3000), pyarrow.binary()),
    })


def comparable(values):
    """Lists that compare although NaN is not equal to itself, and that tell zeros apart."""
    return [repr(value) for value in values]


def rewrite(folder, table, options, name, **how):
    source = os.path.join(folder, "source.parquet")
    target = os.path.join(folder, name.replace(" ", "-") + ".parquet")
    pyarrow.parquet.write_table(table, source, **SOURCE, **how)
    done = subprocess.run([WRITE_SAMPLE, source, target, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    copied = sum(int(line.split()[-3]) for line in done.stdout.splitlines())
    assert (copied > 0) == ("copy=1" in options), done.stdout
    return target


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def files(table, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("parquet"))
    made = {name: rewrite(folder, table, options, name) for name, options in OPTIONS.items()}
    return made | {name: rewrite(folder, table, options, name, **how) for name, (how, options) in COPIED.items()}


def assert_same(table, read):
    for name in table.column_names:
        expected, got = table[name].to_pylist(), read[name].to_pylist()
        assert comparable(expected) == comparable(got), name


@pytest.mark.parametrize("name", NAMES)
def test_pyarrow_reads(table, files, name):
    with pyarrow.parquet.ParquetFile(files[name], page_checksum_verification=True) as file:
        assert_same(table, file.read())


@pytest.mark.parametrize("name", NAMES)
def test_duckdb_reads(table, files, duck, name):
    read = duck.execute(f"SELECT * FROM read_parquet('{files[name]}') ORDER BY id").to_arrow_table()
    for column_name in table.column_names:
        expected, got = table[column_name].to_pylist(), read[column_name].to_pylist()
        if column_name == "map":  # pairs either way
            got = [None if value is None else list(dict(value).items()) for value in got]
        assert comparable(expected) == comparable(got), column_name


@pytest.mark.parametrize("options", [[], ["version=2", "page_rows=100"], ["dictionary_bytes=0", "codec=snappy"]])
def test_rare_types(tmp_path, options):
    table = make_rare_table()
    with pyarrow.parquet.ParquetFile(rewrite(str(tmp_path), table, options, "rare")) as file:
        assert_same(table, file.read())
        large = file.metadata.row_group(0).column(table.column_names.index("large"))
        assert not large.statistics.has_min_max, "bounds of more than 4096 bytes"
        for index in range(4):
            assert file.metadata.row_group(0).column(index).statistics.has_min_max


@pytest.mark.parametrize("name", [name for name in NAMES if name != "no statistics"])
def test_statistics_are_true(table, files, name):
    with pyarrow.parquet.ParquetFile(files[name]) as file:
        start = 0
        for group in range(file.num_row_groups):
            metadata = file.metadata.row_group(group)
            rows = table.slice(start, metadata.num_rows)
            start += metadata.num_rows
            check_group(metadata, rows)
        assert start == ROWS


def check_group(metadata, rows):
    offset = metadata.column(0).dictionary_page_offset or metadata.column(0).data_page_offset
    sizes = 0
    for index in range(metadata.num_columns):
        chunk = metadata.column(index)
        first = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
        assert first == offset, chunk.path_in_schema
        assert chunk.has_offset_index, chunk.path_in_schema
        offset += chunk.total_compressed_size
        sizes += chunk.total_uncompressed_size
        if chunk.path_in_schema in rows.column_names:
            check_chunk(chunk, rows[chunk.path_in_schema])
    assert metadata.total_byte_size == sizes


def check_chunk(chunk, values):
    statistics = chunk.statistics
    assert statistics.null_count == values.null_count
    kept = values.drop_null()
    # Spark places NaN above all numbers: it would skip rows if there were bounds without it.
    has_nan = pyarrow.types.is_floating(kept.type) and pyarrow.compute.any(pyarrow.compute.is_nan(kept)).as_py()
    assert statistics.has_min_max == (len(kept) > 0 and not has_nan)
    assert chunk.has_column_index == (not has_nan)
    if not statistics.has_min_max:
        return
    bounds = pyarrow.compute.min_max(kept)
    assert (statistics.min, statistics.max) == (bounds["min"].as_py(), bounds["max"].as_py()), chunk.path_in_schema


def test_no_statistics_on_request(files):
    with pyarrow.parquet.ParquetFile(files["no statistics"]) as file:
        assert not any(file.metadata.row_group(0).column(index).is_stats_set for index in range(file.metadata.num_columns))


# Predicates that Spark pushes into Parquet's dictionaries, statistics and page indexes.
PREDICATES = [
    "id = 1234",
    "id between 700 and 720",
    "small = 7",
    "small > 98",
    "large < -9000000000000000000",
    "word = 'name-17'",
    "word is null",
    "word > 'name-98'",
    "text >= 'é'",
    "text = 'absent'",
    "cents > 900000",
    "sum < -9e27",
    "day = date'2021-05-05'",
    "instant < timestamp'2020-01-10 00:00:00Z'",
    "double > 1.0",
    "double > 1e300",
    "tidy < 0.01",
    "tidy > 0.5 and small = 3",
    "double = 0.0",
    "double = 'NaN'",
    "real < -1",
    "flag",
    "nothing is not null",
]


@pytest.mark.parametrize("name", ["default", "small pages, version 2", "dictionary left on the way",
                                  "copied", "copied, version 2 among 1", "deltas"])
def test_spark_reads_and_prunes(table, files, spark, name):
    frame = spark.read.parquet("file://" + files[name])
    rows = frame.select("id", "word", "text", "large", "cents", "list", "struct").orderBy("id").collect()
    assert [row.asDict(recursive=True) for row in rows] == table.select(rows[0].__fields__).to_pylist()
    expected = frame.selectExpr(*[f"count_if({predicate})" for predicate in PREDICATES]).first()
    for predicate, count in zip(PREDICATES, expected):  # `id` too, so that the same rows are skipped in another column's pages
        assert frame.where(predicate).select("id").distinct().count() == count, predicate
    assert expected[0] == 1
