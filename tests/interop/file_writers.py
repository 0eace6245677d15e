"""Data files, equality deletes, position deletes and deletion vectors as files, with the entries that a commit takes.

Rows are dicts by the column names of the schema they are written with. Equality deletes and position deletes exist as Parquet
and as Avro files, which no Python library writes for Iceberg.
"""
import datetime
import json
import math
import os
import struct
import uuid
import zlib

import fastavro
import pyarrow as pa
import pyarrow.parquet as parquet
import pyroaring
from pyiceberg.conversions import to_bytes
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema, prune_columns
from pyiceberg.types import LongType, NestedField, PrimitiveType, StringType
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from engines import path_of
from iceberg_files import DATA, EQUALITY_DELETES, POSITION_DELETES, applies, identity, read_avro

# The columns of a position delete file.
PATH_ID, POSITION_ID, ROW_ID = 2147483546, 2147483545, 2147483544


def new_path(folder, suffix):
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, f"{uuid.uuid4()}{suffix}")


def internal(value):
    """Dates as days and times as microseconds, as transforms and bounds want them."""
    if isinstance(value, datetime.datetime):
        epoch = datetime.datetime(1970, 1, 1, tzinfo=value.tzinfo)
        return (value - epoch) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days
    return value


def partition_of(spec, schema, row):
    """The tuple of a row, by the names of the partition fields."""
    tuple_ = {}
    for field in spec.fields:
        source = schema.find_field(field.source_id)
        tuple_[field.name] = field.transform.transform(source.field_type)(internal(row.get(source.name)))
    return tuple_


def by_partition(spec, schema, rows):
    """Rows by their tuple: pairs of tuple and list."""
    groups = {}
    for row in rows:
        tuple_ = partition_of(spec, schema, row)
        groups.setdefault(repr(sorted(tuple_.items())), (tuple_, []))[1].append(row)
    return list(groups.values())


def entry_of(path, content, count, spec, partition, **more):
    form = {".parquet": "PARQUET", ".avro": "AVRO", ".puffin": "PUFFIN"}[os.path.splitext(path)[1]]
    return {
        "content": content,
        "file_path": f"file://{path}",
        "file_format": form,
        "partition": partition or {},
        "record_count": count,
        "file_size_in_bytes": os.path.getsize(path),
        "sort_order_id": None if content == POSITION_DELETES else 0,
        "spec_id": spec.spec_id,
        **more,
    }


def metrics(schema, rows):
    """Counts and bounds of the primitive columns at the top."""
    found = {"value_counts": [], "null_value_counts": [], "nan_value_counts": [], "lower_bounds": [], "upper_bounds": []}
    for field in schema.fields:
        if not isinstance(field.field_type, PrimitiveType):
            continue
        values = [internal(row.get(field.name)) for row in rows]
        numbers = [value for value in values if value is not None and not (isinstance(value, float) and math.isnan(value))]
        for key, value in (("value_counts", len(values)), ("null_value_counts", values.count(None)),
                           ("nan_value_counts", len(values) - values.count(None) - len(numbers))):
            found[key].append({"key": field.field_id, "value": value})
        if numbers:
            # A bound that is zero says nothing of its sign.
            for key, value, zero in (("lower_bounds", min(numbers), -0.0), ("upper_bounds", max(numbers), 0.0)):
                value = zero if isinstance(value, float) and value == 0 else value
                found[key].append({"key": field.field_id, "value": to_bytes(field.field_type, value)})
    return found


def write_parquet(path, schema, rows, properties=None, row_group=None):
    arrow = schema_to_pyarrow(schema, include_field_ids=True)
    table = pa.Table.from_pylist(rows, schema=arrow)
    parquet.write_table(table.replace_schema_metadata(properties), path, row_group_size=row_group or 1 << 20)


def write_avro(path, schema, rows, properties=None):
    avro = AvroSchemaConversion().iceberg_to_avro(schema, "table")
    with open(path, "xb") as file:
        fastavro.writer(file, avro, rows, codec="deflate", metadata=properties or {})


def write_rows(path, schema, rows, properties=None, row_group=None):
    if path.endswith(".avro"):
        write_avro(path, schema, rows, properties)
    else:
        write_parquet(path, schema, rows, properties, row_group)


class Files:
    """Writes files of one table into its data folder, as the current schema and a spec say."""

    def __init__(self, table):
        self.folder = os.path.join(path_of(table.location()), "data")
        self.table = table

    def data(self, rows, spec=None, schema=None, form="parquet", row_group=None):
        """One data file for each partition; gives their entries."""
        spec, schema = spec or self.table.spec(), schema or self.table.schema()
        entries = []
        for partition, part in by_partition(spec, schema, rows):
            path = new_path(self.folder, f".{form}")
            write_rows(path, schema, part, row_group=row_group)
            entries.append(entry_of(path, DATA, len(part), spec, partition, **metrics(schema, part)))
        return entries

    def equality(self, ids, rows, spec=None, schema=None, form="parquet", partition=None, with_metrics=True, extra_ids=()):
        """Equality deletes on the fields `ids`; without `partition`, one file for each tuple of the rows.

        `extra_ids` are columns that the file holds though nothing compares them, as writers of whole rows leave them.
        """
        spec, schema = spec or self.table.spec(), schema or self.table.schema()
        keys = prune_columns(schema, {*ids, *extra_ids}, select_full_types=False)
        entries = []
        for tuple_, part in [(partition, rows)] if partition is not None else by_partition(spec, schema, rows):
            path = new_path(self.folder, f"-eq-deletes.{form}")
            kept = [{field.name: row.get(field.name) for field in keys.fields} for row in part]
            write_rows(path, keys, kept, {"delete-type": "equality", "delete-field-ids": ",".join(map(str, ids))})
            bounds = metrics(keys, kept) if with_metrics else {}
            entries.append(entry_of(path, EQUALITY_DELETES, len(part), spec, tuple_, equality_ids=list(ids), **bounds))
        return entries

    def positions(self, data, places, form="parquet", rows=None, referenced=False, bounds=None):
        """One position delete file over `places`, pairs of path and position, for data files with the tuple of the entry `data`.

        `rows` adds the deleted rows themselves; `referenced` says in the entry that only one data file is named; `bounds` is how
        many characters of the paths the entry's bounds keep, 0 for all of them.
        """
        fields = [NestedField(PATH_ID, "file_path", StringType(), required=True),
                  NestedField(POSITION_ID, "pos", LongType(), required=True)]
        if rows:
            fields.append(NestedField(ROW_ID, "row", self.table.schema().as_struct(), required=False))
        order = sorted(range(len(places)), key=lambda number: places[number])
        records = [{"file_path": places[n][0], "pos": places[n][1], **({"row": rows[n]} if rows else {})} for n in order]
        path = new_path(self.folder, f"-deletes.{form}")
        write_rows(path, Schema(*fields), records, {"delete-type": "position"})
        more = {"referenced_data_file": places[0][0]} if referenced else {}
        if bounds is not None:
            more |= path_bounds([path for path, _ in places], bounds)
        entry = entry_of(path, POSITION_DELETES, len(places), spec_of_entry(self.table, data), data["partition"], **more)
        return [entry]

    def vectors(self, positions):
        """One Puffin file with a vector for each data file: pairs of data entry and positions."""
        path = new_path(self.folder, "-deletes.puffin")
        blobs = [(data, len(set(places)), vector_blob(places)) for data, places in positions]
        offsets = write_puffin(path, blobs)
        return [entry_of(path, POSITION_DELETES, count, spec_of_entry(self.table, data), data["partition"],
                         referenced_data_file=data["file_path"], content_offset=offset, content_size_in_bytes=len(blob))
                for (data, count, blob), offset in zip(blobs, offsets)]


def spec_of_entry(table, entry):
    return table.specs()[entry["spec_id"]]


def path_bounds(paths, length):
    """Bounds of the column file_path, whole or cut as bounds of other strings are."""
    lower, upper = min(paths).encode(), max(paths).encode()
    if length and len(upper) > length:
        upper = upper[:length - 1] + bytes([upper[length - 1] + 1])
    lower = lower[:length or len(lower)]
    return {"lower_bounds": [{"key": PATH_ID, "value": lower}], "upper_bounds": [{"key": PATH_ID, "value": upper}]}


def vector_blob(positions):
    """Length, magic, 64-bit roaring bitmap in the portable format, checksum."""
    body = b"\xd1\xd3\x39\x64" + pyroaring.BitMap64(positions).serialize()
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def read_vector(entry):
    """The positions of a vector's entry."""
    with open(path_of(entry["file_path"]), "rb") as file:
        file.seek(entry["content_offset"])
        blob = file.read(entry["content_size_in_bytes"])
    return set(pyroaring.BitMap64.deserialize(blob[8:-4]))


def read_positions(entry, data_path):
    """The positions that a position delete file has for one data file."""
    if entry["file_format"] == "AVRO":
        records = read_avro(entry["path"])
    else:
        records = parquet.read_table(entry["path"], columns=["file_path", "pos"]).to_pylist()
    return {record["pos"] for record in records if record["file_path"] == data_path}


def merged_positions(live, data, positions):
    """What a new vector for `data` must hold, given the live entries, and the identities of the vector it replaces."""
    positions, replaced = set(positions), []
    for delete in live:
        if delete["content"] != POSITION_DELETES or not applies(delete, data, ()):
            continue
        if delete["file_format"].upper() == "PUFFIN":
            positions |= read_vector(delete)
            replaced.append(identity(delete))
        else:
            positions |= read_positions(delete, data["file_path"])
    return sorted(positions), replaced


def write_puffin(path, blobs):
    """Writes (data entry, cardinality, blob) one after the other; gives the blobs' offsets."""
    magic, offsets, described = b"PFA1", [], []
    with open(path, "xb") as file:
        file.write(magic)
        for data, count, blob in blobs:
            offsets.append(file.tell())
            described.append({
                "type": "deletion-vector-v1", "fields": [2147483645], "snapshot-id": -1, "sequence-number": -1,
                "offset": offsets[-1], "length": len(blob),
                "properties": {"referenced-data-file": data["file_path"], "cardinality": str(count)},
            })
            file.write(blob)
        payload = json.dumps({"blobs": described, "properties": {"created-by": "tests"}}).encode()
        file.write(magic + payload + struct.pack("<i", len(payload)) + bytes(4) + magic)
    return offsets
