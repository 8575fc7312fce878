"""Trees in buckets on real servers: whole ones pass, others fail, and a look costs few requests."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rivet.destination.gcs.bucket import GcsBucket as GcsRequests
from rivet.destination.opening import open_destination
from rivet.destination.s3.bucket import S3Bucket as S3Requests
from rivet.validate import validate
from tests.run.buckets import PREFIX, STORES, Bucket, export, uri
from tests.run.command import run_command, write_config
from tests.run.nights import make_events
from tests.run.running import run_well
from tests.servers.s3 import S3Bucket
from tests.servers.sqlite import SqliteDatabase


@pytest.mark.parametrize("store", STORES)
def test_a_tree_in_a_bucket_validates_by_its_uri(
    tmp_path: Path,
    sqlite_database: SqliteDatabase,
    at_hand: Bucket,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Root and partition pass, quickly unless asked; lost objects, changed bytes and stray parts do not."""
    make_events(sqlite_database, "sqlite")
    run_well(tmp_path, sqlite_database.source, export(at_hand), environ=at_hand.environment)
    day = f"{PREFIX}created_at=2023-01-01/"
    (part,) = [key for key in at_hand.keys(day) if key.endswith(".parquet")]
    whole = at_hand.read(part)

    def validated(*arguments: str, path: str = "") -> tuple[int, str, list[str]]:
        told = run_command(capsys, "validate", "--prefix", uri(at_hand, path), "--json", *arguments)
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
    run_well(tmp_path, sqlite_database.source, export(bucket), environ=bucket.environment)
    config = write_config(tmp_path, sqlite_database.source, export(bucket))
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)

    def validated(*arguments: str) -> tuple[int, list[str]]:
        told = run_command(capsys, "validate", "--config", config, "--json", *arguments)
        assert told.document is not None
        return told.exit_code, [f"{e['name']} {e['destination']}" for e in told.document["exports"]]

    day = "created_at=2023-01-01"
    assert validated() == (0, [f"events {uri(bucket)}"])
    for prefix in (f"{PREFIX}{day}", f"/{PREFIX}{day}/", uri(bucket, day)):
        assert validated("--prefix", prefix) == (0, [f"events {uri(bucket, day)}/"])
    for prefix in (day, "lake/", "s3://elsewhere/" + PREFIX):
        assert validated("--prefix", prefix) == (2, [])


@pytest.mark.parametrize("store", STORES)
def test_three_requests_validate_a_partition(
    tmp_path: Path, sqlite_database: SqliteDatabase, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Marker, manifest and footer cost one each, of a partition alone and of any in a root, 16 at a time."""
    rows = ", ".join(f"({i}, date('2023-01-01', '+{i} days'))" for i in range(40))
    sqlite_database.execute(
        f"CREATE TABLE events (id INTEGER, created_at DATE); INSERT INTO events VALUES {rows}"
    )
    run_well(tmp_path, sqlite_database.source, export(bucket), environ=bucket.environment)
    kind = S3Requests if isinstance(bucket, S3Bucket) else GcsRequests
    asked: list[str] = []
    side_by_side = threading.Barrier(16)
    for name in ("get", "inspect", "tail", "range", "list"):
        monkeypatch.setattr(kind, name, _counted(name, getattr(kind, name), asked, side_by_side))

    def requests_of(prefix: str) -> Counter[str]:
        asked.clear()
        with closing(open_destination(bucket.settings(prefix))) as destination:
            assert validate(destination).findings == ()
        return Counter(asked)

    assert requests_of(PREFIX) == {"inspect": 2 * 40 + 1, "tail": 40, "list": 2}
    # The export file is looked for, and what stands where.
    assert requests_of(f"{PREFIX}created_at=2023-01-05/") == {"inspect": 2 + 1, "tail": 1, "list": 3}


def _counted(
    name: str, method: Callable[..., Any], asked: list[str], side_by_side: threading.Barrier
) -> Callable[..., Any]:
    """Count calls; the first after the export file wait until there are as many as come side by side."""
    numbers = itertools.count()

    def count(*arguments: Any) -> Any:
        asked.append(name)
        if name == "inspect" and 1 <= next(numbers) <= side_by_side.parties:
            side_by_side.wait(60)
        return method(*arguments)

    return count
