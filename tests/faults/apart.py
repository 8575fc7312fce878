"""A SQLite file that is written to by a process of its own.

Two copies of SQLite in one process, Python's and that of the code under test, undo each other's locks.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.servers.sqlite import SqliteDatabase


class ApartDatabase:
    """The face of a database, as far as the table that changes needs it."""

    def __init__(self, database: SqliteDatabase, process: subprocess.Popen[str]) -> None:
        self.source: dict[str, Any] = database.source
        self._process = process

    def execute(self, sql: str) -> None:
        """Have statements run, text as it is."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(sql) + "\n")
        self._process.stdin.flush()
        trouble = json.loads(self._process.stdout.readline())
        if trouble is not None:
            raise sqlite3.OperationalError(trouble)


@contextmanager
def run_apart(database: SqliteDatabase) -> Iterator[ApartDatabase]:
    """Run the process for as long as the block lasts."""
    command = [sys.executable, "-m", "tests.faults.apart", str(database.path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield ApartDatabase(database, process)
        finally:
            process.kill()


def _execute(connection: sqlite3.Connection, sql: str) -> str | None:
    try:
        connection.executescript(sql)
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.rollback()
        return str(error)
    return None


if __name__ == "__main__":
    _connection = sqlite3.connect(sys.argv[1], isolation_level=None)
    for _line in sys.stdin:
        sys.stdout.write(json.dumps(_execute(_connection, json.loads(_line))) + "\n")
        sys.stdout.flush()
