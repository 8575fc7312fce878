"""Somebody who changes the columns of the table `events` while a run is at work."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

from tests.run.conftest import AnyDatabase
from tests.servers.sqlite import SqliteDatabase

_PATIENCE_SECONDS = 60
ADDED = "ALTER TABLE events ADD COLUMN more int DEFAULT 5"
RETYPED = {
    "postgres": "ALTER TABLE events ALTER COLUMN id TYPE bigint",
    "mariadb": "ALTER TABLE events MODIFY id bigint",
    # SQLite has no such statement: the table is made anew.
    "sqlite": "BEGIN; ALTER TABLE events RENAME TO older; "
    "CREATE TABLE events (id TEXT PRIMARY KEY, created_at DATETIME, note varchar(40)); "
    "INSERT INTO events SELECT * FROM older; DROP TABLE older; COMMIT",
}
_CHANGES = {
    "added": ADDED,
    "dropped": "ALTER TABLE events DROP COLUMN note",
    "renamed": "ALTER TABLE events RENAME COLUMN note TO remark",
}
_WAITING = {
    "postgres": "SELECT 1 FROM pg_stat_activity WHERE datname = '{name}' AND wait_event_type = 'Lock'",
    "mariadb": "SELECT 1 FROM information_schema.processlist WHERE db = '{name}'"
    " AND state LIKE '%metadata lock'",
}


def statement(change: str, engine: str) -> str:
    """Write a change of the columns for an engine."""
    return RETYPED[engine] if change == "retyped" else _CHANGES[change]


class Altering:
    """A statement that comes once, on a connection of its own."""

    def __init__(self, database: AnyDatabase, engine: str, statement: str) -> None:
        self._database = database
        self._engine = engine
        self._statement = statement
        self._thread = threading.Thread(target=self._alter)
        self._failure: Exception | None = None

    def come(self) -> None:
        """Send it, if it was not yet sent, and go on when it is done or waits for a lock."""
        if self._thread.ident is not None:
            return
        self._thread.start()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self._thread.is_alive() and not self._waits():
            assert time.monotonic() < deadline, "the statement is neither done nor waits"
            time.sleep(0.01)

    def end(self) -> None:
        """Wait until it is done, which it must be once nobody reads any more."""
        assert self._thread.ident is not None, "it never came"
        self._thread.join(_PATIENCE_SECONDS)
        assert not self._thread.is_alive()
        if self._failure is not None:
            raise self._failure

    def _waits(self) -> bool:
        if isinstance(self._database, SqliteDatabase):
            return False
        return bool(self._database.server.fetch(_WAITING[self._engine].format(name=self._database.name)))

    def _alter(self) -> None:
        try:
            if isinstance(self._database, SqliteDatabase):
                # Locks of SQLite belong to a process, and the library of the run is not this module's.
                script = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])"
                command = [sys.executable, "-c", script, str(self._database.path), self._statement]
                subprocess.run(command, check=True)
            else:
                self._database.execute(self._statement)
        except Exception as error:  # noqa: BLE001 - raised where the end is awaited
            self._failure = error
