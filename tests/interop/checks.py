"""What must be true of a table after firn worked on it, looked at without firn."""
import functools
import math
import os
import re

import pyarrow.parquet as parquet
from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import AlwaysTrue, EqualTo, GreaterThanOrEqual, IsNull, LessThan
from pyiceberg.types import BinaryType, DoubleType, FixedType, FloatType, PrimitiveType, StringType, UUIDType

from engines import canonical, path_of
from iceberg_files import DATA, Relocation, applies, files_below, live_files, reachable, read_metadata, snapshot_of
from lake import full_name

NUMBER = re.compile(r"-?\d+$")


def metadata_of(table):
    return read_metadata(path_of(table.metadata_location))


def pairs(entries):
    """A map of a manifest entry: id to value."""
    return {entry["key"]: entry["value"] for entry in entries or []}


def check_files(table, snapshot_id=None):
    """Sizes, counts, offsets and bounds in the manifests agree with the files themselves."""
    schema = table.schema()
    for file in live_files(metadata_of(table), snapshot_id=snapshot_id):
        if file["content"] != DATA or file["file_format"].upper() != "PARQUET":
            continue
        assert os.path.getsize(file["path"]) == file["file_size_in_bytes"], file["path"]
        reader = parquet.ParquetFile(file["path"])
        assert reader.metadata.num_rows == file["record_count"], file["path"]
        starts = [first_byte(reader.metadata.row_group(i)) for i in range(reader.metadata.num_row_groups)]
        if file.get("split_offsets"):
            assert file["split_offsets"] == starts, file["path"]
        check_bounds(schema, file, reader)


def check_verified(firn, identifier, *arguments):
    """firn verify finds nothing broken, for any snapshot; gives its report."""
    report = firn("--quiet", "--output", "json", "verify", full_name(identifier), *arguments).json
    assert not report["broken"] and all(snapshot["readable"] for snapshot in report["snapshots"]), report
    return report


def first_byte(row_group):
    column = row_group.column(0)
    offset = column.dictionary_page_offset
    return column.data_page_offset if offset is None else min(offset, column.data_page_offset)


def check_bounds(schema, file, reader):
    """Counts are exact and bounds hold, for every primitive top-level column that the file has."""
    nulls, values = pairs(file["null_value_counts"]), pairs(file["value_counts"])
    lower, upper = pairs(file["lower_bounds"]), pairs(file["upper_bounds"])
    ids = {field.metadata[b"PARQUET:field_id"]: field.name for field in reader.schema_arrow
           if field.metadata and b"PARQUET:field_id" in field.metadata}
    for field in schema.fields:
        name = ids.get(str(field.field_id).encode())
        if name is None or not isinstance(field.field_type, PrimitiveType):
            continue
        column = reader.read([name]).column(0).to_pylist()
        present = [value for value in column if value is not None and not (isinstance(value, float) and math.isnan(value))]
        where = f"{file['path']}: {field.name}"
        if field.field_id in nulls:
            assert nulls[field.field_id] == column.count(None), where
        if field.field_id in values:
            assert values[field.field_id] == len(column), where
        if not present:
            assert field.field_id not in lower and field.field_id not in upper, f"{where}: bounds of no value"
            continue
        if field.field_id in lower:
            check_bound(where, field.field_type, lower[field.field_id], min(present), lambda bound, least: bound <= least)
        if field.field_id in upper:
            check_bound(where, field.field_type, upper[field.field_id], max(present), lambda bound, most: bound >= most)


def check_bound(where, kind, data, value, holds):
    bound = comparable(from_bytes(kind, data))
    value = comparable(value)
    exact = not isinstance(kind, (StringType, BinaryType, FixedType, FloatType, DoubleType, UUIDType))
    assert holds(bound, value), f"{where}: bound {bound!r} of {value!r}"
    if exact and not isinstance(bound, int):
        assert bound == value, f"{where}: bound {bound!r} of {value!r}"


def comparable(value):
    """Strings compare by their UTF-8 bytes, times without their zone; PyIceberg gives times as microseconds."""
    import datetime
    import uuid

    if isinstance(value, str):
        return value.encode()
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(value, datetime.datetime):
        epoch = datetime.datetime(1970, 1, 1, tzinfo=value.tzinfo and datetime.timezone.utc)
        return (value - epoch) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days
    if isinstance(value, datetime.time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000000 + value.microsecond
    return value


def check_summary(table, before_snapshot_id):
    """The newest snapshot is a replace whose counters and totals agree with the manifests before and after it."""
    metadata = metadata_of(table)
    snapshot = snapshot_of(metadata)
    summary = snapshot["summary"]
    assert summary["operation"] == "replace"
    assert snapshot["parent-snapshot-id"] == before_snapshot_id
    before = {file["path"]: file for file in live_files(metadata, snapshot_id=before_snapshot_id)}
    after = {file["path"]: file for file in live_files(metadata)}
    added = [file for path, file in after.items() if path not in before]
    removed = [file for path, file in before.items() if path not in after]

    def total(files, key):
        return str(sum(file[key] for file in files))

    wanted = {
        "added-data-files": str(len(added)),
        "deleted-data-files": str(len(removed)),
        "added-records": total(added, "record_count"),
        "deleted-records": total(removed, "record_count"),
        "added-files-size": total(added, "file_size_in_bytes"),
        "removed-files-size": total(removed, "file_size_in_bytes"),
        "total-data-files": str(len(after)),
        "total-delete-files": "0",
        "total-records": total(after.values(), "record_count"),
        "total-files-size": total(after.values(), "file_size_in_bytes"),
        "total-position-deletes": "0",
        "total-equality-deletes": "0",
    }
    # An engine that left a total out of the snapshot before leaves firn nothing to add to.
    previous = snapshot_of(metadata, before_snapshot_id)["summary"]
    wanted = {key: value for key, value in wanted.items() if not key.startswith("total-") or key in previous}
    assert {key: summary.get(key) for key in wanted} == wanted
    assert all(NUMBER.match(value) for key, value in summary.items() if key.startswith(("added-", "total-", "manifests-")))
    for file in added:
        assert file["sequence_number"] <= snapshot.get("sequence-number", 0)


def sample_values(values):
    """A least, a middle and a greatest value to filter with, whatever the order of the rows: -0.0 and 0.0 are one value, but two
    texts. PyIceberg takes no infinity for a float column."""
    present = sorted({value + 0.0 if isinstance(value, float) else value for value in values
                      if value is not None and not (isinstance(value, float) and not math.isfinite(value))})
    return [present[0], present[len(present) // 2], present[-1]] if present else []


def predicates(table):
    """PyIceberg predicates over the primitive top-level columns, each with the same test in Python."""
    rows = table.scan().to_arrow().to_pylist()
    for field in table.schema().fields:
        if not isinstance(field.field_type, PrimitiveType) or isinstance(field.field_type, (BinaryType, FixedType, UUIDType)):
            continue
        name = field.name
        yield IsNull(name), lambda row, name=name: row[name] is None
        for value in sample_values([row[name] for row in rows]):
            literal = literal_of(value)
            yield EqualTo(name, literal), lambda row, name=name, value=value: row[name] == value
            yield LessThan(name, literal), lambda row, name=name, value=value: row[name] is not None and row[name] < value
            yield GreaterThanOrEqual(name, literal), \
                lambda row, name=name, value=value: row[name] is not None and row[name] >= value


def literal_of(value):
    import datetime

    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    return value


def right_filters(table):
    """The predicates for which PyIceberg's scan, pruned by partition and bounds, gives what filtering all rows gives.

    PyIceberg itself is wrong for some, such as the least int and values past the range of a file's narrower type.
    """
    rows = table.scan(row_filter=AlwaysTrue()).to_arrow().to_pylist()
    right = set()
    for predicate, test in predicates(table):
        try:
            found = canonical(table.scan(row_filter=predicate).to_arrow().to_pylist())
        except Exception:  # pylint: disable=broad-except # whatever PyIceberg stumbles over
            continue
        if found == canonical(row for row in rows if test(row)):
            right.add(str(predicate))
    return right


def check_filters_of_pyiceberg(table, right_before):
    wrong = right_before - right_filters(table)
    assert not wrong, f"filtered scans that were right before the compaction: {sorted(wrong)}"


def check_filters_of_spark(spark, identifier):
    """The same with Spark: counts over the table against counts over a materialised copy of it, all in two jobs."""
    from pyspark.sql import functions

    table = spark.table(full_name(identifier))
    copy = table.localCheckpoint(eager=True)
    rows = copy.collect()
    tests = []
    for field in copy.schema.fields:
        if field.dataType.typeName() in ("array", "map", "struct", "binary", "boolean"):
            continue
        column = functions.col(f"`{field.name}`")
        values = [row[field.name] for row in rows]
        if None in values:
            tests.append(column.isNull())
        # Spark sorts NaN above all numbers, Iceberg's bounds leave it out: no engine gets comparisons with it right.
        samples = sample_values(values)
        if samples and not any(value != value for value in values):
            tests += [column == functions.lit(samples[1]), column >= functions.lit(samples[2])]

    parts = [table.where(test).agg(functions.count("*").alias("rows"), functions.lit(i).alias("test")) for i, test in enumerate(tests)]
    found = {row.test: row.rows for row in functools.reduce(lambda left, right: left.union(right), parts).collect()}
    # Nothing is pruned of the copy: all its counts are taken in one pass.
    wanted = copy.agg(*[functions.count(functions.when(test, 1)) for test in tests]).collect()[0]
    wrong = [f"{test}: {found[i]} rows instead of {wanted[i]}" for i, test in enumerate(tests) if found[i] != wanted[i]]
    assert not wrong, f"{identifier}: {wrong}"


def check_nothing_left(table_location, metadata_location, where=Relocation(), also=()):
    """Every file below the table is one that its metadata names: no temporary file, no orphan."""
    names = reachable(where(path_of(metadata_location)), where) | set(also)
    left = sorted(path for path in files_below(where(path_of(table_location))) if path not in names)
    assert not left, f"left behind: {left}"


def check_no_deletes_apply(table, data_paths=None):
    """No live delete file concerns any live data file, or any of these."""
    metadata = metadata_of(table)
    files = live_files(metadata)
    unpartitioned = {spec["spec-id"] for spec in metadata["partition-specs"] if not spec["fields"]}
    data = [file for file in files if file["content"] == DATA and (data_paths is None or file["path"] in data_paths)]
    for delete in files:
        if delete["content"] != DATA:
            concerned = [file["path"] for file in data if applies(delete, file, unpartitioned)]
            assert not concerned, f"{delete['path']} still applies to {concerned}"


def check_one_vector_a_file(table):
    """No two live vectors for one data file, and none for a file that is gone."""
    files = live_files(metadata_of(table))
    data = {file["file_path"] for file in files if file["content"] == DATA}
    named = [file["referenced_data_file"] for file in files if file["file_format"].upper() == "PUFFIN"]
    assert len(named) == len(set(named)), "two vectors for one data file"
    assert set(named) <= data, "a vector for a data file that is gone"
