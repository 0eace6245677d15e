"""What the metadata of other writers tell of their pages, against the pages: the unit test of the corpus, over files made here."""
import decimal
import os
import random
import subprocess

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from firn import PATIENCE, PROGRAM

COMPARE = os.path.join(os.path.dirname(PROGRAM), "..", "..", "tests", "format_test_page_facts")
ROWS = 4000
SEED = 20261130

PYARROW = {
    "default": {},
    "page index": {"write_page_index": True},
    "version 2": {"data_page_version": "2.0"},
    "version 2, page index, plain": {"data_page_version": "2.0", "write_page_index": True, "use_dictionary": False},
    "small pages": {"data_page_size": 2000, "write_batch_size": 64},
    "small pages, page index": {"data_page_size": 2000, "write_batch_size": 64, "write_page_index": True},
    "small pages, version 2": {"data_page_size": 2000, "write_batch_size": 64, "data_page_version": "2.0", "use_dictionary": False},
    "several row groups": {"row_group_size": 700, "write_page_index": True},
}


def rows(random_source):
    """Columns of all kinds that statistics have a trap for: NaN and zeros, text of all lengths, empty and null lists, null structs
    around values, unsigned numbers, decimals in bytes."""
    choice, number = random_source.choice, random_source.randint

    def column(kind, make, null_share=0.1):
        return pa.array([None if random_source.random() < null_share else make() for _ in range(ROWS)], kind)

    inner = pa.struct([("a", pa.string()), ("l", pa.list_(pa.int32()))])
    return pa.table({
        "int": column(pa.int32(), lambda: number(-100, 100)),
        "required": pa.array(range(ROWS), pa.int64()),
        "nan": column(pa.float64(), lambda: choice([float("nan"), 0.0, -0.0, 1.5, float("inf")])),
        "zeros": column(pa.float32(), lambda: choice([0.0, -0.0, -1.0])),
        "tidy": column(pa.float64(), lambda: number(1, 1000) / 8),
        "text": column(pa.string(), lambda: choice("aé€😀") * number(0, 200)),
        "bytes": column(pa.binary(), lambda: random_source.randbytes(number(0, 100))),
        "decimal": column(pa.decimal128(30, 2), lambda: decimal.Decimal(number(-10**20, 10**20)).scaleb(-2)),
        "flag": column(pa.bool_(), lambda: choice([True, False])),
        "list": column(pa.list_(pa.int64()), lambda: [choice([None, number(-5, 5)]) for _ in range(number(0, 4))]),
        "deep": column(pa.list_(inner), lambda: [choice([None, {"a": choice([None, "x"]), "l": choice([None, [], [1, None]])}])
                                                 for _ in range(number(0, 4))]),
        "struct": column(pa.struct([("a", pa.struct([("b", pa.int64())]))]), lambda: {"a": choice([None, {"b": choice([None, 7])}])}, 0.3),
        "nulls": pa.array([None] * ROWS, pa.int64()),
    })


@pytest.fixture(scope="module")
def table():
    print(f"seed {SEED}")
    return rows(random.Random(SEED))


def compare(folder):
    """The program that goes through the corpus takes any folder of files."""
    (folder / "EXPECTED.json").write_text("{}", encoding="utf-8")
    run = subprocess.run([COMPARE], env={**os.environ, "FIRN_CORPUS": str(folder)}, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("options", PYARROW.values(), ids=PYARROW.keys())
def test_pyarrow(table, options, tmp_path):
    parquet.write_table(table, tmp_path / "a.parquet", compression="zstd", **options)
    compare(tmp_path)


@pytest.mark.parametrize("encoding, columns", [
    ("DELTA_BINARY_PACKED", ["int", "required"]), ("DELTA_BYTE_ARRAY", ["text", "bytes"]),
    ("DELTA_LENGTH_BYTE_ARRAY", ["text", "bytes"]), ("BYTE_STREAM_SPLIT", ["nan", "zeros"])])
def test_pyarrow_encodings(table, encoding, columns, tmp_path):
    parquet.write_table(table.select(columns), tmp_path / "a.parquet", use_dictionary=False, write_page_index=True,
                        column_encoding={name: encoding for name in columns}, data_page_size=3000, write_batch_size=64)
    compare(tmp_path)


@pytest.mark.parametrize("version", ["V1", "V2"])
def test_duckdb(table, duck, version, tmp_path):
    duck.register("facts", table)
    duck.execute(f"COPY (FROM facts) TO '{tmp_path}/a.parquet' (FORMAT parquet, PARQUET_VERSION {version}, ROW_GROUP_SIZE 2048)")
    duck.unregister("facts")
    compare(tmp_path)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_spark(table, spark, version, tmp_path):
    parquet.write_table(table, tmp_path / "source.parquet")
    target = tmp_path / "written"
    options = {"parquet.writer.version": version, "parquet.page.row.count.limit": "300", "parquet.page.size": "4000"}
    spark.read.parquet(str(tmp_path / "source.parquet")).coalesce(1).write.options(**options).parquet(str(target))
    compare(target)
