"""Manifests, manifest lists and deletion vectors that firn wrote, read by PyIceberg and fastavro."""
import datetime
import decimal
import math
import os
import subprocess
import uuid

import fastavro
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFileContent, FileFormat, ManifestContent, ManifestEntryStatus, read_manifest_list
from pyiceberg.table.puffin import PuffinFile

from firn import PROGRAM

BUILD = os.path.dirname(os.path.dirname(os.path.dirname(PROGRAM)))
UTC = datetime.timezone.utc

# What manifest_samples.c gives the partition fields, as fastavro shows values, and as PyIceberg does.
TUPLE = {
    "i": (-7, -7),
    "l": (7000000000, 7000000000),
    "f": (1.5, 1.5),
    "d": (-2.25, -2.25),
    "s.trunc-3": ("ice", "ice"),
    "b": (b"\0\xff", b"\0\xff"),
    "u": (bytes.fromhex("f79c3e09677c4bbda4793f349cb785e7"), uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")),
    "x": (b"abcd", b"abcd"),
    "n": (decimal.Decimal("-14.20"), decimal.Decimal("-14.20")),
    "dt": (datetime.date(2017, 11, 16), 17486),
    "tm": (datetime.time(22, 31, 8), 81068000000),
    "ts": (datetime.date(2017, 11, 16), 17486),
    "tz": (datetime.datetime(2017, 11, 16, 22, 31, 8, tzinfo=UTC), 1510871468000000),
    "o": (True, True),
}
FILE_COLUMNS = {
    1: [100, 101, 102, 103, 104, 105, 108, 109, 110, 137, 125, 128, 131, 132, 140],
    2: [134, 100, 101, 102, 103, 104, 108, 109, 110, 137, 125, 128, 131, 132, 135, 140, 143],
    3: [134, 100, 101, 102, 103, 104, 108, 109, 110, 137, 125, 128, 131, 132, 135, 140, 142, 143, 144, 145],
}


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        pytest.skip(f"{BUILD} is no build folder")
    folder = tmp_path_factory.mktemp("samples")
    subprocess.run(["ninja", "-C", BUILD, "tests/interop/manifest_samples"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([os.path.join(BUILD, "tests", "interop", "manifest_samples"), str(folder)], check=True)
    return folder


def read(path):
    with open(path, "rb") as file:
        reader = fastavro.reader(file)
        return reader.metadata, reader.writer_schema, list(reader)


def same(a, b):
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


def tuple_of_entry(i, form):
    if i == 1:
        return [None] * len(TUPLE)
    nan = i == 2
    return [float("nan") if nan and name in "fd" else forms[form] for name, forms in TUPLE.items()]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_fastavro_reads_manifests(samples, version):
    metadata, schema, rows = read(samples / f"v{version}-data.avro")
    file = schema["fields"][-1]["type"]
    assert [field["field-id"] for field in file["fields"]] == FILE_COLUMNS[version]
    partition = next(field for field in file["fields"] if field["field-id"] == 102)["type"]
    assert partition["name"] == "r102"
    assert [field["field-id"] for field in partition["fields"]] == list(range(1000, 1000 + len(TUPLE)))
    odd = partition["fields"][4]
    assert (odd["name"], odd["iceberg-field-name"]) == ("s_x2Etrunc_x2D3", "s.trunc-3")
    assert metadata["format-version"] == str(version) and metadata["partition-spec-id"] == "3"
    assert metadata["avro.codec"] == "deflate" and ("content" in metadata) == (version > 1)
    assert [row["status"] for row in rows] == [1, 1, 1, 0, 2]
    for i, row in enumerate(rows):
        values = list(row["data_file"]["partition"].values())
        assert all(map(same, values, tuple_of_entry(i, 0))), (i, values)
        assert row["snapshot_id"] == (400 if i == 3 else 500)
        assert row["data_file"]["column_sizes"] == [{"key": 1, "value": 100}, {"key": 2, "value": 200}]
        assert row["data_file"]["nan_value_counts"] == []
        assert (row["data_file"]["split_offsets"] is None) == (i == 1)
        if version > 1:
            assert row["sequence_number"] == (None if i < 3 else 2)
            assert row["file_sequence_number"] == (None if i < 3 else 3)
        if version > 2:
            assert row["data_file"]["first_row_id"] == (77 if i == 3 else None)
        if version == 1:
            assert row["data_file"]["block_size_in_bytes"] == 64 * 1024 * 1024


@pytest.mark.parametrize("version", [1, 2, 3])
def test_fastavro_reads_lists(samples, version):
    metadata, _, rows = read(samples / f"v{version}-list.avro")
    assert metadata["snapshot-id"] == "500" and metadata["parent-snapshot-id"] == "null"
    assert metadata["format-version"] == str(version)
    data = rows[0]
    counts = [data[name] for name in ("added_files_count", "existing_files_count", "deleted_files_count")]
    records = [data[name] for name in ("added_rows_count", "existing_rows_count", "deleted_rows_count")]
    assert counts == [3, 1, 1] and records == [10 + 11 + 12, 13, 14]
    assert data["manifest_length"] == os.path.getsize(samples / f"v{version}-data.avro")
    summaries = data["partitions"]
    assert len(summaries) == len(TUPLE) and all(summary["contains_null"] for summary in summaries)
    assert [summary["contains_nan"] for summary in summaries] == [name in "fd" for name in TUPLE]
    assert summaries[4]["lower_bound"] == summaries[4]["upper_bound"] == b"ice"
    assert summaries[8]["lower_bound"] == (-1420).to_bytes(2, "big", signed=True)
    if version > 1:
        assert [row["content"] for row in rows] == [0, 1]
        assert [row["sequence_number"] for row in rows] == [9, 9]
        assert [row["min_sequence_number"] for row in rows] == [2, 9]
    if version > 2:
        assert [row["first_row_id"] for row in rows] == [1000, None]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_pyiceberg_reads_data_manifests(samples, version):
    io = PyArrowFileIO()
    manifest = next(iter(read_manifest_list(io.new_input(str(samples / f"v{version}-list.avro")))))
    assert manifest.content == ManifestContent.DATA
    assert manifest.added_rows_count == 33 and manifest.partition_spec_id == 3
    entries = manifest.fetch_manifest_entry(io, discard_deleted=False)
    assert [entry.status for entry in entries] == [
        ManifestEntryStatus.ADDED,
        ManifestEntryStatus.ADDED,
        ManifestEntryStatus.ADDED,
        ManifestEntryStatus.EXISTING,
        ManifestEntryStatus.DELETED,
    ]
    for i, entry in enumerate(entries):
        file = entry.data_file
        assert file.file_path == f"s3://b/t/data/{i}.parquet" and file.file_format == FileFormat.PARQUET
        assert file.record_count == 10 + i and file.file_size_in_bytes == 1000
        values = [file.partition[k] for k in range(len(TUPLE))]
        assert all(map(same, values, tuple_of_entry(i, 1))), (i, values)
        assert file.value_counts == {1: 100, 2: 200}
        assert file.lower_bounds == {1: b"\1\0\0\0", 2: b"\2" + bytes(7)}
        if version > 1:
            assert entry.sequence_number == (9 if i < 3 else 2)


@pytest.mark.parametrize("version", [2, 3])
def test_pyiceberg_reads_delete_manifests(samples, version):
    io = PyArrowFileIO()
    manifest = list(read_manifest_list(io.new_input(str(samples / f"v{version}-list.avro"))))[1]
    assert manifest.content == ManifestContent.DELETES
    equality, vector = manifest.fetch_manifest_entry(io, discard_deleted=False)
    assert equality.data_file.content == DataFileContent.EQUALITY_DELETES
    assert equality.data_file.equality_ids == [1, 5]
    assert vector.data_file.content == DataFileContent.POSITION_DELETES
    assert vector.data_file.file_format == FileFormat.PUFFIN
    if version == 3:
        _, _, rows = read(samples / "v3-deletes.avro")
        assert rows[1]["data_file"]["referenced_data_file"] == "s3://b/t/data/0.parquet"
        size = os.path.getsize(samples / "v3-vector.puffin")
        assert 4 <= rows[1]["data_file"]["content_offset"] < size
        assert 0 < rows[1]["data_file"]["content_size_in_bytes"] < size


def test_pyiceberg_reads_deletion_vectors(samples):
    vectors = PuffinFile((samples / "v3-vector.puffin").read_bytes()).to_vector()
    assert {path: array.to_pylist() for path, array in vectors.items()} == {
        "s3://b/t/data/0.parquet": [1, 3, 5, 7, 9, (3 << 32) + 5]
    }
