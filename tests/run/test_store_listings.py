"""Runs into a store whose listings leave things out: no row stands twice, and no hint leads astray."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rivet.outcome import ExportOutcome
from tests.run.buckets import STORES, Bucket
from tests.run.faulty_store import EXPORT_FILE, FaultyStore
from tests.run.running import by_day, run_one
from tests.servers.faults import Asked, Fault, Forward, Reply, run_fault_proxy
from tests.servers.gcs import GcsBucket
from tests.servers.s3 import S3Bucket
from tests.servers.sqlite import SqliteDatabase

SMALL_BYTES = 1000


@pytest.fixture
def faulty(store: str, s3_bucket: S3Bucket, gcs_bucket: GcsBucket, tmp_path: Path) -> Iterator[FaultyStore]:
    """Give a store with a proxy before it."""
    bucket: Bucket = s3_bucket if store == "s3" else gcs_bucket
    with run_fault_proxy(bucket.server.endpoint_url) as proxy:
        yield FaultyStore(tmp_path, bucket, proxy, SMALL_BYTES)


def _leaves_out(is_left_out: Callable[[str], bool]) -> Callable[[int, Asked], Fault | None]:
    """Give what makes listings of keys leave some out."""

    def shorten(_: Asked, forward: Forward) -> Reply:
        answer = forward()
        return replace(answer, body=_shortened(answer.body, is_left_out))

    return lambda _, asked: shorten if asked.method == "GET" and "prefix=" in asked.path else None


def _shortened(page: bytes, is_left_out: Callable[[str], bool]) -> bytes:
    if page.startswith(b"{"):
        told = json.loads(page)
        told["items"] = [item for item in told.get("items", []) if not is_left_out(item["name"])]
        return json.dumps(told).encode()

    def kept(found: re.Match[str]) -> str:
        return "" if is_left_out(found[1]) else found[0]

    return re.sub(r"(?s)<Contents>.*?<Key>(.*?)</Key>.*?</Contents>", kept, page.decode()).encode()


def _export_file(faulty: FaultyStore, prefix: str) -> dict[str, Any]:
    return dict(json.loads(faulty.objects(prefix)[EXPORT_FILE]))


@pytest.mark.parametrize("store", STORES)
def test_parts_that_a_listing_leaves_out(faulty: FaultyStore) -> None:
    """The parts of partitions that are replaced or vanish go all the same, with that very run."""
    prefix = faulty.tree()
    faulty.proxy.choose = _leaves_out(lambda key: key.endswith(".parquet"))
    outcome = faulty.run(prefix)

    assert (outcome.exit_code, outcome.error) == (0, None)
    faulty.assert_new(prefix)


@pytest.mark.parametrize("store", STORES)
def test_parts_of_a_killed_run_that_the_next_listing_leaves_out(
    faulty: FaultyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are Rivet's own still when a later listing shows them, and go; then nobody speaks of that run."""
    prefix = faulty.tree()

    class Killed(BaseException):
        """Ends the process between a part and its manifest."""

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("rivet.publish.steps.Steps._put", kill)
        with pytest.raises(Killed):
            faulty.run(prefix)
    killed = _export_file(faulty, prefix)["pending"]["run_id"]
    faulty.proxy.choose = _leaves_out(lambda key: key.endswith(".parquet") and killed in key)
    assert faulty.run(prefix).exit_code == 0
    assert any(killed in name for name in faulty.objects(prefix))
    assert _export_file(faulty, prefix)["killed_runs"] == [killed]

    faulty.proxy.spare()
    for _ in range(2):
        assert faulty.run(prefix).exit_code == 0
        faulty.assert_new(prefix)
    assert "killed_runs" not in _export_file(faulty, prefix)


@pytest.mark.parametrize("store", STORES)
def test_a_listing_that_is_empty_at_first(faulty: FaultyStore) -> None:
    """The run changes nothing, and does not say for certain that somebody else was there."""
    prefix = faulty.tree()
    empty = _leaves_out(lambda _: True)
    writes = {"PUT", "POST"}

    def until_something_is_written(number: int, asked: Asked) -> Fault | None:
        return None if any(method in writes for method, _ in faulty.proxy.asked) else empty(number, asked)

    faulty.proxy.choose = until_something_is_written
    outcome = faulty.run(prefix)

    assert outcome.exit_code == 5
    assert "or the listing has left out what stood there" in (outcome.error or "")
    faulty.assert_untouched(prefix)
    faulty.proxy.spare()
    assert faulty.run(prefix).exit_code == 0
    faulty.assert_new(prefix)


@pytest.mark.parametrize("store", STORES)
def test_listings_that_stay_empty(faulty: FaultyStore) -> None:
    """Over a tree or over none, the run is refused before a row is published, and leaves nothing behind."""
    prefix = faulty.tree()
    faulty.proxy.choose = _leaves_out(lambda _: True)
    for tree in (prefix, "nothing/"):
        outcome = faulty.run(tree)
        assert outcome.exit_code == 2
        assert f"{tree}{EXPORT_FILE} can be read, and is not listed" in (outcome.error or "")
    faulty.assert_untouched(prefix)
    assert faulty.bucket.keys("nothing/") == []


def test_a_prefix_that_the_store_takes_for_another(tmp_path: Path, s3_bucket: S3Bucket) -> None:
    """The run is refused before a row is published, and a tree that the store would have mixed up stays."""
    database = SqliteDatabase(tmp_path / "source.db")
    database.execute(
        "CREATE TABLE events (id INTEGER PRIMARY KEY, created_at DATETIME);"
        "INSERT INTO events VALUES (1, '2023-01-01 00:00:00')"
    )

    def run(prefix: str) -> ExportOutcome:
        section = {**s3_bucket.section, "prefix": f"{prefix}{{partition}}"}
        export = by_day(Path(), destination=section)
        return run_one(tmp_path, database.source, export, environ=s3_bucket.environment)

    assert run("lake/there/").exit_code == 0
    before = _objects(s3_bucket)

    for prefix in ("lake\\there/", "lake\\new/"):  # this server makes a `/` of it
        outcome = run(prefix)
        assert outcome.exit_code == 2
        assert "is not listed" in (outcome.error or "")
        assert "without backslashes" in (outcome.hint or "")
    assert _objects(s3_bucket) == before


def _objects(bucket: S3Bucket) -> dict[str, bytes]:
    keys = bucket.keys()
    return {key: bucket.read(key) for key in keys}
