"""Random sequences over one table: appends, merge-on-read changes by Spark, upserts as Flink does them, evolution, maintenance.

After every step Spark reads the rows of the model. FIRN_SEED gives the first seed, FIRN_SEQUENCES the number of sequences and
FIRN_STEPS their length; a failure prints the seed that repeats it alone, and the steps that led to it.
"""
import decimal
import os
import random
import re

import pytest

from checks import check_files, check_no_deletes_apply, check_one_vector_a_file, check_verified, metadata_of
from commits import Committer, specs_of
from engines import canonical, rows_of_duckdb, rows_of_pyiceberg
from file_writers import Files, merged_positions, partition_of
from iceberg_files import DATA, EQUALITY_DELETES, identity, live_files
from lake import full_name
from model import Model
from seeds import first_seed

FIRST_SEED = first_seed(1000)
SEQUENCES = int(os.environ.get("FIRN_SEQUENCES") or 4)
STEPS = int(os.environ.get("FIRN_STEPS") or 14)

COLUMNS = "k int, p string, v string, f float, m decimal(7, 2), s struct<a: int, b: string>"
LINEAGE = ("_row_id", "_last_updated_sequence_number")
SHAPES = ["", "PARTITIONED BY (p)", "PARTITIONED BY (bucket(2, k))"]
MERGE_ON_READ = """'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read',
                   'write.delete.granularity' = '{granularity}', 'write.distribution-mode' = 'hash'"""


class Sequence:
    """One table, its model, and a random stream of steps."""

    def __init__(self, seed, lake, firn, spark, duck, identifier):
        self.random = random.Random(seed)
        self.lake, self.firn, self.spark, self.duck = lake, firn, spark, duck
        self.identifier, self.name = identifier, full_name(identifier)
        self.committer = Committer(lake.database, identifier)
        self.log = []
        self.serial = 0
        self.branched = False
        self.places = []
        # What each column is called now; None when dropped.
        self.called = {name: name for name in ("k", "p", "v", "f", "m", "s")}
        version, granularity = seed % 2 + 2, self.random.choice(["file", "partition"])
        shape = SHAPES[seed // 2 % 2] if seed // 4 % 2 == 0 else self.random.choice(SHAPES)
        self.sql(f"""CREATE TABLE {self.name} ({COLUMNS}) USING iceberg {shape} TBLPROPERTIES
                     ('format-version' = '{version}', {MERGE_ON_READ.format(granularity=granularity)})""")
        self.model = Model(self.table().schema())

    def sql(self, statement):
        self.log.append(" ".join(statement.split()))
        return self.spark.sql(statement)

    def table(self):
        return self.lake.load(self.identifier)

    def live(self, content=None):
        return [file for file in live_files(self.committer.metadata()) if content in (None, file["content"])]

    def version(self):
        return self.committer.metadata()["format-version"]

    def refresh_schema(self):
        self.model.schema = self.table().schema()

    # Rows and conditions

    def value(self, column):
        pick = self.random
        self.serial += 1
        if pick.random() < 0.08:
            return None
        return {
            "k": lambda: pick.randrange(30),
            "p": lambda: pick.choice(["a", "b", "c d/e"]),
            "v": lambda: f"v{self.serial}",
            "f": lambda: pick.randrange(-40, 40) / 8,
            "m": lambda: decimal.Decimal(pick.randrange(-999, 999)).scaleb(-2),
            "s": lambda: {"a": pick.randrange(5), "b": pick.choice(["x", None])},
        }.get(column, lambda: pick.choice(["e1", "e2"]))()

    def row(self, **given):
        """A row of the columns there are, by their present names."""
        return {name: given.get(column, self.value(column)) for column, name in self.called.items() if name}

    def new_rows(self, count):
        return [self.row() for _ in range(count)]

    def condition(self):
        """An SQL predicate and the same in Python."""
        k, p, v = (self.called[column] for column in "kpv")
        number, rest, part = self.random.randrange(30), self.random.randrange(3), self.random.choice("abc")
        return self.random.choice([
            (f"{k} % 3 = {rest}", lambda row: row[k] is not None and row[k] % 3 == rest),
            (f"{k} = {number}", lambda row: row[k] == number),
            (f"{p} = '{part}' AND {k} < {number}", lambda row: row[p] == part and row[k] is not None and row[k] < number),
            (f"{v} IS NULL OR {k} >= 27", lambda row: row[v] is None or (row[k] is not None and row[k] >= 27)),
            (f"{k} IS NULL", lambda row: row[k] is None),
            (f"{k} BETWEEN {number} AND {number + 4}", lambda row: row[k] is not None and number <= row[k] <= number + 4),
        ])

    # Steps of Spark

    def spark_append(self):
        rows = self.new_rows(self.random.randint(1, 25))
        schema = self.spark.table(self.name).schema
        frame = self.spark.createDataFrame([tuple(row[field.name] for field in schema.fields) for row in rows], schema)
        frame.coalesce(1).writeTo(self.name).append()
        self.log.append(f"append {len(rows)} rows by Spark")
        self.model.insert(rows)

    def spark_delete(self):
        sql, test = self.condition()
        self.sql(f"DELETE FROM {self.name} WHERE {sql}")
        self.model.delete(test)

    def spark_update(self):
        sql, test = self.condition()
        column = self.random.choice([column for column in "pvf" if self.called[column]])
        value = self.value(column)
        literal = "NULL" if value is None else repr(value) if column != "f" else f"float('{value}')"
        self.sql(f"UPDATE {self.name} SET {self.called[column]} = {literal} WHERE {sql}")
        self.model.update(test, {self.called[column]: value})

    def spark_merge(self):
        k, v = self.called["k"], self.called["v"]
        source = {self.random.randrange(35): f"m{self.serial + n}" for n in range(self.random.randint(1, 6))}
        self.serial += 6
        values = ", ".join(f"({key}, '{value}')" for key, value in source.items())
        names = [name for name in self.called.values() if name]
        inserted = ", ".join({k: "s.k", v: "s.v"}.get(name, "NULL") for name in names)
        self.sql(f"""MERGE INTO {self.name} t USING (SELECT * FROM VALUES {values} AS s(k, v)) s ON t.{k} = s.k
            WHEN MATCHED AND s.k % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET t.{v} = s.v
            WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({inserted})""")
        present = {row[k] for row in self.model.visible()}
        for key, value in source.items():
            if key not in present:
                self.model.insert([{name: {k: key, v: value}.get(name) for name in names}])
            elif key % 3 == 0:
                self.model.delete(lambda row, key=key: row[k] == key)
            else:
                self.model.update(lambda row, key=key: row[k] == key, {v: value})

    def spark_compact(self):
        options = self.random.choice(["'rewrite-all', 'true', 'remove-dangling-deletes', 'true'", "'delete-file-threshold', '1'",
                                      "'min-input-files', '2', 'use-starting-sequence-number', 'false'"])
        self.sql(f"CALL lake.system.rewrite_data_files(table => '{self.identifier}', options => map({options}))")

    def spark_rewrite_position_deletes(self):
        self.sql(f"""CALL lake.system.rewrite_position_delete_files(table => '{self.identifier}',
                     options => map('rewrite-all', 'true'))""")

    # Steps by hand

    def hand_append(self):
        files, rows = Files(self.table()), self.new_rows(self.random.randint(1, 12))
        self.committer.commit(files.data(rows, row_group=self.random.choice([None, 3])), operation="append")
        self.log.append(f"append {len(rows)} rows by hand")
        self.model.insert(rows)

    def partition_sources(self):
        """The columns that partition fields of any spec are made from, by field id."""
        return {field.source_id for spec in specs_of(self.committer.metadata()).values() for field in spec.fields}

    def upsert(self):
        """Equality deletes for all versions of some keys, and new rows for most of them, in one commit."""
        table, ids = self.table(), self.model.ids()
        files, k = Files(table), self.called["k"]
        key = {ids[k], *self.partition_sources()}
        if self.random.random() < 0.3:
            key.add(ids[self.random.choice([name for column, name in self.called.items() if name and column not in "ks"])])
        names = [name for name in ids if ids[name] in key]
        pick = self.random.sample(self.model.visible(), min(len(self.model.rows), self.random.randint(0, 5)))
        keys = [{name: row[name] for name in names} for row in [*pick, *self.new_rows(self.random.randint(1, 3))]]
        specs = specs_of(self.committer.metadata())
        plain = [spec for spec in specs.values() if not spec.fields]
        if plain and self.random.random() < 0.5:
            specs = {0: plain[0]}  # reaches every partition of every spec
        deletes = [entry for spec in specs.values() for entry in files.equality(sorted(key), keys, spec=spec,
                                                                                with_metrics=self.random.random() < 0.7)]
        rows = [{**self.row(), **row} for row in keys if self.random.random() < 0.8]
        gone = canonical(keys)
        self.model.delete(lambda row: canonical([{name: row[name] for name in names}])[0] in gone)
        self.commit_upsert(files, rows, deletes)
        self.log.append(f"upsert by {names}: {keys}, {len(rows)} rows, specs {list(specs)}")

    def commit_upsert(self, files, rows, deletes):
        """Now and then with a row that came and went between two checkpoints, and so falls to a position delete."""
        data = files.data(rows) if rows else []
        if data and self.version() == 2 and self.random.random() < 0.5:
            extra = files.data([rows[0], rows[0]])[0]
            deletes = deletes + files.positions(extra, [(extra["file_path"], 0)], referenced=self.random.random() < 0.5)
            data.append(extra)
            rows = rows + rows[:1]
        self.committer.commit(data + deletes)
        self.model.insert(rows)

    def delete_within_one_partition(self):
        """An equality delete that does not name the partition's columns reaches its own tuple only."""
        specs = specs_of(self.committer.metadata())
        if len(specs) > 1 or not specs[0].fields or not self.model.rows:
            self.upsert()
            return
        table, k = self.table(), self.called["k"]
        schema, spec, row = table.schema(), table.spec(), self.random.choice(self.model.visible())
        tuple_ = partition_of(spec, schema, row)
        self.committer.commit(Files(table).equality([self.model.ids()[k]], [row], partition=tuple_))
        self.log.append(f"equality delete of {k} = {row[k]} within {tuple_}")
        self.model.delete(lambda other: other[k] == row[k] and partition_of(spec, schema, other) == tuple_)

    def delete_places(self):
        """Position deletes or vectors for rows taken by chance."""
        if not self.places:
            return
        chosen = self.random.sample(self.places, min(len(self.places), self.random.randint(1, 9)))
        data = {file["file_path"]: file for file in self.live(DATA)}
        by_file = {}
        for path, position, _ in chosen:
            by_file.setdefault(path, []).append(position)
        self.log.append(f"delete places {by_file}")
        if self.version() >= 3:
            self.add_vectors([(data[path], positions) for path, positions in by_file.items()])
        else:
            self.add_positions(data, by_file)
        for _, _, row in chosen:
            self.model.remove(row)

    def add_positions(self, data, by_file):
        """Files over all data files of a tuple, or one each, in any form."""
        groups = {}
        for path, positions in by_file.items():
            scope = path if self.random.random() < 0.4 else repr((data[path]["spec_id"], data[path]["partition"]))
            groups.setdefault(scope, []).extend((path, position) for position in positions)
        files, entries = Files(self.table()), []
        for scope, places in groups.items():
            entries += files.positions(data[places[0][0]], places, form=self.random.choice(["parquet", "avro"]),
                                       referenced=scope in by_file and self.random.random() < 0.5,
                                       bounds=self.random.choice([None, 0, 16]))
        self.committer.commit(entries)

    def add_vectors(self, by_file):
        """One Puffin file; each vector takes the place of what its file had."""
        live, files = self.live(), Files(self.table())
        merged = [merged_positions(live, data, positions) for data, positions in by_file]
        entries = files.vectors([(data, positions) for (data, _), (positions, _) in zip(by_file, merged)])
        self.committer.commit(entries, [replaced for _, part in merged for replaced in part])

    # Evolution

    def evolve_schema(self):
        step = self.random.choice(["add", "rename", "widen", "drop"])
        self.serial += 1
        if step == "add":
            self.called[f"x{self.serial}"] = f"x{self.serial}"
            clause = f"ADD COLUMN x{self.serial} string"
        elif step == "rename":
            column = self.random.choice([column for column, name in self.called.items() if name])
            clause = f"RENAME COLUMN {self.called[column]} TO {column}_{self.serial}"
            self.called[column] = f"{column}_{self.serial}"
        elif step == "widen":
            column, wider = self.random.choice([("k", "bigint"), ("f", "double"), ("m", "decimal(12, 2)")])
            if column not in self.free_columns():
                return
            clause = f"ALTER COLUMN {self.called[column]} TYPE {wider}"
        else:
            clause = self.drop_clause()
            if not clause:
                return
        self.sql(f"ALTER TABLE {self.name} {clause}")
        self.refresh_schema()

    def free_columns(self):
        """The columns that no equality delete goes by: Spark fails on deletes by a key that left the schema or was widened."""
        ids = self.model.ids()
        used = {number for file in self.live(EQUALITY_DELETES) for number in file["equality_ids"]}
        return [column for column, name in self.called.items() if name and ids[name] not in used]

    def drop_clause(self):
        free = [column for column in self.free_columns() if column not in "kpv"]
        if not free:
            return None
        column = self.random.choice(free)
        clause = f"DROP COLUMN {self.called[column]}"
        self.called[column] = None
        return clause

    def evolve_spec(self):
        fields = {field.name: field for field in self.table().spec().fields}
        if len(specs_of(self.committer.metadata())) > 3:
            return
        if fields and self.random.random() < 0.5:
            clause = f"DROP PARTITION FIELD {self.random.choice(list(fields))}"
        else:
            name = self.random.choice(["part", "pail"])
            if name in fields or len(fields) > 1 or (name == "part" and "p" in fields):
                return
            source = {"part": self.called["p"], "pail": f"bucket(3, {self.called['k']})"}[name]
            clause = f"ADD PARTITION FIELD {source} AS {name}"
        self.sql(f"ALTER TABLE {self.name} {clause}")

    def upgrade(self):
        if self.version() == 2 and self.random.random() < 0.5:
            self.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ('format-version' = '3')")

    # Steps of firn

    def options(self):
        pick = self.random
        choices = {
            "rewrite-all": ["true", None], "min-input-files": ["1", "2", "3"], "delete-file-threshold": ["1", "2", None],
            "delete-ratio-threshold": ["0.1", "0.5", None], "remove-dangling-deletes": ["true", "false", None],
            "use-starting-sequence-number": ["true", "false", None], "partial-progress.enabled": ["true", None, None],
            "max-file-group-size-bytes": ["5000", None, None], "target-file-size-bytes": ["3000", None, None],
        }
        return {key: value for key, values in choices.items() if (value := pick.choice(values)) is not None}

    def firn_compact(self):
        where = []
        if self.random.random() < 0.3:
            where = ["--where", next(sql for sql, _ in iter(self.condition, None) if "%" not in sql)]  # no arithmetic there
        options, before = self.options(), self.live()
        self.log.append(f"firn rewrite-data-files {where} {options}")
        report = self.firn.compact(self.name, *where, "--verify", self.random.choice(["counts", "full"]), options=options)
        self.check_maintained(report, before)

    def check_maintained(self, report, before):
        after, table = self.live(), self.table()
        new = {file["path"] for file in after if file["content"] == DATA} - {file["path"] for file in before}
        check_files(table)
        check_no_deletes_apply(table, new)
        gone = {identity(file) for file in before if file["content"] != DATA} - {identity(file) for file in after}
        assert report["removed_delete_files_count"] == len(gone)

    def firn_compact_branch(self):
        if not self.branched:
            self.sql(f"ALTER TABLE {self.name} CREATE BRANCH audit")
            self.branched = True
        rows = self.read("VERSION AS OF 'audit'")[0]
        main = self.committer.metadata()["current-snapshot-id"]
        options = self.options()
        self.log.append(f"firn rewrite-data-files --branch audit {options}")
        self.firn.compact(self.name, "--branch", "audit", options=options)
        assert self.read("VERSION AS OF 'audit'")[0] == rows
        assert self.committer.metadata()["current-snapshot-id"] == main

    def firn_convert(self):
        self.log.append("firn convert-equality-deletes")
        self.firn("--quiet", "convert-equality-deletes", self.name)
        assert not self.live(EQUALITY_DELETES)

    def firn_rewrite_positions(self):
        self.log.append("firn rewrite-position-delete-files")
        self.firn("--quiet", "rewrite-position-delete-files", self.name, "--option", "rewrite-all=true")

    # The run

    def read(self, version=""):
        """The rows by Spark, where they lie, and on version 3 their lineage."""
        lineage = f", {', '.join(LINEAGE)}" if self.version() >= 3 else ""
        rows, places, numbers = [], [], []
        files = {file["file_path"]: file for file in self.live(DATA)}
        for row in self.spark.sql(f"SELECT *, _file, _pos{lineage} FROM {self.name} {version}").collect():
            row = row.asDict(recursive=True)
            path, position = row.pop("_file"), row.pop("_pos")
            if lineage and not version:
                pair = row.pop("_row_id"), last_updated(files[path], row.pop("_last_updated_sequence_number"))
                numbers.append((repr(row), pair))
            rows.append({name: value for name, value in row.items() if name not in LINEAGE})
            places.append((path, position, row))
        if not version:
            self.places = sorted(places, key=repr)
        return canonical(rows), sorted(numbers, key=repr)

    def check(self, lineage=None):
        """Gives the lineage of the rows, which must be `lineage` if that is given."""
        rows, numbers = self.read()
        assert rows == self.model.canonical()
        ids = [row_id for _, (row_id, _) in numbers if row_id is not None]
        assert len(ids) == len(set(ids)), "a row id twice"
        if lineage:
            assert numbers == lineage
        table = self.table()
        check_one_vector_a_file(table)
        return numbers

    def check_other_engines(self):
        """PyIceberg has no equality deletes and neither has Avro deletes; DuckDB takes nulls for deleted."""
        table = self.table()
        deletes = [file for file in self.live() if file["content"] != DATA]
        if not any(file["content"] == EQUALITY_DELETES or file["file_format"] == "AVRO" for file in deletes):
            assert rows_of_pyiceberg(table) == self.model.canonical(), "pyiceberg"
            assert rows_of_duckdb(self.duck, table.metadata_location) == self.model.canonical(), "duckdb"

    def finish(self):
        """A compaction of everything leaves no delete, and all engines agree."""
        self.log.append("the end")
        self.firn.compact(self.name, options={"rewrite-all": "true", "remove-dangling-deletes": "true"})
        assert not [file["path"] for file in self.live() if file["content"] != DATA]


def last_updated(file, number):
    """What Iceberg 1.10.0 in Spark takes for the number that rows inherit is that of the commit which added the file; it differs
    from the data's own for files that were compacted on version 2, before the table had row lineage."""
    return file["sequence_number"] if number == file["file_sequence_number"] else number


WEIGHTS = {
    "spark_append": 3, "spark_delete": 4, "spark_update": 3, "spark_merge": 2, "spark_compact": 1,
    "spark_rewrite_position_deletes": 1, "hand_append": 4, "upsert": 8, "delete_within_one_partition": 2, "delete_places": 5,
    "evolve_schema": 3, "evolve_spec": 2, "upgrade": 1, "firn_compact": 8, "firn_compact_branch": 1, "firn_convert": 3,
    "firn_rewrite_positions": 3,
}
KEEPS_LINEAGE = {"firn_compact", "firn_compact_branch", "firn_convert", "firn_rewrite_positions", "spark_compact",
                 "spark_rewrite_position_deletes"}


def run(sequence):
    lineage = sequence.check()
    sequence.hand_append()
    sequence.spark_append()
    lineage = sequence.check()
    steps = sequence.random.choices(list(WEIGHTS), WEIGHTS.values(), k=STEPS)
    for step in [*steps, "firn_compact", "upsert", "finish"]:
        getattr(sequence, step)()
        lineage = sequence.check(lineage if step in KEEPS_LINEAGE else None)
        if step.startswith("firn"):
            sequence.check_other_engines()
    sequence.check_other_engines()
    check_verified(sequence.firn, sequence.identifier, "--deep")


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEQUENCES))
def test_random_sequences(lake, firn, duck, spark, namespace, seed):
    sequence = Sequence(seed, lake, firn, spark, duck, f"{namespace}.random")
    try:
        run(sequence)
    except BaseException:
        print(f"FIRN_SEED={seed} FIRN_SEQUENCES=1 repeats this sequence:")
        print(re.sub("^", "  ", "\n".join(sequence.log), flags=re.M))
        raise
