"""Commits made by hand, since no Python library writes delete entries: manifests, manifest list, metadata, swap in the catalog.

An entry is a data_file record as `iceberg_files.live_files` gives it, made by `file_writers.py`. The commit inherits sequence
numbers and row ids as the specification says, and keeps what it does not touch.
"""
import copy
import json
import os
import random
import sqlite3
import time
import uuid

import fastavro
from pyiceberg.manifest import MANIFEST_LIST_FILE_SCHEMAS, data_file_with_partition, manifest_entry_schema_with_data_file
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, ListType, NestedField, StringType, StructType
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from engines import path_of
from iceberg_files import DATA, EQUALITY_DELETES, LIVE, identity, read_avro, read_metadata, snapshot_of, with_inherited

EXISTING, ADDED, DELETED = range(3)


class Refused(Exception):
    """The table is no longer one to which the commit may be made."""


def write_avro(path, schema, records, properties=None):
    with open(path, "xb") as file:
        fastavro.writer(file, schema, records, codec="deflate", metadata=properties or {})


def schemas_of(metadata):
    return {schema["schema-id"]: Schema.model_validate(schema) for schema in metadata["schemas"]}


def schema_of(metadata):
    return schemas_of(metadata)[metadata["current-schema-id"]]


def specs_of(metadata):
    return {spec["spec-id"]: PartitionSpec.model_validate(spec) for spec in metadata["partition-specs"]}


def partition_type(metadata, spec):
    """The type of a spec's tuples; a source that left the current schema is looked for in the older ones."""
    schemas = schemas_of(metadata)
    sources = {field.source_id for field in spec.fields}
    for number in [metadata["current-schema-id"], *sorted(schemas, reverse=True)]:
        if sources <= schemas[number].field_ids:
            return spec.partition_type(schemas[number])
    raise Refused(f"no schema has all sources of {spec}")


def data_file_type(version, tuple_type):
    """PyIceberg's type of a data_file record, with equality ids as ints and what version 2 got since."""
    fields = list(data_file_with_partition(format_version=version, partition_type=tuple_type).fields)
    ids = NestedField(135, "equality_ids", ListType(136, IntegerType(), element_required=True), required=False)
    fields = [ids if field.field_id == 135 else field for field in fields]
    if version == 2:
        fields.append(NestedField(143, "referenced_data_file", StringType(), required=False))
    return StructType(*fields)


def upgrade_to_version_3(metadata):
    metadata |= {"format-version": 3, "next-row-id": 0}


class Attempt:
    """One snapshot on top of the metadata as it was read."""

    def __init__(self, metadata, branch):
        self.metadata = copy.deepcopy(metadata)
        self.version = metadata["format-version"]
        self.branch = branch
        ref = metadata.get("refs", {}).get(branch, {})
        self.parent = snapshot_of(metadata, ref.get("snapshot-id", -1))
        self.snapshot_id = random.SystemRandom().randrange(1, 2**63)
        self.sequence_number = metadata["last-sequence-number"] + 1
        self.folder = path_of(metadata["location"]) + "/metadata"
        os.makedirs(self.folder, exist_ok=True)
        self.next_row_id = metadata.get("next-row-id", 0)

    def new_name(self, prefix):
        return f"{self.folder}/{prefix}{uuid.uuid4()}.avro"

    def write_manifest(self, spec_id, is_data, records):
        """A manifest of these entry records and its line for the manifest list."""
        spec = specs_of(self.metadata)[spec_id]
        kind = data_file_type(self.version, partition_type(self.metadata, spec))
        schema = AvroSchemaConversion().iceberg_to_avro(
            manifest_entry_schema_with_data_file(format_version=self.version, data_file=kind), "manifest_entry")
        path = self.new_name("m-")
        write_avro(path, schema, records, {
            "schema": schema_of(self.metadata).model_dump_json(),
            "partition-spec": json.dumps([field.model_dump(by_alias=True, mode="json") for field in spec.fields]),
            "partition-spec-id": str(spec_id),
            "format-version": str(self.version),
            "content": "data" if is_data else "deletes",
        })
        line = {
            "manifest_path": f"file://{path}",
            "manifest_length": os.path.getsize(path),
            "partition_spec_id": spec_id,
            "content": 0 if is_data else 1,
            "sequence_number": self.sequence_number,
            "min_sequence_number": min([self.sequence_number, *(
                record["sequence_number"] for record in records if record["status"] in LIVE and record["sequence_number"] is not None)]),
            "added_snapshot_id": self.snapshot_id,
        }
        for status, name in ((ADDED, "added"), (EXISTING, "existing"), (DELETED, "deleted")):
            chosen = [record["data_file"]["record_count"] for record in records if record["status"] == status]
            line[f"{name}_files_count"] = len(chosen)
            line[f"{name}_rows_count"] = sum(chosen)
        return line

    def added_manifests(self, entries):
        """One manifest for each spec and kind of content."""
        groups = {}
        for entry in entries:
            groups.setdefault((entry["spec_id"], entry["content"] == DATA), []).append({
                "status": ADDED,
                "snapshot_id": self.snapshot_id,
                # Only a file that takes the place of older ones brings a number of its own.
                "sequence_number": entry.get("sequence_number"),
                "file_sequence_number": None,
                "data_file": entry,
            })
        return [self.write_manifest(spec_id, is_data, records) for (spec_id, is_data), records in groups.items()]

    def kept_manifests(self, removed):
        """The parent's manifests, those with removed files written anew; gives the removed entries, too."""
        lines, gone = [], []
        for line in read_avro(path_of(self.parent["manifest-list"])) if self.parent else []:
            line = {"content": 0, "sequence_number": 0, "min_sequence_number": 0, **line}  # version 1 has none
            if not removed:
                lines.append(line)
                continue
            records = with_inherited(line, read_avro(path_of(line["manifest_path"])))
            records = [record for record in records if record["status"] in LIVE]
            mine = [record for record in records if identity(record["data_file"]) in removed]
            if mine:
                for record in records:
                    record["status"] = DELETED if record in mine else EXISTING
                    if record["status"] == DELETED:
                        record["snapshot_id"] = self.snapshot_id
                gone += [record["data_file"] for record in mine]
                first_row_id = line.get("first_row_id")
                line = self.write_manifest(line["partition_spec_id"], line["content"] == 0, records)
                line["first_row_id"] = first_row_id
            lines.append(line)
        missing = removed - {identity(entry) for entry in gone}
        if missing:
            raise Refused(f"no longer in the table: {sorted(missing, key=str)}")
        return lines, gone

    def assign_row_ids(self, lines):
        for line in lines:
            if line["content"] == 0 and line.get("first_row_id") is None:
                line["first_row_id"] = self.next_row_id
                self.next_row_id += line["existing_rows_count"] + line["added_rows_count"]

    def snapshot(self, added, removed, operation):
        """Writes manifests and list; gives the snapshot."""
        kept, gone = self.kept_manifests(set(removed))
        lines = self.added_manifests(added) + kept
        first_row_id = self.next_row_id
        if self.version >= 3:
            self.assign_row_ids(lines)
        path = self.new_name("snap-")
        schema = AvroSchemaConversion().iceberg_to_avro(MANIFEST_LIST_FILE_SCHEMAS[self.version], "manifest_file")
        write_avro(path, schema, lines)
        snapshot = {
            "snapshot-id": self.snapshot_id,
            "sequence-number": self.sequence_number,
            "timestamp-ms": max(int(time.time() * 1000), self.metadata["last-updated-ms"]),
            "manifest-list": f"file://{path}",
            "summary": {"operation": operation, **self.totals(added, gone)},
            "schema-id": self.metadata["current-schema-id"],
        }
        if self.parent:
            snapshot["parent-snapshot-id"] = self.parent["snapshot-id"]
        if self.version >= 3:
            snapshot |= {"first-row-id": first_row_id, "added-rows": self.next_row_id - first_row_id}
        return snapshot

    def totals(self, added, gone):
        """The counters that engines go by; counted on from the parent's."""
        before = self.parent["summary"] if self.parent else {}

        def total(key, count):
            return str(int(before.get(key, 0)) + count(added) - count(gone))

        def records(kind):
            return lambda entries: sum(entry["record_count"] for entry in entries if entry["content"] == kind)

        return {
            "total-records": total("total-records", records(DATA)),
            "total-position-deletes": total("total-position-deletes", records(1)),
            "total-equality-deletes": total("total-equality-deletes", records(EQUALITY_DELETES)),
            "total-data-files": total("total-data-files", lambda entries: sum(entry["content"] == DATA for entry in entries)),
            "total-delete-files": total("total-delete-files", lambda entries: sum(entry["content"] != DATA for entry in entries)),
            "total-files-size": total("total-files-size", lambda entries: sum(entry["file_size_in_bytes"] for entry in entries)),
        }

    def finish(self, snapshot, previous_location):
        """The new metadata's location."""
        metadata = self.metadata
        now = snapshot["timestamp-ms"]
        metadata.setdefault("snapshots", []).append(snapshot)
        metadata.setdefault("refs", {}).setdefault(self.branch, {"type": "branch"})["snapshot-id"] = self.snapshot_id
        metadata.setdefault("metadata-log", []).append(
            {"metadata-file": previous_location, "timestamp-ms": metadata["last-updated-ms"]})
        metadata |= {"last-sequence-number": self.sequence_number, "last-updated-ms": now}
        if self.branch == "main":
            metadata["current-snapshot-id"] = self.snapshot_id
            metadata.setdefault("snapshot-log", []).append({"snapshot-id": self.snapshot_id, "timestamp-ms": now})
        if self.version >= 3:
            metadata["next-row-id"] = self.next_row_id
        number = int(os.path.basename(previous_location).split("-")[0]) + 1
        path = f"{self.folder}/{number:05d}-{uuid.uuid4()}.metadata.json"
        with open(path, "x", encoding="utf-8") as file:
            json.dump(metadata, file)
        return f"file://{path}"


class Committer:
    """Commits to one table of the lake; needs nothing but its database and files, so another process may have one, too."""

    def __init__(self, database, identifier):
        self.database = database
        self.key = tuple(identifier.rsplit(".", 1))

    def location(self):
        with sqlite3.connect(self.database, timeout=60) as connection:
            query = "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?"
            return connection.execute(query, self.key).fetchone()[0]

    def metadata(self):
        return read_metadata(path_of(self.location()))

    def swap(self, old, new):
        with sqlite3.connect(self.database, timeout=60) as connection:
            statement = """UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ?
                           WHERE table_namespace = ? AND table_name = ? AND metadata_location = ?"""
            return connection.execute(statement, (new, old, *self.key, old)).rowcount == 1

    def commit(self, added=(), removed=(), operation="overwrite", branch="main"):
        """Adds entries and removes those of the identities in `removed`; Refused when one of them is not there. Gives the snapshot."""
        return self.commit_change(lambda metadata: (added, removed), operation, branch)

    def commit_change(self, change, operation="overwrite", branch="main"):
        """The same, with `change` giving both from the metadata anew at every attempt."""
        for _ in range(100):
            location = self.location()
            metadata = read_metadata(path_of(location))
            attempt = Attempt(metadata, branch)
            snapshot = attempt.snapshot(*change(metadata), operation)
            if self.swap(location, attempt.finish(snapshot, location)):
                return snapshot
        raise Refused("lost 100 races")

    def edit(self, change):
        """Changes the metadata's JSON by a function, for what no engine would write."""
        location = self.location()
        metadata = read_metadata(path_of(location))
        change(metadata)
        number = int(os.path.basename(location).split("-")[0]) + 1
        path = f"{path_of(metadata['location'])}/metadata/{number:05d}-{uuid.uuid4()}.metadata.json"
        with open(path, "x", encoding="utf-8") as file:
            json.dump(metadata, file)
        assert self.swap(location, f"file://{path}")
