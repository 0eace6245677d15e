"""For the same table and arguments firn and Spark call the same files orphans and delete the same ones. Removing orphans
commits nothing, so both work on one table, whose folder is put back in between."""
import os
import shutil
import subprocess
import time

import pyarrow as pa
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType

from engines import path_of
from firn import FAILED, NOT_FOUND, OK, PARTIAL, USAGE
from lake import full_name

DAY = 86400
SCHEMA = Schema(
    NestedField(1, "_p", StringType(), required=False),
    NestedField(2, "id", LongType(), required=False),
)
# What lies in the table's folder beside the table: name and age in days.
STRAYS = {
    "data/stray.parquet": 10, "data/_p=a/stray.parquet": 10, "data/_p=new/stray.parquet": 10, "data/_p=a/_hidden": 10,
    "data/_px=a/stray.parquet": 10, "data/.crc": 10, "data/_temporary/0/part": 10, "data/name with blanks %20+ü": 10,
    "data/young.parquet": 0, "data/two-days": 2, "data/four-days": 4, "data/six-days": 6, "metadata/stray-m0.avro": 10,
    "metadata/snap-1-1-stray.avro": 10, "top-level": 10, "deep/a/b/c/d": 10, "data2/stray": 10,
}
# The same path as a stray's, but recorded with another scheme or authority.
FOREIGN = {"data/scheme.parquet": "gs:", "data/authority.parquet": "file://b"}


def put(path, age_days):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write("stray")
    moment = time.time() - age_days * DAY
    os.utime(path, (moment, moment))


def files_below(folder):
    return {os.path.relpath(os.path.join(root, name), folder) for root, _, names in os.walk(folder) for name in names}


class Scene:
    """A table with strays around it, and a copy of its folder to put back."""

    def __init__(self, lake, name, foreign=()):
        self.identifier = f"{lake.new_namespace()}.{name}"
        spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "_p"))
        self.table = lake.catalog.create_table(self.identifier, SCHEMA, partition_spec=spec)
        for number in range(3):
            self.table.append(pa.table({"_p": ["a", "b"], "id": [number, number]}))
        self.table.overwrite(pa.table({"_p": ["a"], "id": [9]}))
        self.folder = path_of(self.table.location())
        self.add_foreign(foreign)
        for root, _, names in os.walk(self.folder):
            for file in names:
                moment = time.time() - 20 * DAY
                os.utime(os.path.join(root, file), (moment, moment))
        for path, age in STRAYS.items():
            put(os.path.join(self.folder, path), age)
        put(self.folder + "0/neighbour", 10)
        self.copy = self.folder + "-copy"
        subprocess.run(["cp", "-a", self.folder, self.copy], check=True)

    def add_foreign(self, names):
        if not names:
            return
        with self.table.transaction() as transaction:
            with transaction.update_snapshot().fast_append() as append:
                for name in names:
                    put(os.path.join(self.folder, name), 10)
                    append.append_data_file(DataFile.from_args(
                        content=DataFileContent.DATA, file_path=f"{FOREIGN[name]}{self.folder}/{name}",
                        file_format=FileFormat.PARQUET, partition=Record("a"), record_count=1, file_size_in_bytes=5,
                        column_sizes={}, value_counts={}, null_value_counts={}, nan_value_counts={}, lower_bounds={},
                        upper_bounds={}, sort_order_id=None, spec_id=0, equality_ids=None, key_metadata=None,
                        split_offsets=None))

    def put_back(self):
        shutil.rmtree(self.folder)
        subprocess.run(["cp", "-a", self.copy, self.folder], check=True)


@pytest.fixture(scope="module")
def plain(lake):
    return Scene(lake, "plain")


@pytest.fixture(scope="module")
def spelled(lake):
    return Scene(lake, "spelled", list(FOREIGN))


def ago(days):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() - days * DAY))


def firn_result(firn, scene, *arguments, status=OK):
    run = firn("--quiet", "--output", "json", "remove-orphan-files", f"lake.{scene.identifier}", *arguments, status=status)
    if status != OK:
        return None, files_below(scene.folder)
    listed = [path_of(row["orphan_file_location"]) for row in run.json["orphan_files"]]
    assert len(listed) == len(set(listed))
    return {os.path.relpath(path, scene.folder) for path in listed}, files_below(scene.folder)


def spark_result(spark, scene, arguments, fails=False):
    call = ", ".join([f"table => '{scene.identifier}'", *(f"{key} => {value}" for key, value in arguments.items())])
    try:
        rows = spark.sql(f"CALL lake.system.remove_orphan_files({call})").collect()
    except Exception:
        assert fails, call
        return None, files_below(scene.folder)
    assert not fails, call
    return {os.path.relpath(path_of(row[0]), scene.folder) for row in rows}, files_below(scene.folder)


def compare(firn, spark, scene, firn_arguments, spark_arguments, status=OK):
    scene.put_back()
    by_firn = firn_result(firn, scene, *firn_arguments, status=status)
    scene.put_back()
    by_spark = spark_result(spark, scene, spark_arguments, fails=status != OK)
    assert by_firn == by_spark
    return by_firn


def test_defaults(firn, spark, plain):
    listed, left = compare(firn, spark, plain, [], {})
    assert {"data/stray.parquet", "data/_p=a/stray.parquet", "top-level", "data/four-days"} <= listed
    assert not {"data/young.parquet", "data/two-days", "data/.crc", "data/_px=a/stray.parquet"} & listed
    assert left == files_below(plain.copy) - listed
    assert os.path.exists(plain.folder + "0/neighbour")


@pytest.mark.parametrize("days", [1.5, 3, 5, 30])
def test_older_than(firn, spark, plain, days):
    moment = ago(days)
    compare(firn, spark, plain, ["--older-than", moment], {"older_than": f"TIMESTAMP '{moment}'"})


def test_dry_run(firn, spark, plain):
    listed, left = compare(firn, spark, plain, ["--dry-run"], {"dry_run": "true"})
    assert listed and left == files_below(plain.copy)


@pytest.mark.parametrize("firn_arguments, spark_arguments", [
    (["--stream-results"], {}),  # Spark has it since Iceberg 1.11
    (["--max-concurrent-deletes", "50"], {"max_concurrent_deletes": "50"}),
    (["--prefix-mismatch-mode", "delete"], {"prefix_mismatch_mode": "'delete'"}),
])
def test_other_arguments(firn, spark, plain, firn_arguments, spark_arguments):
    listed, _ = compare(firn, spark, plain, firn_arguments, spark_arguments)
    assert "data/stray.parquet" in listed and "data/.crc" not in listed


def test_prefix_listing(firn, spark, plain):
    """Spark tells hidden paths by the text of the location then: spelled as Hadoop spells it, they are those of a walk."""
    location = f"file:{plain.folder}/data"
    listed, _ = compare(firn, spark, plain, ["--prefix-listing", "--location", location],
                        {"prefix_listing": "true", "location": f"'{location}'"})
    assert "data/stray.parquet" in listed and "data/_p=a/_hidden" not in listed
    plain.put_back()
    run = firn("remove-orphan-files", f"lake.{plain.identifier}", "--prefix-listing", "--dry-run")
    assert "--prefix-listing changes nothing" in run.err
    assert firn("--quiet", "remove-orphan-files", f"lake.{plain.identifier}", "--prefix-listing", "--dry-run").err == ""


def test_location(firn, spark, plain):
    location = plain.folder + "/data"
    listed, _ = compare(firn, spark, plain, ["--location", location, "--max-concurrent-deletes", "3"],
                        {"location": f"'{location}'", "max_concurrent_deletes": "3"})
    assert listed and all(path.startswith("data/") for path in listed)


def test_file_list_view(firn, spark, plain, tmp_path):
    """The view names hidden, young, referenced and unlisted files alike."""
    moment, old = ago(2.9), ago(8)
    names = [*STRAYS, *(name for name in files_below(plain.folder) if name.endswith(".metadata.json"))]
    rows = [(f"file:{plain.folder}/{name}", old if age is None or age > 3 else moment)
            for name, age in ((name, STRAYS.get(name)) for name in names)]
    rows.append((f"file:{plain.folder}0/neighbour", old))
    view = tmp_path / "view.csv"
    view.write_text("file_path,last_modified\n" + "".join(f'"{path}",{when}\n' for path, when in rows), encoding="utf-8")
    frame = spark.createDataFrame(rows, "file_path STRING, last_modified STRING")
    frame.selectExpr("file_path", "CAST(last_modified AS TIMESTAMP) AS last_modified").createOrReplaceTempView("strays")
    location = f"file:{plain.folder}/"
    listed, _ = compare(firn, spark, plain, ["--file-list-view", str(view), "--location", location],
                        {"file_list_view": "'strays'", "location": f"'{location}'"})
    assert "data/.crc" in listed and "data/two-days" not in listed


@pytest.mark.parametrize("mode, status", [("ERROR", USAGE), ("ignore", OK), ("DELETE", OK)])
def test_prefix_mismatch(firn, spark, spelled, mode, status):
    listed, _ = compare(firn, spark, spelled, ["--prefix-mismatch-mode", mode], {"prefix_mismatch_mode": f"'{mode}'"},
                        status=status)
    if status == OK:
        assert set(FOREIGN) & listed == (set(FOREIGN) if mode == "DELETE" else set())


def test_equal_prefixes(firn, spark, spelled):
    listed, _ = compare(firn, spark, spelled, ["--equal-schemes", "gs,s3=file", "--equal-authorities", "b="],
                        {"equal_schemes": "map('gs,s3', 'file')", "equal_authorities": "map('b', '')"})
    assert not set(FOREIGN) & listed and "data/stray.parquet" in listed
    compare(firn, spark, spelled, ["--equal-schemes", "gs=file"], {"equal_schemes": "map('gs', 'file')"}, status=USAGE)


def test_a_young_age_is_warned_of(firn, plain):
    plain.put_back()
    name = f"lake.{plain.identifier}"
    assert "THE FILES OF EVERY WRITE" in firn("--quiet", "remove-orphan-files", name, "--dry-run", "--older-than", "2d").err
    assert firn("--quiet", "remove-orphan-files", name, "--dry-run", "--older-than", "4d").err == ""


def test_what_cannot_be_deleted(as_nobody, firn, plain):
    """It is named, not counted, and the exit status shows it; the next run deletes it."""
    plain.put_back()
    put(plain.folder + "/data/stuck/stray", 10)
    subprocess.run(["chmod", "-R", "a+rwX", plain.folder], check=True)
    os.chmod(plain.folder + "/data/stuck", 0o755)
    run = as_nobody("--quiet", "--output", "json", "remove-orphan-files", f"lake.{plain.identifier}", status=PARTIAL)
    report = run.json["report"]
    assert report["failed_files_count"] == 1 and report["deleted_files_count"] == report["orphan_files_count"] - 1 > 0
    assert "data/stuck/stray" in report["failures"][0] and "1 of" in run.err
    assert firn_result(firn, plain)[0] == {"data/stuck/stray"}
    assert firn_result(firn, plain)[0] == set()
    plain.put_back()


def test_refusals(firn, spark, plain):
    moment = ago(0.5)
    compare(firn, spark, plain, ["--older-than", moment], {"older_than": f"TIMESTAMP '{moment}'"}, status=USAGE)
    compare(firn, spark, plain, ["--max-concurrent-deletes", "0"], {"max_concurrent_deletes": "0"}, status=USAGE)
    compare(firn, spark, plain, ["--prefix-mismatch-mode", "SKIP"], {"prefix_mismatch_mode": "'SKIP'"}, status=USAGE)


def test_rows_are_as_before(firn, spark, plain):
    """What is left reads, and there is nothing more to remove, for either."""
    plain.put_back()
    before = plain.table.refresh().scan().to_arrow().sort_by("id")
    listed, _ = firn_result(firn, plain)
    assert listed
    assert firn_result(firn, plain)[0] == set()
    assert spark_result(spark, plain, {})[0] == set()
    assert plain.table.refresh().scan().to_arrow().sort_by("id") == before


def test_plan_confirm_delete(firn, plain, tmp_path):
    plain.put_back()
    plan = tmp_path / "plan.json"
    plan.write_text(firn("--quiet", "--output", "json", "remove-orphan-files", f"lake.{plain.identifier}", "--dry-run").out)
    put(plain.folder + "/data/later", 10)
    os.remove(plain.folder + "/top-level")
    listed, left = firn_result(firn, plain, "--from", str(plan))
    assert "data/stray.parquet" in listed and "data/later" in left and "data/later" not in listed


def test_mark_undelete_sweep(firn, plain):
    plain.put_back()
    listed, left = firn_result(firn, plain, "--mark")
    marks = plain.folder + "/metadata/_firn_marks.tsv"
    assert listed <= left and os.path.exists(marks)
    with open(marks, encoding="utf-8") as file:
        assert {os.path.relpath(path_of(line.rstrip("\n").split("\t")[4]), plain.folder) for line in file if line[0] != "#"} == listed
    firn("undelete", f"lake.{plain.identifier}", plain.folder + "/data/stray.parquet")
    firn("undelete", f"lake.{plain.identifier}", plain.folder + "/nowhere", status=NOT_FOUND)
    assert firn_result(firn, plain, "--sweep") == (set(), left)
    swept, left = firn_result(firn, plain, "--sweep", "--after", "0s")
    assert swept == listed - {"data/stray.parquet"} and "data/stray.parquet" in left and not swept & left
    plain.put_back()


def test_killed_runs_finish(firn, lake, plain):
    """Killed in the middle of deleting, again and again: the table reads, and the last run deletes what is left."""
    plain.put_back()
    rows = plain.table.refresh().scan().to_arrow().num_rows
    for number in range(6000):
        put(f"{plain.folder}/data/many/{number}", 10)
    for delay in (0.02, 0.03, 0.05, 0.08):
        process = firn.start("--quiet", "--output", "json", "remove-orphan-files", f"lake.{plain.identifier}")
        time.sleep(delay)
        process.kill()
        process.communicate()
        assert plain.table.refresh().scan().to_arrow().num_rows == rows
    firn_result(firn, plain)
    assert firn_result(firn, plain)[0] == set() and not os.listdir(plain.folder + "/data/many")
    assert plain.table.refresh().scan().to_arrow().num_rows == rows
    plain.put_back()


def test_disabled_gc(firn, lake, spark):
    scene = Scene(lake, "kept")
    spark.sql(f"ALTER TABLE {full_name(scene.identifier)} SET TBLPROPERTIES ('gc.enabled' = 'false')")
    before = files_below(scene.folder)
    assert firn_result(firn, scene, status=FAILED) == spark_result(spark, scene, {}, fails=True) == (None, before)
