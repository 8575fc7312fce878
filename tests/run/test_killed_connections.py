"""One of a run's connections is killed at the server while its scan streams: an honest end, or begun anew."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rivet.run import run
from rivet.source.mysql.bulk import SnapshotReader
from rivet.source.mysql.statements import Reading
from rivet.source.pipe import BlockStream
from tests.run.nights import assert_equal
from tests.run.running import by_day, run_one, run_well, settings
from tests.run.trees import manifests, snapshot
from tests.servers.database import Database

DAYS, ROWS = 8, 6_400
# The rows of a day are more than a Unix socket holds, so that the server cannot be done with a scan before
# somebody takes them.
CREATE = (
    "CREATE TABLE events (id int, created_at datetime, note text, PRIMARY KEY (created_at, id));"
    f"INSERT INTO events SELECT seq, '2024-02-26' + INTERVAL seq * {DAYS} DIV {ROWS + 1} DAY,"
    f" REPEAT(MD5(seq), 75) FROM seq_1_to_{ROWS}; ANALYZE TABLE events"
)
CHANGE = (
    "DELETE FROM events WHERE id % 7 = 0; UPDATE events SET note = REPEAT('n', 2400) WHERE id % 3 = 0;"
    "INSERT INTO events VALUES (0, '2024-02-28 01:00:00', 'new')"
)
LATER = "INSERT INTO events VALUES (-1, '2024-02-27 01:00:00', 'later')"
EXPORTS: dict[str, dict[str, Any]] = {
    "full": {},
    "chunked": {"mode": "chunked", "chunk_by_key": ["created_at", "id"], "chunk_size": ROWS // DAYS},
}
SCANS_AT_ONCE = {"full": 2, "chunked": 1}  # chunks share the snapshot, which is that of one connection
PATIENCE_SECONDS = 60


@pytest.fixture
def source(mariadb_database: Database, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Make the table, and give its source, which two connections may read, each a little ahead."""
    for module in ("rivet.plan.sharing", "rivet.preparing.shared"):
        monkeypatch.setattr(f"{module}.LEAST_ROWS", 50)
    monkeypatch.setattr("rivet.preparing.shared.MOST_PASSES", 100)  # a small table's estimates are rough
    for name in ("BLOCK_BYTES", "QUEUE_BYTES"):
        monkeypatch.setattr(f"rivet.source.pipe.{name}", 16 * 1024)
    mariadb_database.execute(CREATE)
    ((path,),) = mariadb_database.fetch("SELECT @@socket")
    account = mariadb_database.server.account
    where = {"host": path, "database": mariadb_database.name}
    login = {"user": account.user, "password": account.password}
    return {"type": "mysql", **where, **login, "parallel": 2, "consistency": "statement"}


class Killing:
    """Holds scans that have begun, until the connection of one of them is killed, once.

    Attributes:
        others: How many scans were under way then, beside the one that was killed; None until then.
    """

    def __init__(self, database: Database, after: int, at_once: int) -> None:
        self.others: int | None = None
        self._database = database
        self._after, self._last = after, after + at_once
        self._begun = 0
        self._lock = threading.Lock()
        self._done = threading.Event()

    def begun(self) -> None:
        """Hold who has begun a scan, if it is one of those that are waited for."""
        with self._lock:
            self._begun += 1
            number = self._begun
        if number == self._last:
            self._kill(self._last - self._after)
        elif self._after < number < self._last:
            self._done.wait(PATIENCE_SECONDS)

    def _kill(self, at_once: int) -> None:
        server = self._database.server
        ask = (
            "SELECT id FROM information_schema.processlist WHERE state = 'Writing to net'"
            f" AND db = '{self._database.name}'"
        )
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(sending := server.fetch(ask)) < at_once and time.monotonic() < deadline:
            time.sleep(0.01)
        if len(sending) == at_once:
            server.execute(f"KILL CONNECTION {sending[-1][0]}")
            self.others = at_once - 1
        self._done.set()


@contextmanager
def _killing_one(database: Database, *, after: int, at_once: int) -> Iterator[Killing]:
    """Kill one connection when so many scans have begun and as many as run at once are under way."""
    begin, killing = SnapshotReader.stream, Killing(database, after, at_once)

    def stream(reader: SnapshotReader, reading: Reading) -> BlockStream:
        blocks = begin(reader, reading)
        killing.begun()
        return blocks

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SnapshotReader, "stream", stream)
        yield killing


@pytest.mark.parametrize("mode", EXPORTS)
def test_a_killed_connection_ends_the_run(
    tmp_path: Path, mariadb_database: Database, source: dict[str, Any], mode: str
) -> None:
    """Exit 3, and the old tree byte for byte, whatever was read by then; the next run ends right."""
    root, number = tmp_path / "tree", SCANS_AT_ONCE[mode]
    export = by_day(root, **EXPORTS[mode])
    assert run_well(tmp_path, source, export).scans_at_once == number
    before = snapshot(root)
    mariadb_database.execute(CHANGE)

    with _killing_one(mariadb_database, after=2, at_once=number) as killing:
        outcome = run_one(tmp_path, source, export)

    assert (killing.others, outcome.status, outcome.exit_code) == (number - 1, "failed", 3), outcome.error
    assert snapshot(root) == before
    run_well(tmp_path, source, export)
    assert_equal(root, mariadb_database)


@pytest.mark.parametrize("mode", EXPORTS)
def test_a_killed_connection_is_begun_anew(
    tmp_path: Path, mariadb_database: Database, source: dict[str, Any], mode: str
) -> None:
    """All is of the second attempt: what the first has read stands nowhere, and what came later is there."""
    root, number = tmp_path / "tree", SCANS_AT_ONCE[mode]
    export = by_day(root, **EXPORTS[mode])
    asked = settings(tmp_path, source | {"retries": 1}, export)

    with _killing_one(mariadb_database, after=2, at_once=number) as killing:
        outcome = run(asked, listener=lambda _: None, sleep=lambda _: mariadb_database.execute(LATER))

    assert (killing.others, outcome.exit_code) == (number - 1, 0), outcome.exports[0].error
    assert any("attempt 2 of 2" in line for line in outcome.exports[0].warnings)
    assert {m["source"]["attempt"] for m in manifests(root).values()} == {2}
    assert_equal(root, mariadb_database)
