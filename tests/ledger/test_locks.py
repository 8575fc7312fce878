"""A ledger in SQLite beside a source in SQLite: two libraries in one process, on two files."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from rivet.config.settings import StateSettings
from rivet.ledger.store import Ledger
from rivet.source.sqlite.connecting import SqliteConnection
from tests.ledger.entries import export, run
from tests.servers.sqlite import SqliteDatabase

WRITER = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    other.execute("BEGIN EXCLUSIVE")
    print("took it")
except sqlite3.OperationalError as error:
    print(error)
"""


def _writer(file: Path) -> str:
    """Say what becomes of another process that wants to change the file."""
    command = [sys.executable, "-c", WRITER, str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_ledger_leaves_the_sources_locks_alone(sqlite_database: SqliteDatabase, tmp_path: Path) -> None:
    """While a source is read its file stays locked against writers, however often the ledger is opened.

    The same library on the same file would drop that lock, as the end of the test shows: so it matters.
    """
    sqlite_database.execute("CREATE TABLE events (id integer)")
    file = Path(sqlite_database.source["path"])
    ledger = Ledger(StateSettings(), {"XDG_STATE_HOME": str(tmp_path)})
    with closing(SqliteConnection(file, 1)) as source:
        assert _writer(file) == "database is locked"
        for number in range(5):
            ledger.put(run(number), export(published=3), make=True)
            ledger.recent(9)
        assert _writer(file) == "database is locked"
        assert source.rows("SELECT count(*) FROM events") == [(0,)]

        with closing(sqlite3.connect(file)) as same:
            same.execute("SELECT count(*) FROM events").fetchall()
        assert _writer(file) == "took it"
