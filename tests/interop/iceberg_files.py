"""Lists the files of a table from its metadata with a JSON and an Avro reader only, so that no engine's opinion gets in."""
import gzip
import json
import os

import fastavro
import pyarrow.orc as orc
import pyarrow.parquet as parquet

LIVE = (0, 1)  # statuses EXISTING and ADDED
DATA, POSITION_DELETES, EQUALITY_DELETES = range(3)


class Relocation:
    """Maps recorded locations to where the files lie."""

    def __init__(self, pairs=()):
        self.pairs = list(pairs)

    def __call__(self, location):
        for recorded, actual in self.pairs:
            if location == recorded or location.startswith(recorded.rstrip("/") + "/"):
                return actual + location[len(recorded):]
        for scheme in ("file://", "file:"):
            if location.startswith(scheme):
                return location.removeprefix(scheme)
        return location


def read_metadata(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return json.loads(data)


def read_avro(path):
    with open(path, "rb") as file:
        return list(fastavro.reader(file))


def snapshot_of(metadata, snapshot_id=None):
    wanted = metadata.get("current-snapshot-id") if snapshot_id is None else snapshot_id
    return next((snapshot for snapshot in metadata.get("snapshots", []) if snapshot["snapshot-id"] == wanted), None)


def manifests_of(snapshot, where):
    """(path, manifest list entry or None) of each manifest of a snapshot."""
    if snapshot is None:
        return []
    if "manifest-list" in snapshot:
        entries = read_avro(where(snapshot["manifest-list"]))
        return [(where(entry["manifest_path"]), entry) for entry in entries]
    return [(where(path), None) for path in snapshot["manifests"]]


def identity(file):
    """What tells one live entry from all others: vectors share the path of their Puffin file."""
    return file["file_path"], file.get("content_offset")


def with_inherited(entry, records):
    """Fills in what the entries of a manifest inherit from its line in the manifest list, which is None for inlined manifests."""
    line = entry or {}
    next_row_id = line.get("first_row_id")
    for record in records:
        file = record["data_file"]
        file["content"] = file.get("content") or DATA
        for key in ("sequence_number", "file_sequence_number"):
            if record.get(key) is None:
                record[key] = line.get("sequence_number", 0)
        if record.get("snapshot_id") is None:
            record["snapshot_id"] = line.get("added_snapshot_id")
        if next_row_id is not None and file["content"] == DATA and record["status"] in LIVE and file.get("first_row_id") is None:
            file["first_row_id"] = next_row_id
            next_row_id += file["record_count"]
    return records


def live_files(metadata, where=Relocation(), snapshot_id=None):
    """The live entries of a snapshot: the data_file record with `status`, both sequence numbers, `spec_id` and `path` added."""
    files = []
    for path, entry in manifests_of(snapshot_of(metadata, snapshot_id), where):
        for record in with_inherited(entry, read_avro(path)):
            if record["status"] not in LIVE:
                continue
            file = record["data_file"]
            file["status"] = record["status"]
            file["sequence_number"] = record["sequence_number"]
            file["file_sequence_number"] = record["file_sequence_number"]
            file["spec_id"] = entry["partition_spec_id"] if entry else 0
            file["path"] = where(file["file_path"])
            files.append(file)
    return files


def paths_named(delete):
    """The data files that a position delete file or vector names."""
    if delete["file_format"].upper() == "PUFFIN":
        return {delete["referenced_data_file"]}
    if delete["file_format"].upper() == "AVRO":
        return {record["file_path"] for record in read_avro(delete["path"])}
    reader = orc if delete["file_format"].upper() == "ORC" else parquet
    return set(reader.read_table(delete["path"], columns=["file_path"]).column(0).to_pylist())


def applies(delete, data, unpartitioned):
    """Whether a delete file concerns a data file; `unpartitioned` are the ids of specs without fields."""
    same = delete["spec_id"] == data["spec_id"] and delete["partition"] == data["partition"]
    if delete["content"] == EQUALITY_DELETES:
        return data["sequence_number"] < delete["sequence_number"] and (same or delete["spec_id"] in unpartitioned)
    return data["sequence_number"] <= delete["sequence_number"] and same and data["file_path"] in paths_named(delete)


def reachable(metadata_path, where=Relocation()):
    """Every local path that the table's metadata or any of its snapshots names, the metadata file itself included."""
    metadata = read_metadata(metadata_path)
    paths = {metadata_path} | {where(item["metadata-file"]) for item in metadata.get("metadata-log", [])}
    for snapshot in metadata.get("snapshots", []):
        if "manifest-list" in snapshot:
            paths.add(where(snapshot["manifest-list"]))
        for path, _ in manifests_of(snapshot, where):
            paths.add(path)
            paths |= {where(record["data_file"]["file_path"]) for record in read_avro(path)}
    return paths


def files_below(folder):
    """Every file below a folder, Hadoop's checksums left out, with its size."""
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            if not (name.startswith(".") and name.endswith(".crc")):
                path = os.path.join(base, name)
                found[path] = os.path.getsize(path)
    return found
