"""Exports into buckets on real servers: the tree is the table, a re-run changes what changed, and no more."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rivet.destination.gcs.bucket import GcsBucket as GcsRequests
from rivet.destination.opening import open_destination
from rivet.destination.s3.bucket import S3Bucket as S3Requests
from rivet.events import Event
from rivet.validate import validate
from tests.run.command import run_command, write_config
from tests.run.conftest import AnyDatabase, YearTable
from tests.run.nights import SECOND_NIGHT, assert_equal, make_events
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import NULL, manifests
from tests.servers.gcs import GcsBucket
from tests.servers.s3 import Key, S3Bucket
from tests.servers.sqlite import SqliteDatabase

Bucket = S3Bucket | GcsBucket
STORES = ("s3", "gcs")
PREFIX = "lake/ev%2Fents é/"
PATH = f"{PREFIX}{{partition}}"


@pytest.fixture
def bucket(store: str, request: pytest.FixtureRequest) -> Bucket:
    """Give an empty bucket of the store that the test is parametrised with."""
    found: Bucket = request.getfixturevalue(f"{store}_bucket")
    return found


@pytest.fixture
def at_hand(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """Let the SDKs find the bucket's store and its keys by the environment alone."""
    if isinstance(bucket, S3Bucket):
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", bucket.server.endpoint_url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", bucket.server.account.access_key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", bucket.server.account.secret_key)
    else:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", bucket.server.endpoint_url)
    return bucket


def _export(bucket: Bucket, prefix: str = PATH, **more: Any) -> dict[str, Any]:
    return by_day(Path(), **more) | {"destination": {**bucket.section, "prefix": prefix}}


def _copied(bucket: Bucket, directory: Path) -> Path:
    """Copy the tree out of its bucket, as a person with the store's own tool does."""
    for key in bucket.keys(PREFIX):
        file = directory / key.removeprefix(PREFIX)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bucket.read(key))
    return directory


def _uri(bucket: Bucket, path: str = "") -> str:
    return f"{'s3' if isinstance(bucket, S3Bucket) else 'gs'}://{bucket.name}/{PREFIX}{path}"


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
    export, environ = _export(bucket), bucket.environment
    first = run_well(tmp_path, database.source, export, validate=True, environ=environ)
    before = set(bucket.keys())
    assert_equal(_copied(bucket, tmp_path / "first"), database)
    assert first.destination == _uri(bucket)

    database.execute(SECOND_NIGHT)
    second = run_well(tmp_path, database.source, export, validate=True, environ=environ)

    root = _copied(bucket, tmp_path / "second")
    assert_equal(root, database)
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
    export = _export(bucket, partition_granularity="year")
    outcome = run_well(
        tmp_path, year_table.source, export, validate=True, listener=listen, environ=bucket.environment
    )

    root = _copied(bucket, tmp_path / "copied")
    ours, theirs = manifests(root), manifests(tmp_path / "local")
    assert outcome.rows == sum(m["row_count"] for m in theirs.values())
    assert [p["sha256"] for m in ours.values() for p in m["parts"]] == [
        p["sha256"] for m in theirs.values() for p in m["parts"]
    ]
    assert max(p["size_bytes"] for m in ours.values() for p in m["parts"]) > 8 * 1024**2
    assert ours["2024"]["destination"] == {
        "kind": bucket.section["type"],
        "uri": _uri(bucket, "created_at=2024"),
    }
    assert progress[-1]["published"] == progress[-1]["to_publish"] == 2
    assert progress[-1]["uploaded_bytes"] >= outcome.bytes_written
    assert any(facts["uploaded_bytes"] > 0 for facts in progress if "published" not in facts)
    _assert_nothing_unfinished(bucket)


@pytest.mark.parametrize("store", STORES)
def test_a_tree_in_a_bucket_validates_by_its_uri(
    tmp_path: Path,
    sqlite_database: SqliteDatabase,
    at_hand: Bucket,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Root and partition pass, quickly unless asked; lost objects, changed bytes and stray parts do not."""
    make_events(sqlite_database, "sqlite")
    run_well(tmp_path, sqlite_database.source, _export(at_hand), environ=at_hand.environment)
    day = f"{PREFIX}created_at=2023-01-01/"
    (part,) = [key for key in at_hand.keys(day) if key.endswith(".parquet")]
    whole = at_hand.read(part)

    def validated(*arguments: str, path: str = "") -> tuple[int, str, list[str]]:
        told = run_command(capsys, "validate", "--prefix", _uri(at_hand, path), "--json", *arguments)
        verdict = told.exports[0]["verdict"]
        return told.exit_code, verdict["depth"], [f["code"] for f in verdict["findings"]]

    assert validated() == (0, "quick", [])
    assert validated("--depth", "full") == (0, "full", [])
    assert validated(path="created_at=2023-01-01") == (0, "quick", [])
    assert validated(path="created_at=2023-01-07") == (4, "quick", ["nothing_found"])

    at_hand.put(part, whole[:20] + bytes([whole[20] ^ 1]) + whole[21:])
    assert validated("--depth", "full") == (4, "full", ["part_digest"])
    at_hand.put(part, whole[:-30])
    assert validated()[0] == 4
    at_hand.delete(part)
    assert validated() == (4, "quick", ["part_missing"])
    at_hand.put(part, whole)
    at_hand.put(f"{PREFIX}x.parquet", whole)
    assert validated() == (4, "quick", ["unlisted_parquet"])


@pytest.mark.parametrize("store", STORES)
def test_a_tree_in_a_bucket_validates_by_its_config(
    tmp_path: Path,
    sqlite_database: SqliteDatabase,
    bucket: Bucket,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a config its own keys open the store, and a prefix is a key in the bucket or the URI of one."""
    make_events(sqlite_database, "sqlite")
    run_well(tmp_path, sqlite_database.source, _export(bucket), environ=bucket.environment)
    config = write_config(tmp_path, sqlite_database.source, _export(bucket))
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)

    def validated(*arguments: str) -> tuple[int, list[str]]:
        told = run_command(capsys, "validate", "--config", config, "--json", *arguments)
        assert told.document is not None
        return told.exit_code, [f"{e['name']} {e['destination']}" for e in told.document["exports"]]

    day = "created_at=2023-01-01"
    assert validated() == (0, [f"events {_uri(bucket)}"])
    for prefix in (f"{PREFIX}{day}", f"/{PREFIX}{day}/", _uri(bucket, day)):
        assert validated("--prefix", prefix) == (0, [f"events {_uri(bucket, day)}/"])
    for prefix in (day, "lake/", "s3://elsewhere/" + PREFIX):
        assert validated("--prefix", prefix) == (2, [])


@pytest.mark.parametrize("store", STORES)
def test_a_bucket_is_looked_into_before_the_source(tmp_path: Path, bucket: Bucket) -> None:
    """A bucket that is not there is told before a database is asked for anything."""
    nobody = {"type": "postgres", "url": "postgresql://u:p@127.0.0.1:1/d"}
    export = _export(bucket)
    export["destination"]["bucket"] = "nowhere"

    outcome = run_one(tmp_path, nobody, export, environ=bucket.environment)

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
        capsys, command, "--config", write_config(tmp_path, sqlite_database.source, _export(wrong)), "--json"
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
    config = write_config(tmp_path, sqlite_database.source, _export(s3_bucket))

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


@pytest.mark.parametrize("store", STORES)
def test_three_requests_validate_a_partition(
    tmp_path: Path, sqlite_database: SqliteDatabase, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Marker, manifest and footer cost one each, of a root of any size and of a partition alone."""
    rows = ", ".join(f"({i}, date('2023-01-01', '+{i} days'))" for i in range(40))
    sqlite_database.execute(
        f"CREATE TABLE events (id INTEGER, created_at DATE); INSERT INTO events VALUES {rows}"
    )
    run_well(tmp_path, sqlite_database.source, _export(bucket), environ=bucket.environment)
    kind = S3Requests if isinstance(bucket, S3Bucket) else GcsRequests
    asked: list[str] = []
    for name in ("get", "tail", "range", "list"):
        monkeypatch.setattr(kind, name, _counted(name, getattr(kind, name), asked))

    def requests_of(prefix: str) -> Counter[str]:
        asked.clear()
        with closing(open_destination(bucket.settings(prefix))) as destination:
            assert validate(destination).findings == ()
        return Counter(asked)

    assert requests_of(PREFIX) == {"get": 2 * 40, "tail": 40 + 1, "list": 2}
    # The export file is looked for, and what stands where.
    assert requests_of(f"{PREFIX}created_at=2023-01-05/") == {"get": 2, "tail": 1 + 1, "list": 3}


def _counted(name: str, method: Callable[..., Any], asked: list[str]) -> Callable[..., Any]:
    def count(*arguments: Any) -> Any:
        asked.append(name)
        return method(*arguments)

    return count
