"""Deletes of every kind as other writers leave them: all engines and firn agree on the rows, before and after firn compacts.

A scenario makes a table by hand and gives its live rows as the specification has them.
"""
import datetime
import decimal
import math

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyiceberg.types import (
    BinaryType, BooleanType, DateType, DecimalType, DoubleType, FloatType, IntegerType, LongType, NestedField, StringType, StructType,
    TimestampType, TimestamptzType,
)

from checks import check_files, check_no_deletes_apply, metadata_of
from commits import upgrade_to_version_3
from engines import canonical, rows_of_duckdb, rows_of_pyiceberg, rows_of_spark, without_zone
from hand_table import HandTable, rows_of
from iceberg_files import DATA, EQUALITY_DELETES, identity, live_files
from lake import full_name

SCENARIOS = {}
# Where an engine by itself is wrong about the deletes, and how.
WRONG = {
    "duckdb": {
        "equality_in_avro_with_more_columns": "no Avro delete files",
        "equality_on_a_column_dropped_since": "crashes",
        "equality_on_a_nested_field": "crashes",
        "equality_on_null_in_a_nested_field": "crashes",
        "equality_on_a_nullable_key": "removes null whatever the delete file says",
        "equality_on_floating_point": "removes null whatever the delete file says",
        "equality_on_several_columns": "removes null whatever the delete file says",
        "equality_on_promoted_columns": "internal error",
        "equality_within_a_partition": "internal error",
        "positions_over_many_files": "no Avro delete files",
        "positions_and_equality": "no Avro delete files",
        "positions_of_another_partition": "applies them",
    },
    "spark": {
        "equality_on_null_in_a_nested_field": "takes a struct that is null for another key than null in it",
        "equality_on_a_column_dropped_since": "looks for the column in the current schema only",
    },
    "pyiceberg": {
        "positions_over_many_files": "no Avro delete files",
        "positions_of_another_partition": "applies them",
    },
}
UTC = datetime.timezone.utc
BY_P = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "p"))
P_SCHEMA = Schema(NestedField(1, "id", IntegerType(), required=False), NestedField(2, "v", StringType(), required=False),
                  NestedField(3, "p", StringType(), required=False))


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def in_p(p, *ids):
    return [{**row, "p": p} for row in rows_of(*ids)]


class Maker:
    """Makes tables in one namespace of the lake."""

    def __init__(self, lake, namespace):
        self.lake = lake
        self.identifier = f"{namespace}.t"

    def __call__(self, *arguments, **how):
        return HandTable(self.lake, self.identifier, *arguments, **how)


# Equality deletes


@scenario
def equality_on_a_nullable_key(make):
    t = make()
    t.append(rows_of(1, None, 5))
    t.commit(t.files.equality([1], rows_of(5)))
    return t, rows_of(1, None)


@scenario
def equality_with_null(make):
    t, rows = equality_on_a_nullable_key(make)
    t.commit(t.files.equality([1], rows_of(None)))
    return t, rows[:1]


@scenario
def equality_upsert_in_one_commit(make):
    """The new row has the sequence number of the delete, which reaches older rows only."""
    t = make()
    t.append(rows_of(1, 2, 2))
    t.commit(t.files.data([{"id": 2, "v": "new"}]), t.files.equality([1], rows_of(2)))
    t.commit(t.files.data([{"id": 1, "v": "new"}]), t.files.equality([1], rows_of(1, 7)))
    return t, [{"id": 1, "v": "new"}, {"id": 2, "v": "new"}]


@scenario
def equality_on_several_columns(make):
    t = make(P_SCHEMA)
    rows = [{"id": i, "v": v, "p": p} for i in (1, None) for v in ("a", None) for p in ("x", None)]
    t.append(rows[:5])
    t.append(rows[5:])
    gone = [{"id": 1, "v": None}, {"id": None, "v": "a"}]
    t.commit(t.files.equality([1, 2], gone))
    t.commit(t.files.equality([3, 1, 2], [{"id": 1, "v": "a", "p": None}, {"id": 9, "v": "a", "p": "x"}]))
    return t, [row for row in rows if {"id": row["id"], "v": row["v"]} not in gone and row != {"id": 1, "v": "a", "p": None}]


@scenario
def equality_on_different_columns(make):
    """Delete files of one table need not have the same key."""
    t = make()
    t.append(rows_of(*range(10)))
    t.commit(t.files.equality([1], rows_of(3)), t.files.equality([2], [{"v": "v4"}]))
    t.append(rows_of(3, 4, 5))
    t.commit(t.files.equality([2, 1], rows_of(5)))
    return t, rows_of(0, 1, 2, 6, 7, 8, 9, 3, 4)


TYPED = Schema(
    NestedField(1, "flag", BooleanType(), required=False),
    NestedField(2, "l", LongType(), required=False),
    NestedField(3, "small", DecimalType(7, 2), required=False),
    NestedField(4, "middle", DecimalType(15, 3), required=False),
    NestedField(5, "large", DecimalType(38, 10), required=False),
    NestedField(6, "day", DateType(), required=False),
    NestedField(7, "ts", TimestampType(), required=False),
    NestedField(8, "tstz", TimestamptzType(), required=False),
    NestedField(9, "bytes", BinaryType(), required=False),
    NestedField(10, "s", StringType(), required=False),
)


def typed_row(n):
    moment = datetime.datetime(1969, 12, 31, 23, 59, 59) + datetime.timedelta(days=n, microseconds=n)
    return {
        "flag": n == 0, "l": n - 2**40, "small": decimal.Decimal(n * 25 - 100).scaleb(-2),
        "middle": decimal.Decimal(n * 10**9).scaleb(-3), "large": decimal.Decimal(-n * 10**30).scaleb(-10, decimal.Context(prec=38)),
        "day": datetime.date(1969, 12, 30) + datetime.timedelta(days=n), "ts": moment, "tstz": moment.replace(tzinfo=UTC),
        "bytes": bytes(range(n)), "s": "ü" * n,
    }


@scenario
def equality_on_each_type(make):
    """Row n goes by its value in column n."""
    t = make(TYPED)
    rows = [typed_row(n) for n in range(12)]
    t.append(rows[:6])
    t.append(rows[6:])
    for n, field in enumerate(TYPED.fields):
        t.commit(t.files.equality([field.field_id], [rows[n]]))
    return t, rows[10:]


@scenario
def equality_on_floating_point(make):
    """NaN is NaN; zero and minus zero are two values."""
    t = make(Schema(NestedField(1, "f", FloatType(), required=False), NestedField(2, "d", DoubleType(), required=False),
                    NestedField(3, "id", IntegerType(), required=False)))
    values = [0.0, -0.0, math.nan, math.inf, 1.5, None]
    t.append([{"f": value, "d": 0.5, "id": n} for n, value in enumerate(values)])
    t.append([{"f": 0.5, "d": value, "id": n + 10} for n, value in enumerate(values)])
    for gone in (math.nan, -0.0):
        t.commit(t.files.equality([1], [{"f": gone}]), t.files.equality([2], [{"d": gone}]))
    left = [0, 3, 4, 5]
    return t, [{"f": values[n], "d": 0.5, "id": n} for n in left] + [{"f": 0.5, "d": values[n], "id": n + 10} for n in left]


@scenario
def equality_on_a_nested_field(make):
    inner = StructType(NestedField(3, "a", IntegerType(), required=False), NestedField(4, "b", StringType(), required=False))
    t = make(Schema(NestedField(1, "id", IntegerType(), required=False), NestedField(2, "s", inner, required=False)))
    rows = [{"id": n, "s": {"a": n % 4, "b": f"b{n}"}} for n in range(8)]
    rows += [{"id": 8, "s": {"a": None, "b": "none"}}, {"id": 9, "s": None}]
    t.append(rows)
    t.commit(t.files.equality([3], [{"s": {"a": 1}}]), t.files.equality([4, 1], [{"id": 2, "s": {"b": "b2"}}, {"id": 3, "s": {"b": "b2"}}]))
    return t, [row for row in rows if row["id"] not in (1, 5, 2)]


@scenario
def equality_on_null_in_a_nested_field(make):
    """The fields of a struct that is null are null."""
    t, rows = equality_on_a_nested_field(make)
    t.commit(t.files.equality([3], [{"s": {"a": None}}]))
    return t, rows[:-2]


@scenario
def equality_on_promoted_columns(make):
    """Old data files and old delete files are narrower than the column is now."""
    t = make(Schema(NestedField(1, "id", IntegerType(), required=False), NestedField(2, "f", FloatType(), required=False),
                    NestedField(3, "m", DecimalType(7, 2), required=False)))
    rows = [{"id": n, "f": n / 2, "m": decimal.Decimal(n).scaleb(-2)} for n in range(10)]
    t.append(rows)
    t.commit(t.files.equality([1], [rows[0]]), t.files.equality([2], [rows[1]]), t.files.equality([3], [rows[2]]))
    with t.table.update_schema() as update:
        update.update_column("id", LongType())
        update.update_column("f", DoubleType())
        update.update_column("m", DecimalType(20, 2))
    wide = {"id": 2**40, "f": 1e300, "m": decimal.Decimal(10**17).scaleb(-2)}
    t.append([wide, {**wide, "id": 6}])
    t.commit(t.files.equality([1], [rows[3], {"id": 6}]), t.files.equality([2], [rows[4]]), t.files.equality([3], [rows[5], wide]))
    return t, rows[7:]


@scenario
def equality_on_a_renamed_column(make):
    t = make()
    t.append(rows_of(1, 2, 3))
    t.commit(t.files.equality([1], rows_of(1)))
    with t.table.update_schema() as update:
        update.rename_column("id", "number")
    with t.table.update_schema() as update:
        update.add_column("id", IntegerType())
    t.append([{"number": 2, "v": "old", "id": 3}])
    t.commit(t.files.equality([1], [{"number": 3}]))
    return t, [{"number": 2, "v": "v2", "id": None}, {"number": 2, "v": "old", "id": 3}]


@scenario
def equality_on_a_column_dropped_since(make):
    t = make(P_SCHEMA)
    t.append(in_p("x", 1, 2, 3))
    t.commit(t.files.equality([1, 3], in_p("x", 2)), t.files.equality([1], rows_of(3)))
    with t.table.update_schema() as update:
        update.delete_column("id")
    t.append([{"v": "later", "p": "x"}])
    return t, [{"v": "v1", "p": "x"}, {"v": "later", "p": "x"}]


@scenario
def equality_on_a_column_older_files_lack(make):
    """What a file does not have is null in it."""
    t = make()
    t.append(rows_of(1, 2))
    with t.table.update_schema() as update:
        update.add_column("extra", StringType())
    t.append([{"id": 3, "v": "v3", "extra": "e"}, {"id": 4, "v": "v4", "extra": None}])
    t.commit(t.files.equality([1, 3], [{"id": 1, "extra": None}, {"id": 2, "extra": "e"}, {"id": 4, "extra": None}]))
    return t, [{"id": 2, "v": "v2", "extra": None}, {"id": 3, "v": "v3", "extra": "e"}]


@scenario
def equality_in_avro_with_more_columns(make):
    """The delete file holds whole rows, of which only the key counts; one data file is Avro, too."""
    t = make()
    t.append(rows_of(1, 2, 3))
    t.append(rows_of(4, 5, 6))
    t.commit(t.files.equality([1], [{"id": 2, "v": "other"}], form="avro", extra_ids=[2]),
             t.files.equality([1], [{"id": 5, "v": None}], extra_ids=[2], with_metrics=False))
    return t, rows_of(1, 3, 4, 6)


@scenario
def equality_within_a_partition(make):
    """A delete file reaches its own tuple of its own spec, older rows only."""
    t = make(P_SCHEMA, BY_P)
    t.append(in_p("a", 1, 2) + in_p("b", 1, 2) + in_p(None, 1, 2))
    t.commit(t.files.data(in_p("a", 1)), t.files.equality([1], in_p("a", 1) + in_p(None, 2)))
    return t, in_p("a", 2, 1) + in_p("b", 1, 2) + in_p(None, 1)


def change_spec(t, spec):
    """A new default spec, as JSON: PyIceberg would not give two specs tuples that look alike."""
    def change(metadata):
        number = max(item["spec-id"] for item in metadata["partition-specs"]) + 1
        metadata["partition-specs"].append({**spec.model_dump(by_alias=True, mode="json"), "spec-id": number})
        metadata["default-spec-id"] = number
        metadata["last-partition-id"] = max(metadata["last-partition-id"], *(field.field_id for field in spec.fields))
    t.committer.edit(change)


@scenario
def equality_of_another_spec(make):
    """The tuples look alike, the specs differ: bucket 0 of 2 and bucket 0 of 1."""
    t = make(P_SCHEMA, PartitionSpec(PartitionField(1, 1000, BucketTransform(2), "b")))
    t.append([row for number in range(4) for row in in_p("x", number)])
    change_spec(t, PartitionSpec(PartitionField(1, 1001, BucketTransform(1), "b")))
    t.append(in_p("y", 0, 1))
    t.commit(t.files.equality([1], in_p("y", 0, 1, 2, 3)))
    return t, in_p("x", 0, 1, 2, 3)


@scenario
def equality_of_an_unpartitioned_spec_is_global(make):
    t = make(P_SCHEMA)
    t.append(in_p("a", 1, 2))
    plain = t.table.spec()
    change_spec(t, BY_P)
    t.append(in_p("a", 1, 3) + in_p("b", 1, 4))
    t.commit(t.files.equality([1], rows_of(1), spec=plain))
    t.append(in_p("b", 1))
    t.commit(t.files.equality([1], in_p("a", 3, 2)))
    return t, in_p("a", 2) + in_p("b", 4, 1)


@scenario
def equality_on_a_table_that_was_version_1(make):
    """Files from before sequence numbers have number 0."""
    t = make(version=1)
    t.table.append(pa.Table.from_pylist(rows_of(1, 2, 3), schema=t.table.schema().as_arrow()))
    with t.table.transaction() as transaction:
        transaction.upgrade_table_version(2)
    t.commit(t.files.equality([1], rows_of(2)))
    t.append(rows_of(2, 4))
    return t, rows_of(1, 3, 2, 4)


# Position deletes


@scenario
def positions_over_many_files(make):
    """One file over three data files with a position twice, one in Avro with the rows, one for one file only."""
    t = make()
    a, b, c = (t.append(rows_of(*range(n, n + 5)))[0] for n in (0, 10, 20))
    t.commit(t.files.positions(a, [(b["file_path"], 1), (a["file_path"], 4), (c["file_path"], 0), (b["file_path"], 1)]))
    t.commit(t.files.positions(a, [(a["file_path"], 2), (c["file_path"], 3)], form="avro", rows=rows_of(2, 23)))
    t.commit(t.files.positions(b, [(b["file_path"], 4)], rows=rows_of(14), referenced=True, bounds=0))
    return t, rows_of(0, 1, 3, 10, 12, 13, 21, 22, 24)


@scenario
def positions_with_shortened_bounds(make):
    """The bounds of the paths, all of them alike, are 16 characters long: no path of any file."""
    t = make()
    a, b = t.append(rows_of(1, 2, 3))[0], t.append(rows_of(4, 5, 6))[0]
    deletes = t.files.positions(a, [(b["file_path"], 0)], bounds=16)
    same = t.files.positions(a, [(a["file_path"], 1), (b["file_path"], 2)], bounds=16)
    same[0]["upper_bounds"] = same[0]["lower_bounds"]
    t.commit(deletes)
    return t, rows_of(1, 2, 3, 5, 6)


@scenario
def positions_in_the_commit_of_the_data(make):
    """A row that came and went between two checkpoints: data, equality and position delete have one sequence number."""
    t = make()
    t.append(rows_of(1, 2))
    data = t.files.data([{"id": 1, "v": "first"}, {"id": 1, "v": "second"}, {"id": 3, "v": "third"}])
    t.commit(data, t.files.equality([1], rows_of(1)), t.files.positions(data[0], [(data[0]["file_path"], 0)]))
    return t, [{"id": 1, "v": "second"}, {"id": 2, "v": "v2"}, {"id": 3, "v": "third"}]


@scenario
def positions_count_from_the_start_of_the_file(make):
    """Two row groups of 100 rows: the last row; another file, of which a whole row group goes."""
    t = make()
    a = t.append(rows_of(*range(200)), row_group=100)[0]
    b = t.append(rows_of(*range(200, 400)), row_group=100)[0]
    t.commit(t.files.positions(a, [(a["file_path"], 199)]))
    t.commit(t.files.positions(b, [(b["file_path"], n) for n in range(100)] + [(b["file_path"], 150)]))
    return t, rows_of(*range(199), *(n for n in range(300, 400) if n != 350))


@scenario
def positions_of_all_rows(make):
    t = make(P_SCHEMA, BY_P)
    a, b = t.append(in_p("a", 1, 2) + in_p("b", 3))
    t.commit(t.files.positions(a, [(a["file_path"], 0), (a["file_path"], 1)]))
    return t, in_p("b", 3)


@scenario
def positions_of_another_partition(make):
    """A delete file whose tuple is not the data file's does not concern it, whatever path it names."""
    t = make(P_SCHEMA, BY_P)
    a, b = t.append(in_p("a", 1, 2) + in_p("b", 3, 4))
    t.commit(t.files.positions(a, [(a["file_path"], 0), (b["file_path"], 0)]))
    return t, in_p("a", 2) + in_p("b", 3, 4)


@scenario
def positions_and_equality(make):
    t, rows = positions_over_many_files(make)
    t.commit(t.files.equality([1], rows_of(0, 12, 22)))
    t.append(rows_of(0))
    return t, [row for row in rows if row["id"] not in (0, 12, 22)] + rows_of(0)


# Deletion vectors


@scenario
def vectors_in_one_puffin_file(make):
    t = make(version=3)
    a, b, c = (t.append(rows_of(*range(n, n + 5)))[0] for n in (0, 10, 20))
    t.commit(t.files.vectors([(a, [1, 2]), (b, [0])]))
    t.commit(t.files.vectors([(c, [4])]))
    return t, rows_of(0, 3, 4, 11, 12, 13, 14, 20, 21, 22, 23)


@scenario
def vectors_replaced_several_times(make):
    """Each round replaces a vector, and so the manifests hold DELETED entries of the rounds before."""
    t = make(version=3)
    a, b = t.append(rows_of(*range(6)))[0], t.append(rows_of(*range(10, 16)))[0]
    old = t.commit(t.files.vectors([(a, [0]), (b, [0])]))
    for last in (1, 2, 3):
        new = t.files.vectors([(a, list(range(last + 1))), (b, [0, 5][:last])])
        t.commit(new, removed=[identity(entry) for entry in old])
        old = new
    return t, rows_of(4, 5, 11, 12, 13, 14)


@scenario
def vectors_beside_equality_deletes(make):
    t = make(version=3)
    a = t.append(rows_of(*range(6)))[0]
    t.commit(t.files.vectors([(a, [0, 3])]))
    t.commit(t.files.data(rows_of(4)), t.files.equality([1], rows_of(4, 5)))
    return t, rows_of(1, 2, 4)


@scenario
def vectors_over_older_position_deletes(make):
    """A vector takes the place of all older position deletes of its file; those of other files stay."""
    t = make()
    a, b = t.append(rows_of(*range(6)))[0], t.append(rows_of(*range(10, 16)))[0]
    t.commit(t.files.positions(a, [(a["file_path"], 1), (b["file_path"], 1)]))
    t.committer.edit(upgrade_to_version_3)
    t.commit(t.files.vectors([(a, [1, 2])]))
    return t, rows_of(0, 3, 4, 5, 10, 12, 13, 14, 15)


@scenario
def tombstones_in_manifests(make):
    """Files went one by one, so manifests hold entries that are deleted, and one that is old."""
    t = make()
    entries = t.commit(*(t.files.data(rows_of(n, n + 100)) for n in range(6)))
    t.commit(removed=[identity(entries[0])])
    t.commit(t.files.equality([1], rows_of(1)), removed=[identity(entries[2])])
    t.commit(t.files.positions(entries[3], [(entries[3]["file_path"], 0), (entries[4]["file_path"], 1)]))
    t.commit(removed=[identity(entries[5])])
    return t, rows_of(101, 103, 4)


def check_readers(lake, duck, spark, name, identifier, rows, when):
    """All engines that can read this table read these rows."""
    table = lake.load(identifier)
    deletes = {file["content"] for file in live_files(metadata_of(table))} - {DATA}
    reads = {
        "spark": lambda: rows_of_spark(spark, identifier),
        "duckdb": lambda: rows_of_duckdb(duck, table.metadata_location),
        "pyiceberg": lambda: rows_of_pyiceberg(table),
    }
    for engine, read in reads.items():
        unable = name in WRONG[engine] or (engine == "pyiceberg" and EQUALITY_DELETES in deletes)
        if not (deletes and unable):
            assert without_zone(read()) == without_zone(rows), f"{engine}, {when}"


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_scenario(lake, firn, duck, spark, namespace, name):
    t, rows = SCENARIOS[name](Maker(lake, namespace))
    rows = canonical(rows)
    full = full_name(t.identifier)
    check_readers(lake, duck, spark, name, t.identifier, rows, "before firn did anything")
    assert firn.describe(full, "--count")["live_rows"] == len(rows)
    deletes = t.live(1) + t.live(EQUALITY_DELETES)

    report = firn.compact(full, "--verify", "full", options={"rewrite-all": "true", "remove-dangling-deletes": "true"})

    check_readers(lake, duck, spark, name, t.identifier, rows, "after firn compacted")
    table = lake.load(t.identifier)
    check_files(table)
    check_no_deletes_apply(table)
    left = t.live(1) + t.live(EQUALITY_DELETES)
    assert not left
    assert report["removed_delete_files_count"] == len(deletes)
    assert sum(file["record_count"] for file in t.live(DATA)) == len(rows)
