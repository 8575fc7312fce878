"""How many requests a run makes of a store: so many a partition, whatever their number."""

from __future__ import annotations

import re
import socket
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from botocore.httpsession import URLLib3Session

from rivet.destination.opening import open_destination
from rivet.destination.s3 import straight
from rivet.outcome import ExportOutcome
from rivet.validate import validate
from tests.run.fake_source import FakeSource
from tests.run.running import by_day, run_well
from tests.servers.s3 import S3Bucket
from tests.servers.sqlite import SqliteDatabase

PARTITIONS = [100, pytest.param(10_000, marks=pytest.mark.long)]
PREFIX = "lake/"
SMALL_REQUESTS, LARGE_REQUESTS, VALIDATING_REQUESTS = 5, 8, 3
OTHER_REQUESTS = 20
LARGE_BYTES = 9 * 1024**2
_NEW = ("put part", "put manifest", "put marker")
_REPLACED = ("delete marker", *_NEW, "delete part")


class Counted:
    """A bucket, and what was asked of it, by the SDK and past it.

    Attributes:
        by_partition: Requests on keys in each partition.
        others: Requests on the export file.
        listings: Pages of keys or of uploads.
        deletes: Batches, and single ones.
        changes: What the last run has done to the objects of each partition, in this order.
    """

    def __init__(self, bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bucket = bucket
        self._asked: list[tuple[str, str]] = []
        self.changes: dict[str, list[str]] = {}
        by_sdk, by_hand = URLLib3Session.send, straight.send

        def send_by_sdk(session: URLLib3Session, request: Any) -> Any:
            self._asked.append((request.method, request.url))
            self._note(request.method, request.url, request.body or b"")
            return by_sdk(session, request)

        def send_by_hand(sock: socket.socket, head: bytes, data: bytes) -> bool:
            method, path, _ = head.decode().split(" ", 2)
            self._asked.append((method, path))
            self._note(method, path, data)
            return by_hand(sock, head, data)

        monkeypatch.setattr(URLLib3Session, "send", send_by_sdk)
        monkeypatch.setattr(straight, "send", send_by_hand)

    def count(self) -> None:
        """Count what was asked since the last time."""
        self.by_partition: Counter[str] = Counter()
        self.others = self.listings = self.deletes = 0
        for method, url in self._asked:
            query = urlsplit(url).query
            directory, _, name = unquote(urlsplit(url).path).removesuffix("/").rpartition("/")
            if method == "DELETE" or (method == "POST" and query == "delete"):
                self.deletes += 1
            elif method == "GET" and name == self.bucket.name:
                self.listings += 1
            elif "=" in directory:
                self.by_partition[directory.rpartition("/")[2]] += 1
            else:
                self.others += 1
        self._asked.clear()

    def _note(self, method: str, url: str, body: bytes) -> None:
        path, query = unquote(urlsplit(url).path), urlsplit(url).query
        if query == "delete":
            keys, does = re.findall("<Key>(.*?)</Key>", body.decode()), "delete"
        else:
            keys, does = [path], method.lower()
            for word, spoken in {"uploadId": "complete", "partNumber": "send", "uploads": "begin"}.items():
                does = spoken if word in query else does
        for key in keys if does not in {"get", "head"} else ():
            directory, _, name = key.rpartition("/")
            kind = {"_SUCCESS": "marker", "manifest.json": "manifest"}.get(name, "part")
            if "=" in directory:
                self.changes.setdefault(directory.rpartition("=")[2], []).append(f"{does} {kind}")

    def run(self, directory: Path, source: Any, **more: Any) -> ExportOutcome:
        """Export by day into the bucket, and count."""
        destination = {**self.bucket.section, "prefix": f"{PREFIX}{{partition}}"}
        self.changes.clear()
        export = by_day(Path(), destination=destination, **more)
        outcome = run_well(directory, source, export, environ=self.bucket.environment)
        self.count()
        return outcome


@pytest.fixture
def counted(s3_bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Give an empty bucket that counts."""
    return Counted(s3_bucket, monkeypatch)


def _most(counted: Counted) -> int:
    return max(counted.by_partition.values(), default=0)


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_requests_grow_with_the_partitions_and_no_faster(
    tmp_path: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch, partitions: int
) -> None:
    """To write, replace, leave alone and validate a partition takes a bounded number of requests.

    The marker goes first and comes last, after part and manifest; then the old part goes.
    """

    def run_over(days: list[int | None]) -> ExportOutcome:
        monkeypatch.setattr("rivet.run.open_source", lambda _: FakeSource(days))
        return counted.run(
            tmp_path, {"type": "sqlite", "path": "none.db"}, partition_by="day", max_partitions=2 * partitions
        )

    # From the second night on every row has another number, or its day another row.
    first = [*range(partitions - 1), None]
    for days, written in [(first, partitions), ([-1, *first], partitions + 1), ([-1, *first], 0)]:
        outcome = run_over(days)
        assert (outcome.partitions_written, outcome.rows) == (written, len(days))
        assert _most(counted) <= SMALL_REQUESTS
        orders = {tuple(changes) for changes in counted.changes.values()}
        assert orders == ({_NEW, _REPLACED} if written > partitions else {_NEW} if written else set())
        assert counted.others <= OTHER_REQUESTS + written // 32 + outcome.duration_seconds // 5, "of the lock"
        # Two batches and a look at the export file for each 32 partitions, and some pages of all keys.
        assert counted.deletes <= 2 * written // 32 + 4
        assert counted.listings <= written // 32 + 4 * len(days) * 3 // 1000 + 10

    with closing(open_destination(counted.bucket.settings(PREFIX))) as destination:
        verdict = validate(destination, depth="quick")
    counted.count()
    assert (verdict.findings, verdict.partitions) == ((), partitions + 1)
    assert _most(counted) <= VALIDATING_REQUESTS
    assert counted.listings + counted.others <= 3 * partitions // 1000 + 10, (
        "pages of all keys, and a few more"
    )


def test_large_parts_take_a_few_requests_more(
    tmp_path: Path, counted: Counted, sqlite_database: SqliteDatabase
) -> None:
    """A part that goes up in two pieces costs the beginning and the end of an upload beside them.

    The pieces go before anything that readers see is touched, and the end comes in the place of the part.
    """
    sqlite_database.execute(
        f"""
        CREATE TABLE events (id INTEGER PRIMARY KEY, created_at DATETIME, body BLOB);
        INSERT INTO events VALUES (1, '2023-01-01 00:00:00', randomblob({LARGE_BYTES})),
            (2, '2023-01-02 00:00:00', randomblob({LARGE_BYTES}));
        """
    )
    for order in (_NEW, _REPLACED):
        outcome = counted.run(tmp_path, sqlite_database.source)
        assert outcome.partitions_written == 2
        assert outcome.bytes_written > 2 * LARGE_BYTES
        assert SMALL_REQUESTS < _most(counted) <= LARGE_REQUESTS
        completed = ["complete part" if does == "put part" else does for does in order]
        assert list(counted.changes.values()) == [["begin part", "send part", "send part", *completed]] * 2
        sqlite_database.execute(f"UPDATE events SET body = randomblob({LARGE_BYTES})")
