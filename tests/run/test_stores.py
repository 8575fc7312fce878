"""Exports into buckets on real servers: the tree is the table, a re-run changes what changed, and no more."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rivet.events import Event
from tests.run.buckets import PREFIX, STORES, Bucket, copied, export, rows_in_store, uri
from tests.run.command import run_command, write_config
from tests.run.conftest import AnyDatabase, YearTable
from tests.run.nights import SECOND_NIGHT, assert_equal, make_events
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import NULL, manifests, rows_by_glob
from tests.servers.s3 import Key, S3Bucket
from tests.servers.sqlite import SqliteDatabase


def _assert_nothing_unfinished(bucket: Bucket) -> None:
    assert not isinstance(bucket, S3Bucket) or bucket.uploads() == []


@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
@pytest.mark.parametrize("store", STORES)
def test_the_tree_follows_the_table(
    tmp_path: Path, database: AnyDatabase, bucket: Bucket, engine: str
) -> None:
    """Days shrink, empty and come, NULLs are filled in: the bucket holds the new tree and what is foreign."""
    make_events(database, engine)
    foreign = {
        f"{PREFIX}created_at=2023-01-02/notes.txt": b"mine",
        f"{PREFIX}created_at=2023-01-03/.keep": b"",
        f"{PREFIX.removesuffix('/')}2/created_at=2023-01-01/x.parquet": b"beside it",
    }
    for key, data in foreign.items():
        bucket.put(key, data)
    config, environ = export(bucket), bucket.environment
    first = run_well(tmp_path, database.source, config, validate=True, environ=environ)
    before = set(bucket.keys())
    assert_equal(copied(bucket, tmp_path / "first"), database)
    assert first.destination == uri(bucket)

    database.execute(SECOND_NIGHT)
    second = run_well(tmp_path, database.source, config, validate=True, environ=environ)

    root = copied(bucket, tmp_path / "second")
    assert_equal(root, database)
    assert rows_in_store(bucket) == rows_by_glob(root)
    assert (second.rows, second.null_rows, second.partitions) == (10, 0, 7)
    assert (second.partitions_written, second.partitions_unchanged, second.partitions_removed) == (4, 3, 2)
    for label in ("2023-01-01", "2023-01-04", "2023-01-08"):
        untouched = f"{PREFIX}created_at={label}/"
        assert {k for k in before if k.startswith(untouched)} == set(bucket.keys(untouched))
    assert {key: bucket.read(key) for key in foreign} == foreign
    assert not bucket.keys(f"{PREFIX}created_at={NULL}")
    _assert_nothing_unfinished(bucket)


@pytest.mark.parametrize(("store", "engine"), [("s3", "postgres"), ("gcs", "mariadb")])
def test_large_parts_arrive_whole(tmp_path: Path, year_table: YearTable, bucket: Bucket) -> None:
    """What goes up in pieces while reading goes on is, byte for byte, what a local export writes."""
    progress: list[Mapping[str, Any]] = []

    def listen(event: Event) -> None:
        if event.kind == "progress":
            progress.append(event.facts)

    local = by_day(tmp_path / "local", partition_granularity="year")
    run_well(tmp_path, year_table.source, local)
    far = export(bucket, partition_granularity="year")
    outcome = run_well(
        tmp_path, year_table.source, far, validate=True, listener=listen, environ=bucket.environment
    )

    root = copied(bucket, tmp_path / "copied")
    ours, theirs = manifests(root), manifests(tmp_path / "local")
    assert outcome.rows == sum(m["row_count"] for m in theirs.values())
    assert [p["sha256"] for m in ours.values() for p in m["parts"]] == [
        p["sha256"] for m in theirs.values() for p in m["parts"]
    ]
    assert max(p["size_bytes"] for m in ours.values() for p in m["parts"]) > 8 * 1024**2
    assert ours["2024"]["destination"] == {
        "kind": bucket.section["type"],
        "uri": uri(bucket, "created_at=2024"),
    }
    assert progress[-1]["published"] == progress[-1]["to_publish"] == 2
    assert progress[-1]["uploaded_bytes"] >= outcome.bytes_written
    assert any(facts["uploaded_bytes"] > 0 for facts in progress if not facts.get("published"))
    _assert_nothing_unfinished(bucket)


@pytest.mark.parametrize("store", STORES)
def test_a_bucket_is_looked_into_before_the_source(tmp_path: Path, bucket: Bucket) -> None:
    """A bucket that is not there is told before a database is asked for anything."""
    nobody = {"type": "postgres", "url": "postgresql://u:p@127.0.0.1:1/d"}
    wrong = export(bucket)
    wrong["destination"]["bucket"] = "nowhere"

    outcome = run_one(tmp_path, nobody, wrong, environ=bucket.environment)

    assert outcome.exit_code == 2
    assert "nowhere" in (outcome.error or "")
    assert outcome.hint


@pytest.mark.parametrize("command", ["plan", "check", "run"])
def test_a_wrong_key_is_refused_by_every_command(
    tmp_path: Path,
    sqlite_database: SqliteDatabase,
    s3_bucket: S3Bucket,
    command: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two lines name bucket and mend, no line a secret, and nothing is written."""
    make_events(sqlite_database, "sqlite")
    wrong = s3_bucket.reached_by(Key("rivet", "hunter2hunter2"))
    for name, value in wrong.environment.items():
        monkeypatch.setenv(name, value)

    told = run_command(
        capsys, command, "--config", write_config(tmp_path, sqlite_database.source, export(wrong)), "--json"
    )

    assert told.exit_code == 2
    assert [line.partition(": ")[0] for line in told.errors] == ["Error", "Hint"]
    assert wrong.name in told.errors[0]
    assert "hunter2" not in f"{told}"
    assert s3_bucket.keys() == []


def test_a_check_writes_on_request(
    tmp_path: Path,
    sqlite_database: SqliteDatabase,
    s3_bucket: S3Bucket,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only `--write` shows that an identity may do no more than read."""
    make_events(sqlite_database, "sqlite")
    config = write_config(tmp_path, sqlite_database.source, export(s3_bucket))

    def checked(key: Key, *arguments: str) -> int:
        for name, value in s3_bucket.reached_by(key).environment.items():
            monkeypatch.setenv(name, value)
        return run_command(capsys, "check", "--config", config, "--json", *arguments).exit_code

    reader, account = s3_bucket.server.reader, s3_bucket.server.account
    assert [checked(reader), checked(reader, "--write"), checked(account, "--write")] == [0, 2, 0]
    assert s3_bucket.keys() == []


def test_the_lifecycle_rule_is_one(s3_bucket: S3Bucket) -> None:
    """The rule that the docs print is taken as it stands."""
    page = (Path(__file__).parents[2] / "docs" / "stores.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)

    s3_bucket.server.client.put_bucket_lifecycle_configuration(
        Bucket=s3_bucket.name, LifecycleConfiguration=json.loads(block)
    )
