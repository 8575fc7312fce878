"""A table that others hold when a run begins: it waits for a while, and then says so."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rivet.source.mysql import pinning
from rivet.source.postgres import connecting
from tests.run.refusing import events_table
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import rows_by_glob
from tests.servers.database import Database

ALTER = "ALTER TABLE events ADD COLUMN more int"


@contextmanager
def _altering(database: Database, engine: str) -> Iterator[None]:
    """Hold the table as an ALTER does: in PostgreSQL to its end, in MariaDB while it waits for a reader."""
    with database.connect(autocommit=False) as holding:
        if engine == "postgres":
            holding.cursor().execute(ALTER)
            yield
            holding.rollback()
            return
        holding.cursor().execute("SELECT * FROM events")
        altering = threading.Thread(target=database.execute, args=(ALTER,))
        altering.start()
        try:
            waiting = "SELECT 1 FROM information_schema.processlist WHERE state LIKE '%metadata lock%'"
            deadline = time.monotonic() + 30
            while not database.server.fetch(waiting):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            yield
        finally:
            holding.rollback()
            altering.join()


@pytest.mark.parametrize("what", ["table", "query"])
@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_a_table_that_is_being_altered_is_waited_for_and_named(
    tmp_path: Path, database: Database, engine: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that waits in vain may be tried again, says what holds it up, and has written nothing."""
    pinned = dict(connecting._PINNED)
    assert pinned["lock_timeout"] == "15s"
    assert pinning._PINNED["lock_wait_timeout"] == "15"
    monkeypatch.setattr(connecting, "_PINNED", tuple((pinned | {"lock_timeout": "300ms"}).items()))
    monkeypatch.setitem(pinning._PINNED, "lock_wait_timeout", "1")
    database.execute(events_table(engine))
    export = by_day(tmp_path / "tree")
    if what == "query":
        export = {k: v for k, v in export.items() if k != "table"} | {"query": "SELECT * FROM events"}

    with _altering(database, engine):
        outcome = run_one(tmp_path, database.source, export)

    assert (outcome.status, outcome.exit_code) == ("failed", 3)
    assert ("events'" if what == "table" else "the query") in str(outcome.error)
    assert "lock" in str(outcome.error).lower()
    assert "ALTER TABLE" in str(outcome.hint)
    assert not (tmp_path / "tree").exists()
    run_well(tmp_path, database.source, export)
    assert len(rows_by_glob(tmp_path / "tree")) == 4
