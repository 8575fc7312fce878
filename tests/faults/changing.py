"""A table that changes all the while, and remembers what it held at each of its versions."""

from __future__ import annotations

import datetime as dt
import random
import sqlite3
import threading
from types import TracebackType
from typing import Any, Self

import psycopg
import pymysql

from tests.faults.apart import ApartDatabase
from tests.run.conftest import AnyDatabase
from tests.run.refusing import MOMENT

Row = dict[str, Any]

ROWS = 120
DAYS = [dt.datetime(2024, 2, 24) + dt.timedelta(days=number) for number in range(10)]
VERSION_ID = 0
"""The row of this id says in its note which version the table has."""
EXTRA = "extra"
_CREATE = (
    "CREATE TABLE events (id int PRIMARY KEY, created_at {moment}, note varchar(40));"
    " INSERT INTO events VALUES (0, '{day}', '0');"
)
# An ALTER that has to wait for a run gives up: the run must not wait for it, in turn.
_ALTER = {
    "postgres": "SET lock_timeout = '20ms'; ALTER TABLE events {change}",
    "mariadb": "ALTER TABLE events NOWAIT {change}",
    "sqlite": "ALTER TABLE events {change}",
}


class ChangingTable:
    """The table `events`, changed by one transaction for each version."""

    def __init__(self, database: AnyDatabase | ApartDatabase, engine: str) -> None:
        self.database = database
        self.version = 0
        self.altered = 0
        self._engine = engine
        self._random = random.Random(5)
        self._next_id = 1
        self._rows: dict[int, Row] = {VERSION_ID: {"created_at": DAYS[0], "note": "0"}}
        self._versions = {0: self._rows}
        self._has_extra = False
        if engine == "sqlite":
            database.execute("PRAGMA journal_mode = WAL")  # or no one could write beside a reader
        database.execute(_CREATE.format(moment=MOMENT[engine], day=DAYS[0]))
        self._write([self._inserted(self._next_row()) for _ in range(ROWS)])

    def change(self) -> None:
        """Insert, delete and move some rows, NULL among their days; there are about as many as before."""
        statements = []
        for _ in range(4):
            known = [key for key in self._rows if key != VERSION_ID]
            key = self._random.choice(known)
            action = self._random.choice(("insert" if len(known) < ROWS else "delete", "move", "note"))
            if action == "insert":
                statements.append(self._inserted(self._next_row()))
            elif action == "delete":
                self._rows = {k: row for k, row in self._rows.items() if k != key}
                statements.append(f"DELETE FROM events WHERE id = {key}")
            elif action == "move":
                statements.append(self._updated(key, created_at=self._some_day()))
            else:
                statements.append(self._updated(key, note=f"note {self._random.randrange(1000)}"))
        self._write(statements)

    def alter(self) -> None:
        """Add a column or drop it again, where nobody keeps it from that."""
        change = f"DROP COLUMN {EXTRA}" if self._has_extra else f"ADD COLUMN {EXTRA} int"
        try:
            self.database.execute(_ALTER[self._engine].format(change=change))
        except (psycopg.Error, pymysql.Error, sqlite3.Error):
            return
        self.altered += 1
        self._has_extra = not self._has_extra
        if not self._has_extra:
            self._rows = {key: {**row, EXTRA: None} for key, row in self._rows.items()}

    def at(self, version: int) -> dict[int, Row]:
        """Give the rows of a version, by id; a row that lacks the extra column has NULL in it."""
        return self._versions[version]

    def _write(self, statements: list[str]) -> None:
        self.version += 1
        statements.append(self._updated(VERSION_ID, note=str(self.version)))
        # Known before it is committed, so that whoever sees it can look it up.
        self._versions[self.version] = self._rows
        self.database.execute(f"BEGIN; {'; '.join(statements)}; COMMIT;")

    def _next_row(self) -> Row:
        row: Row = {"created_at": self._some_day(), "note": f"row {self._next_id}"}
        if self._has_extra:
            row[EXTRA] = self._random.randrange(100)
        return row

    def _some_day(self) -> dt.datetime | None:
        day = self._random.choice([*DAYS, None])
        return None if day is None else day + dt.timedelta(seconds=self._random.randrange(86400))

    def _inserted(self, row: Row) -> str:
        key, self._next_id = self._next_id, self._next_id + 1
        self._rows = {**self._rows, key: row}
        values = ", ".join([str(key), *map(_literal, row.values())])
        return f"INSERT INTO events ({', '.join(['id', *row])}) VALUES ({values})"

    def _updated(self, key: int, **changes: Any) -> str:
        self._rows = {**self._rows, key: {**self._rows[key], **changes}}
        assignments = ", ".join(f"{name} = {_literal(value)}" for name, value in changes.items())
        return f"UPDATE events SET {assignments} WHERE id = {key}"


class Changing:
    """Lets a table change for as long as the block lasts.

    Attributes:
        changes: How often it has changed.
    """

    def __init__(self, table: ChangingTable) -> None:
        self.changes = 0
        self._table = table
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._failure: Exception | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _loop(self) -> None:
        try:
            while not self._ended.wait(0.005):
                self._table.change()
                self.changes += 1
                if self.changes % 5 == 0:
                    self._table.alter()
        except Exception as error:  # noqa: BLE001 - raised where the block ends
            self._failure = error


def _literal(value: object) -> str:
    return "NULL" if value is None else str(value) if isinstance(value, int) else f"'{value}'"
