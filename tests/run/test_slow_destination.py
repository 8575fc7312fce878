"""A destination that takes nothing holds the reading back, so that memory does not grow meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rivet.destination.local import LocalStaged
from rivet.outcome import ExportOutcome
from tests.run.running import run_one
from tests.servers.database import Database
from tests.servers.proxy import Proxy, run_proxy

ROWS, ROW_BYTES = 320_000, 1_000
# Queues, buffers of sockets and the row groups that are being gathered hold some 160 MB of text.
MOST_BYTES = 240 * 1000**2
PAUSE_SECONDS, STILL = 0.05, 20
QUERIES = {
    "postgres": f"SELECT i, repeat(md5(i::text), {ROW_BYTES // 32}) AS note"
    f" FROM generate_series(1, {ROWS}) AS i",
    "mariadb": f"SELECT seq AS i, REPEAT(MD5(seq), {ROW_BYTES // 32}) AS note FROM seq_1_to_{ROWS}",
}


@pytest.mark.long
@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_reading_waits_for_a_destination_that_takes_nothing(
    tmp_path: Path, database: Database, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quarter of 320 MB is not even sent while nothing can be written; then all rows arrive."""
    waits, gate = threading.Event(), threading.Event()

    def hold_back(write: Callable[..., int]) -> Callable[..., int]:
        def written(*args: Any) -> int:
            waits.set()
            assert gate.wait(300)
            return write(*args)

        return written

    monkeypatch.setattr(LocalStaged, "write", hold_back(LocalStaged.write))
    export = {
        "name": "events",
        "query": QUERIES[engine],
        "destination": {"type": "local", "path": str(tmp_path / "tree")},
    }
    outcomes: list[ExportOutcome] = []
    with run_proxy(database.server.host, database.server.port) as proxy:
        source = replace(database, server=replace(database.server, port=proxy.port)).source
        running = threading.Thread(target=lambda: outcomes.append(run_one(tmp_path, source, export)))
        running.start()
        assert waits.wait(300)
        passed = _at_rest(proxy)
        gate.set()
        running.join()

    assert 0 < passed < MOST_BYTES
    assert [(o.status, o.rows) for o in outcomes] == [("complete", ROWS)]
    assert sum(pq.ParquetFile(part).metadata.num_rows for part in tmp_path.rglob("*.parquet")) == ROWS


def _at_rest(proxy: Proxy) -> int:
    """Wait until the server has sent nothing for a while, and give how much it had; all, if nobody waits."""
    before, still, pause = -1, 0, threading.Event()
    while still < STILL:
        pause.wait(PAUSE_SECONDS)
        passed = proxy.passed
        still = still + 1 if passed == before else 0
        before = passed
    return before
