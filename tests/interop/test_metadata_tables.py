"""Metadata tables: every table of the corpus and tables of Spark's own, each cell beside Spark's.

Spark cannot open locations that were recorded elsewhere, so each table of the corpus is copied: metadata, lists and manifests with
the locations where its files lie. Both engines then read the copy.
"""
import datetime
import decimal
import json
import math
import os

import pytest

from iceberg_files import manifests_of, read_metadata
from lake import full_name
from tables import SPARK_TABLES, create, insert
from test_corpus import CORPUS, TABLES, CorpusTable, register, rewrite_avro

DECIMALS = decimal.Context(prec=40)  # Iceberg's have up to 38 digits, Python's as many as its context says
METADATA_TABLES = ["snapshots", "history", "refs", "metadata_log_entries", "manifests", "all_manifests", "files", "data_files",
                   "delete_files", "all_files", "all_data_files", "all_delete_files", "entries", "all_entries", "partitions",
                   "position_deletes"]


def canonical(value):
    """A value of either engine in one form, as far as that needs no type."""
    if isinstance(value, (bytes, bytearray)):
        return f"X'{bytes(value).hex()}'"
    if isinstance(value, datetime.datetime):
        text = value.isoformat(sep=" ")
        return text.rstrip("0") if "." in text else text
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): canonical(item) for key, item in sorted(value.items(), key=lambda pair: str(pair[0]))}
    if isinstance(value, (list, tuple)):
        return [canonical(item) for item in value]
    return value


def parts_of(text):
    """The types or fields between the brackets of a nested type."""
    parts, depth = [""], 0
    for letter in text[text.index("<") + 1:-1]:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def typed(value, kind):
    """Numbers as their type has them: JSON knows no decimals and writes some reals as whole numbers."""
    if value is None:
        return None
    if kind.startswith("struct<") and isinstance(value, dict):
        fields = dict(part.split(":", 1) for part in parts_of(kind))
        return {name: typed(item, fields.get(name, "")) for name, item in value.items()}
    if kind.startswith("array<") and isinstance(value, list):
        return [typed(item, parts_of(kind)[0]) for item in value]
    if kind.startswith("map<") and isinstance(value, dict):
        return {key: typed(item, parts_of(kind)[1]) for key, item in value.items()}
    if kind.startswith("decimal("):
        scale = int(kind.rstrip(")").split(",")[1])
        return str(decimal.Decimal(value).quantize(decimal.Decimal(1).scaleb(-scale), context=DECIMALS))
    if kind in ("float", "double"):  # the digits that a float has
        number = float(value)
        if math.isnan(number):
            return "NaN"
        return f"{number:.7g}" if math.isfinite(number) else ("Infinity" if number > 0 else "-Infinity")
    return value


def typed_rows(columns, rows):
    return [[typed(value, kind) for value, (_, kind) in zip(row, columns)] for row in rows]


def rows_of_spark(spark, query):
    frame = spark.sql(query)
    columns = [(name, kind) for name, kind in frame.dtypes]
    return columns, [canonical(list(row.asDict(recursive=True).values())) for row in frame.collect()]


def select(firn, *queries):
    """(columns, rows) of each query, run as one script."""
    run = firn("--quiet", "--output", "json", "sql", "-e", ";\n".join(queries))
    results = [json.loads(line, parse_float=decimal.Decimal) for line in run.out.splitlines()]
    assert len(results) == len(queries)
    return [([(column["name"], column["type"]) for column in result["columns"]], [canonical(row) for row in result["rows"]])
            for result in results]


def in_order(rows):
    return sorted(json.dumps(row, sort_keys=True, ensure_ascii=False, default=str) for row in rows)


def with_specs(wanted, files):
    """Spark's partitions, with the spec ids that its files tell where no snapshot is known that wrote them.

    Spark takes the spec id from the file whose snapshot is the latest known; where none is, it shows the 0 it began with, whatever
    spec the partition's files are of (impala_v3_default_on_partition: the partition j=10 has one file, of spec 1).
    """
    names = [name for name, _ in wanted[0]]
    if "spec_id" not in names:
        return wanted
    of_files = [dict(zip((name for name, _ in files[0]), row)) for row in files[1]]
    rows = [dict(zip(names, row)) for row in wanted[1]]
    for row in rows:
        if row["last_updated_snapshot_id"] is None:  # tuples of several specs that are alike differ in how many files they have
            specs = [file["spec_id"] for file in of_files if file["partition"] == row["partition"] and file["content"] == 0]
            row["spec_id"] = next((spec for spec in specs if specs.count(spec) == row["file_count"]), row["spec_id"])
    return wanted[0], [list(row.values()) for row in rows]


def check_same(spark, firn, table, kinds=METADATA_TABLES, suffix=""):
    """Gives how many metadata tables were compared: Spark refuses some tables."""
    queries = {kind: f"SELECT * FROM {full_name(table)}.{kind}{suffix}" for kind in kinds}
    wanted = {}
    for kind, query in queries.items():
        try:
            wanted[kind] = rows_of_spark(spark, query)
        except Exception as problem:  # pylint: disable=broad-except
            print(f"Spark: {table}.{kind}: {str(problem)[:300]}")
    results = select(firn, *[queries[kind] for kind in wanted])
    if "partitions" in wanted and "files" in wanted:
        wanted["partitions"] = with_specs(wanted["partitions"], wanted["files"])
    different = [difference(kind, *both) for kind, both in zip(wanted, zip(wanted.values(), results))]
    assert not any(different), "\n".join(filter(None, different))
    return len(wanted)


def difference(kind, wanted, found):
    """What differs first, or None."""
    if wanted[0] != found[0]:
        return f"{kind}: columns {[pair for pair in zip(wanted[0], found[0]) if pair[0] != pair[1]] or (wanted[0], found[0])}"
    if len(wanted[1]) != len(found[1]):
        return f"{kind}: {len(found[1])} rows, and Spark has {len(wanted[1])}"
    for ours, spark in zip(in_order(typed_rows(*found)), in_order(typed_rows(*wanted))):
        if ours != spark:
            cells = [(name, a, b) for (name, _), a, b in zip(wanted[0], json.loads(ours), json.loads(spark)) if a != b]
            return f"{kind}: (column, ours, Spark's) {cells}"[:3000]
    return None


def localized(metadata, where, folder):
    """Metadata with all snapshots of which everything is there, and with the locations where files lie; None without any."""
    os.makedirs(f"{folder}/metadata")
    copies, snapshots = {}, []
    for number, snapshot in enumerate(metadata.get("snapshots", [])):
        try:
            lines = [localized_manifest(path, line, where, folder, copies) for path, line in manifests_of(snapshot, where)]
        except FileNotFoundError:
            continue
        local = dict(snapshot)
        if "manifest-list" in snapshot:
            list_path = f"{folder}/metadata/list{number}.avro"
            lines.reverse()
            rewrite_avro(where(snapshot["manifest-list"]), list_path, lambda record: record.update(lines.pop()))
            local["manifest-list"] = f"file://{list_path}"
        else:
            local["manifests"] = [line["manifest_path"] for line in lines]
        snapshots.append(local)
    kept = {snapshot["snapshot-id"] for snapshot in snapshots}
    if metadata.get("current-snapshot-id", -1) not in kept | {-1, None}:
        return None
    local = {**metadata, "location": f"file://{folder}", "snapshots": snapshots, "statistics": [], "partition-statistics": [],
             "snapshot-log": [entry for entry in metadata.get("snapshot-log", []) if entry["snapshot-id"] in kept]}
    if "refs" in metadata:
        local["refs"] = {name: ref for name, ref in metadata["refs"].items() if ref["snapshot-id"] in kept}
    path = f"{folder}/metadata/00009-local.metadata.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(local, file)
    return path


def localized_manifest(path, line, where, folder, copies):
    def change(record):
        file = record["data_file"]
        local = where(file["file_path"])
        file["file_path"] = "file://" + local
        # Some files of the corpus were written anew after they were committed (duckdb_moved_object_storage: 10,309 bytes, 2,363
        # recorded). Spark reads no further than the recorded size, and so finds none of their rows.
        if file.get("content") and not file.get("content_size_in_bytes") and os.path.exists(local):
            file["file_size_in_bytes"] = os.path.getsize(local)
        if file.get("referenced_data_file"):
            file["referenced_data_file"] = "file://" + where(file["referenced_data_file"])

    if path not in copies:
        copies[path] = f"{folder}/metadata/m{len(copies)}.avro"
        rewrite_avro(path, copies[path], change)
    return {**(line or {}), "manifest_path": f"file://{copies[path]}", "manifest_length": os.path.getsize(copies[path])}


def spark_takes(spark, path):
    """Whether the Java library takes the metadata at all: its catalogs try again for minutes before they say so."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        spark._jvm.org.apache.iceberg.TableMetadataParser.fromJson(text)  # pylint: disable=protected-access
    except Exception as problem:  # pylint: disable=broad-except
        print(f"Spark: {path}: {str(problem)[:600]}")
        return False
    return True


@pytest.mark.parametrize("name", sorted(TABLES))
def test_tables_of_the_corpus(lake, firn, spark, folder, name):
    table = CorpusTable(name, TABLES[name], os.path.join(CORPUS, "iceberg", name))
    local = localized(read_metadata(table.metadata_file), table.where, f"{folder}/meta/{name}")
    if not local or not spark_takes(spark, local):
        return
    lake.catalog.create_namespace_if_not_exists("meta")
    register(lake, name, f"file://{local}", "meta")
    assert check_same(spark, firn, f"meta.{name}") >= 4


@pytest.mark.parametrize("name", sorted(SPARK_TABLES))
def test_tables_of_spark(namespace, firn, spark, name):
    SPARK_TABLES[name](spark, f"{namespace}.{name}")
    assert check_same(spark, firn, f"{namespace}.{name}") == len(METADATA_TABLES)


@pytest.mark.parametrize("version", [2, 3])
def test_deletes_branches_and_expired_snapshots(namespace, firn, spark, version):
    table = f"{namespace}.deletes"
    name = full_name(table)
    create(spark, table, "id bigint, day date, s string", f"""PARTITIONED BY (day) TBLPROPERTIES ('format-version' = '{version}',
        'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read')""")
    for commit in range(3):
        insert(spark, table, f"SELECT id, date'2024-01-01' + cast(id % 3 as int), concat('s', id) FROM range({commit * 30}, {commit * 30 + 30})")
    spark.sql(f"DELETE FROM {name} WHERE id % 7 = 1")
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH audit RETAIN 5 DAYS WITH SNAPSHOT RETENTION 3 SNAPSHOTS 2 DAYS")
    spark.sql(f"ALTER TABLE {name} CREATE TAG kept RETAIN 30 DAYS")
    spark.sql(f"DELETE FROM {name} WHERE day = date'2024-01-02'")
    spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD bucket(2, id)")
    insert(spark, table, "SELECT id, date'2024-01-01', null FROM range(20)")
    spark.sql(f"DELETE FROM {name} WHERE id = 5")
    spark.sql(f"INSERT INTO {name}.branch_audit SELECT 99999, date'2025-01-01', 'x'")
    assert check_same(spark, firn, table) == len(METADATA_TABLES)
    first = spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at LIMIT 1").collect()[0][0]
    for version_of in (f" VERSION AS OF {first}", " VERSION AS OF 'kept'", " VERSION AS OF 'audit'"):
        check_same(spark, firn, table, ["files", "entries", "manifests", "partitions"], version_of)


# As the articles have them; where a page has lost its '<' and '>', they are put back.
DIAGNOSIS = [
    "SELECT count(*) FROM {table}.files",
    "SELECT count(*) FROM {table}.manifests",
    "SELECT snapshot_id, committed_at, operation, summary FROM {table}.snapshots ORDER BY committed_at DESC LIMIT 10",
    """SELECT COUNT(*) AS file_cnt, ROUND(AVG(file_size_in_bytes) / 1024 / 1024, 2) AS avg_size_mb,
       ROUND(SUM(file_size_in_bytes) / 1024 / 1024 / 1024, 2) AS total_gb FROM {table}.files""",
    """SELECT partition, COUNT(*) AS file_cnt, ROUND(AVG(file_size_in_bytes) / 1024 / 1024, 2) AS avg_size_mb
       FROM {table}.files GROUP BY partition HAVING COUNT(*) >= 2 OR AVG(file_size_in_bytes) < 67108864""",
    "SELECT * FROM {table}.refs",
    """SELECT partition.day, count(*) AS n, sum(readable_metrics.id.value_count) AS v, min(readable_metrics.s.lower_bound) AS low
       FROM {table}.data_files WHERE partition.day >= DATE '2024-01-02' GROUP BY partition.day ORDER BY 1""",
    """SELECT s.operation, sum(cast(s.summary['added-records'] as bigint)) AS n FROM {table}.snapshots s
       GROUP BY s.operation ORDER BY s.operation""",
    """SELECT e.status, count(*) AS n, sum(e.data_file.record_count) AS r FROM {table}.entries e
       JOIN {table}.snapshots s ON e.snapshot_id = s.snapshot_id WHERE s.committed_at > TIMESTAMP '2020-01-01 00:00:00'
       GROUP BY e.status ORDER BY 1""",
    "SELECT content, count(*) AS n, sum(file_size_in_bytes) / count(*) > 0 AS b FROM {table}.all_files GROUP BY content ORDER BY 1",
]


def test_the_articles_diagnosis(namespace, firn, spark):
    table = f"{namespace}.ill"
    create(spark, table, "id bigint, day date, s string",
           "PARTITIONED BY (day) TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    for commit in range(4):
        insert(spark, table, f"SELECT id, date'2024-01-01' + cast(id % 3 as int), concat('s', id) FROM range({commit * 30}, {commit * 30 + 30})")
    spark.sql(f"DELETE FROM {full_name(table)} WHERE id % 7 = 1")
    queries = [query.format(table=full_name(table)) for query in DIAGNOSIS]
    for query, (columns, rows) in zip(queries, select(firn, *queries)):
        wanted_columns, wanted = rows_of_spark(spark, query)
        truth = [[bool(value) if kind == "boolean" and value in (0, 1) else value
                  for value, (_, kind) in zip(row, wanted_columns)] for row in rows]
        assert in_order(typed_rows(wanted_columns, truth)) == in_order(typed_rows(wanted_columns, wanted)), query
        assert [name for name, _ in columns if "(" not in name] == [name for name, _ in wanted_columns if "(" not in name], query
