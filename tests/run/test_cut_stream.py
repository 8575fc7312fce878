"""A stream that is cut before its end, wherever and however, is never published."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from rivet.events import Event
from rivet.outcome import ExportOutcome
from rivet.run import plan
from tests.run.running import by_day, run_one, run_well, settings
from tests.run.trees import rows_by_manifest, snapshot
from tests.servers.database import Database
from tests.servers.proxy import Cut, Proxy, run_proxy

SERVERS = ["postgres", "mariadb"]
ROWS = 3_000
PATIENCE_SECONDS = 60
CREATE = {
    "postgres": "CREATE TABLE events (id int PRIMARY KEY, created_at timestamp, note text); "
    "INSERT INTO events SELECT i, timestamp '2024-02-26' + i % 5 * interval '1 day', repeat(md5(i::text), 3) "
    f"FROM generate_series(1, {ROWS}) AS i",
    "mariadb": "CREATE TABLE events (id int PRIMARY KEY, created_at datetime(6), note text); "
    "INSERT INTO events SELECT seq, '2024-02-26' + INTERVAL seq % 5 DAY, REPEAT(MD5(seq), 3) "
    f"FROM seq_1_to_{ROWS}",
}
BEFORE_ROWS, IN_ROWS, AT_THE_END = 10, 25, 15
FAREWELL_BYTES = 512  # more than anybody says after the last row


@pytest.fixture
def proxy(database: Database) -> Iterator[Proxy]:
    """Run a proxy before the database's server."""
    with run_proxy(database.server.host, database.server.port) as running:
        yield running


def _through(database: Database, proxy: Proxy) -> dict[str, Any]:
    """Give the source of a database behind a proxy."""
    return replace(database, server=replace(database.server, port=proxy.port)).source


def _run_bounded(directory: Path, source: Mapping[str, Any], export: Mapping[str, Any]) -> ExportOutcome:
    """Run one export on a thread that is given up where it hangs."""
    outcomes: list[ExportOutcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(run_one(directory, source, export)), daemon=True)
    thread.start()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive(), "the run hangs"
    (outcome,) = outcomes
    return outcome


class Attempts:
    """Runs that are cut, over an old tree, each of them held to the promise."""

    def __init__(self, directory: Path, database: Database, proxy: Proxy) -> None:
        """Make the old tree, change the table, and run once without a cut to see how the bytes come."""
        self._directory = directory
        self._proxy = proxy
        self._source = _through(database, proxy)
        self._root, self._old = directory / "tree", directory / "old"
        self._export = by_day(self._root)
        self.failed = 0
        run_well(directory, self._source, self._export)
        shutil.copytree(self._root, self._old)
        # Rows may come while the probe is under way; what a plan takes is about what comes before them.
        plan(settings(directory, self._source, self._export), listener=self._look)
        self.planned = proxy.passed
        self._before = snapshot(self._root)
        database.execute("UPDATE events SET note = 'changed' WHERE id % 2 = 0")
        run_well(directory, self._source, by_day(directory / "new"), listener=self._look)
        self.total = proxy.passed
        self._after = rows_by_manifest(directory / "new")

    def _look(self, event: Event) -> None:
        if event.kind == "started":
            self._proxy.limit(None)

    def suffice(self, most: int, cut: Cut = "end") -> bool:
        """Run with so many bytes; tell whether they were enough for an export, which must then be whole."""
        self._proxy.limit(most, cut)
        outcome = _run_bounded(self._directory, self._source, self._export)
        if outcome.status == "complete":
            assert rows_by_manifest(self._root) == self._after, (most, cut)
            shutil.rmtree(self._root)
            shutil.copytree(self._old, self._root)
            return True
        self.failed += 1
        assert outcome.exit_code == 3, (most, cut, outcome.error)
        assert snapshot(self._root) == self._before, (most, cut)
        return False


@pytest.mark.parametrize("engine", SERVERS)
def test_a_cut_stream_changes_nothing(
    tmp_path: Path, database: Database, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    """Cut after any number of bytes, a run fails with exit code 3 and leaves every byte of the old tree."""
    # Small blocks, so that rows are on their way through the whole run when the stream ends.
    monkeypatch.setattr("rivet.source.pipe.BLOCK_BYTES", 16 * 1024)
    database.execute(CREATE[engine])
    attempts = Attempts(tmp_path, database, proxy)
    planned, total = attempts.planned, attempts.total
    assert total - planned > ROWS * 50

    # After the last row and the server's count of rows may come farewells, which nobody needs.
    enough = bisect_left(range(total), x=True, lo=total - FAREWELL_BYTES, key=attempts.suffice)
    assert enough > total - FAREWELL_BYTES
    places = [
        *(planned * i // BEFORE_ROWS for i in range(BEFORE_ROWS)),
        *(planned + (enough - planned) * i // IN_ROWS for i in range(IN_ROWS)),
        *(enough - i for i in range(AT_THE_END, 0, -1)),
    ]
    cuts: Iterator[Cut] = cycle(["end", "reset"])
    for most, cut in zip(places, cuts, strict=False):
        attempts.suffice(most, cut)

    assert attempts.failed >= len(places)


@pytest.mark.parametrize("engine", SERVERS)
def test_a_cut_stream_is_told_without_a_traceback(
    tmp_path: Path, database: Database, proxy: Proxy, engine: str
) -> None:
    """The command ends with exit code 3, one error for people and one for machines, and creates nothing."""
    database.execute(CREATE[engine])
    settings(tmp_path, _through(database, proxy), by_day(tmp_path / "tree"))
    proxy.limit(100_000, "reset")

    command = [sys.executable, "-m", "rivet", "run", "--config", str(tmp_path / "rivet.yaml"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)

    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert "Error: events: " in done.stderr
    assert json.loads(done.stdout)["exports"][0]["exit_code"] == 3
    assert database.server.password not in done.stdout + done.stderr
    assert not (tmp_path / "tree").exists()
