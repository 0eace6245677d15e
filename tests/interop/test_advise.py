"""firn advise: what it tells of tables that engines wrote, and that what it says word for word is taken by firn and by Spark."""
import shlex

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from firn import USAGE
from lake import full_name
from paper_table import MIB, entry, live_through, paper_table, sick_table, wide_table
from tables import EVENTS, append_events


def advise(firn, identifier, *arguments):
    return {item["topic"]: item for item in firn("--output", "json", "advise", full_name(identifier), *arguments).json["advice"]}


def settings(advice, where):
    return [setting["text"] for item in advice.values() for setting in item["settings"] if setting["where"] == where]


def restless_table(lake, identifier):
    """Nearly all that can be better: a stream into a table whose properties somebody once copied from somewhere."""
    table = sick_table(lake, identifier)

    def change(metadata):
        metadata["properties"] |= {
            "write.parquet.compression-codec": "gzip", "write.target-file-size-bytes": str(16 << 20),
            "write.metadata.metrics.column.account_id": "none",
        }
        for snapshot in metadata["snapshots"]:
            snapshot["summary"] |= {"changed-partition-count": "2"}
            if snapshot["summary"]["operation"] == "append":
                snapshot["summary"] |= {"operation": "overwrite", "added-delete-files": "1", "added-equality-delete-files": "1"}

    live_through(table, 300, 60_000)
    table.committer.edit(change)
    return table


def test_a_stream_of_small_files(firn, lake, namespace):
    table = restless_table(lake, f"{namespace}.t")
    advice = advise(firn, table.identifier)
    changes = {topic for topic, item in advice.items() if item["verdict"] == "change"}
    assert changes == {"commit-interval", "distribution-mode", "target-file-size", "codec", "metrics", "update-mode"}
    assert settings(advice, "Flink SQL") == ["SET 'execution.checkpointing.interval' = '10min'"]
    assert "shuffle-partitions" not in advice  # Flink has none
    text = firn("advise", full_name(table.identifier)).out
    assert "6 changes advised, from 295 commits of flink" in text
    assert all(setting in text for setting in settings(advice, "Spark SQL"))


@pytest.mark.parametrize("by", ["firn", "sql"])
def test_what_is_told_is_taken(firn, lake, namespace, by):
    """By a shell, and by `firn sql`; the properties that were advised are advised no more."""
    table = restless_table(lake, f"{namespace}.t")
    advice = advise(firn, table.identifier)
    if by == "firn":
        commands = [shlex.split(text) for text in settings(advice, "firn") if " set-properties " in text]
        assert len(commands) == 4 and all(program == "firn" for program, *_ in commands)
        for _, *words in commands:
            firn("--quiet", *words)
    else:
        for text in settings(advice, "Spark SQL"):
            firn("sql", "-e", text)
    after = advise(firn, table.identifier)
    for topic in ("distribution-mode", "target-file-size", "codec", "metrics"):
        assert after[topic]["verdict"] == "fine", after[topic]
    assert lake.load(table.identifier).properties["write.parquet.compression-codec"] == "zstd"


def test_spark_takes_it(firn, lake, spark, namespace):
    tables = [restless_table(lake, f"{namespace}.t"), wide_table(lake, f"{namespace}.wide", partitions=150)]
    statements = [text for table in tables for text in settings(advise(firn, table.identifier), "Spark SQL")]
    assert any("REPLACE PARTITION FIELD" in text for text in statements) and any("SET TBLPROPERTIES" in text for text in statements)
    for statement in statements:
        spark.sql(statement)
    for table in tables:
        after = advise(firn, table.identifier)
        assert {after[topic]["verdict"] for topic in ("target-file-size", "codec", "metrics", "partitioning")} == {"fine"}


def test_too_little_to_tell_from(firn, lake, namespace):
    table = lake.catalog.create_table(f"{namespace}.t", EVENTS)
    append_events(table, commits=3)
    advice = advise(firn, f"{namespace}.t")
    assert advice["commit-interval"]["verdict"] == advice["update-mode"]["verdict"] == "unknown"
    assert "3 commits" in advice["commit-interval"]["why"]
    assert not any(item["settings"] for item in advice.values())


@pytest.mark.parametrize("codec", ["gzip", "snappy", "zstd"])
def test_codec_of_the_newest_files(firn, lake, namespace, codec):
    table = lake.catalog.create_table(f"{namespace}.t", EVENTS, properties={"write.parquet.compression-codec": codec})
    append_events(table, commits=2)
    advice = advise(firn, f"{namespace}.t")["codec"]
    assert f"100 % are {codec}" in advice["why"] and "newest files" in advice["why"]
    assert advice["verdict"] == ("fine" if codec == "zstd" else "change")


def test_names_are_quoted(firn, lake, namespace):
    """A column that needs quotes everywhere, in a shell and in SQL."""
    name = "it's; rm -rf `x` $(y)"
    schema = Schema(NestedField(1, name, LongType(), required=True), NestedField(2, "day", StringType(), required=False),
                    identifier_field_ids=[1])
    table = paper_table(lake, f"{namespace}.t", schema)
    table.commit([entry(table, "a", MIB, 0, 9)], operation="append")
    table.committer.edit(lambda metadata: metadata["properties"].update({f"write.metadata.metrics.column.{name}": "none"}))
    advice = advise(firn, table.identifier)
    command = shlex.split(settings(advice, "firn")[0])
    assert command == ["firn", "set-properties", full_name(table.identifier), f"write.metadata.metrics.column.{name}=full"]
    firn("sql", "-e", settings(advice, "Spark SQL")[0])
    assert lake.load(table.identifier).properties[f"write.metadata.metrics.column.{name}"] == "full"


def test_options(firn, lake, namespace):
    table = restless_table(lake, f"{namespace}.t")
    assert "'4min'" in settings(advise(firn, table.identifier, "--latency", "4m"), "Flink SQL")[0]
    assert advise(firn, table.identifier, "--file-size", "1MiB")["commit-interval"]["verdict"] == "fine"
    assert "latency" in firn("advise", full_name(table.identifier), "--latency", "never", status=USAGE).err
