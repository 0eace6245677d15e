"""A compaction of some files only: what still concerns the others stays, what concerns none any more goes."""
import pyarrow as pa

from checks import check_no_deletes_apply, check_one_vector_a_file, check_verified
from engines import canonical, path_of, rows_of_duckdb, rows_of_pyiceberg, rows_of_spark
from hand_table import HandTable, rows_of
from iceberg_files import DATA, EQUALITY_DELETES, POSITION_DELETES, manifests_of, read_avro, snapshot_of
from lake import full_name
from test_delete_files import BY_P, P_SCHEMA, in_p

ALL = {"rewrite-all": "true", "remove-dangling-deletes": "true"}


class Checked:
    """A table of which every engine must read these rows after each run of firn."""

    def __init__(self, t, rows, firn, spark, duck):
        self.t, self.rows = t, canonical(rows)
        self.firn, self.spark, self.duck = firn, spark, duck
        self.check()

    def check(self):
        table = self.t.table
        assert rows_of_spark(self.spark, self.t.identifier) == self.rows
        assert rows_of_duckdb(self.duck, table.metadata_location) == self.rows
        if not self.t.live(EQUALITY_DELETES):
            assert rows_of_pyiceberg(table) == self.rows
        check_one_vector_a_file(table)
        check_verified(self.firn, self.t.identifier, "--deep")

    def compact(self, *arguments, options=None):
        """Gives the report, the data files that were written and the delete files that are left."""
        before = {file["file_path"] for file in self.t.live(DATA)}
        report = self.firn.compact(full_name(self.t.identifier), *arguments, options=options or ALL)
        self.check()
        written = [file for file in self.t.live(DATA) if file["file_path"] not in before]
        check_no_deletes_apply(self.t.table, {file["path"] for file in written})
        return report, written, self.t.live(POSITION_DELETES) + self.t.live(EQUALITY_DELETES)

    def totals(self):
        summary = snapshot_of(self.t.committer.metadata())["summary"]
        return [int(summary[f"total-{name}"]) for name in ("delete-files", "position-deletes", "equality-deletes")]


def test_two_vectors_share_a_puffin_file(lake, firn, spark, duck, namespace):
    """Both entries bear the same path; one goes with its data file, the other stays."""
    t = HandTable(lake, f"{namespace}.t", P_SCHEMA, BY_P, version=3)
    a, b = t.append(in_p("a", 1, 2, 3) + in_p("b", 1, 2, 3))
    t.commit(t.files.vectors([(a, [0]), (b, [1, 2])]))
    table = Checked(t, in_p("a", 2, 3) + in_p("b", 1), firn, spark, duck)
    report, _, left = table.compact("--where", "p = 'a'")
    assert report["removed_delete_files_count"] == 1
    assert [file["referenced_data_file"] for file in left] == [b["file_path"]]
    assert table.totals() == [1, 2, 0]
    report, _, left = table.compact("--where", "p = 'b'")
    assert (report["removed_delete_files_count"], left, table.totals()) == (1, [], [0, 0, 0])


def test_a_position_delete_file_of_two_runs(lake, firn, spark, duck, namespace):
    """It concerns two data files, of which each run takes one."""
    t = HandTable(lake, f"{namespace}.t")
    a, b = t.append(rows_of(1, 2, 3))[0], t.append(rows_of(11, 12, 13))[0]
    t.commit(t.files.positions(a, [(a["file_path"], 0), (b["file_path"], 1)]))
    table = Checked(t, rows_of(2, 3, 11, 13), firn, spark, duck)
    report, _, left = table.compact("--where", "id < 10")
    assert (report["removed_delete_files_count"], len(left), table.totals()) == (0, 1, [1, 2, 0])
    report, _, left = table.compact("--where", "id > 10")
    assert (report["removed_delete_files_count"], left, table.totals()) == (1, [], [0, 0, 0])


def test_an_equality_delete_of_two_runs(lake, firn, spark, duck, namespace):
    t = HandTable(lake, f"{namespace}.t")
    for number in range(4):
        t.append(rows_of(number, number + 10))
    t.commit(t.files.equality([1], rows_of(1, 2, 12, 99)))
    table = Checked(t, rows_of(0, 10, 11, 3, 13), firn, spark, duck)
    report, _, left = table.compact("--where", "id <= 1")
    assert (report["removed_delete_files_count"], len(left), table.totals()) == (0, 1, [1, 0, 4])
    report, _, left = table.compact("--where", "id >= 12 OR id = 2")
    assert (report["removed_delete_files_count"], left, table.totals()) == (1, [], [0, 0, 0])


def test_no_row_of_a_file_is_left(lake, firn, spark, duck, namespace):
    """Only the file with all rows deleted is chosen; nothing is written for it, and the delete file stays for the other."""
    t = HandTable(lake, f"{namespace}.t")
    a, b = t.append(rows_of(*range(10)))[0], t.append(rows_of(*range(10, 20)))[0]
    t.commit(t.files.positions(a, [(a["file_path"], n) for n in range(10)] + [(b["file_path"], 3)]))
    table = Checked(t, rows_of(*(n for n in range(10, 20) if n != 13)), firn, spark, duck)
    report, written, left = table.compact("--where", "id < 10")
    assert (report["rewritten_data_files_count"], report["added_data_files_count"], written, len(left)) == (1, 0, [], 1)
    assert [file["file_path"] for file in t.live(DATA)] == [b["file_path"]]


def test_files_from_before_sequence_numbers(lake, firn, spark, duck, namespace):
    """A file of version 1 has number 0, not none; its delete stays while it does."""
    t = HandTable(lake, f"{namespace}.t", version=1)
    t.table.append(pa.Table.from_pylist(rows_of(1, 2, 3), schema=t.table.schema().as_arrow()))
    spark.sql(f"CALL lake.system.rewrite_manifests('{t.identifier}')")
    with t.table.transaction() as transaction:
        transaction.upgrade_table_version(2)
    a = t.live(DATA)[0]
    t.commit(t.files.positions(a, [(a["file_path"], 1)]))
    for number in (11, 12):
        t.append(rows_of(number))
    table = Checked(t, rows_of(1, 3, 11, 12), firn, spark, duck)
    report, _, left = table.compact("--where", "id > 10")
    assert (report["rewritten_data_files_count"], report["removed_delete_files_count"], len(left)) == (2, 0, 1)
    assert t.data_file_with(a)["sequence_number"] == 0
    lines = [line for path, line in manifests_of(snapshot_of(t.committer.metadata()), path_of)
             if any(record["data_file"]["file_path"] == a["file_path"] for record in read_avro(path))]
    assert [line["min_sequence_number"] for line in lines] == [0]
    report, _, left = table.compact()
    assert (report["removed_delete_files_count"], left) == (1, [])


def test_nothing_is_left_to_do(lake, firn, spark, duck, namespace):
    """A delete file that concerns no data file goes even when no data file is worth rewriting, and then there is peace."""
    t = HandTable(lake, f"{namespace}.t")
    a = t.append(rows_of(*range(10)))[0]
    t.commit(t.files.equality([1], rows_of(1)), t.files.positions(a, [(a["file_path"], 0)]))
    table = Checked(t, rows_of(*range(2, 10)), firn, spark, duck)
    table.compact(options={"delete-file-threshold": "1", "remove-dangling-deletes": "true"})
    location = t.committer.location()
    report, written, left = table.compact(options={"delete-file-threshold": "1", "remove-dangling-deletes": "true"})
    assert (report["rewritten_data_files_count"], written, left, t.committer.location()) == (0, [], [], location)
