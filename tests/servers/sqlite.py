"""A SQLite file with the face that databases of servers have."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class SqliteDatabase:
    """A SQLite database in a file."""

    path: Path

    @property
    def name(self) -> str:
        """Name the database, as its file is named."""
        return self.path.name

    @property
    def source(self) -> dict[str, Any]:
        """Write the `source` section of a config that exports from it."""
        return {"type": "sqlite", "path": str(self.path)}

    @contextmanager
    def connect(self, *, autocommit: bool = True) -> Iterator[sqlite3.Connection]:
        """Open the standard module's connection, closed on leaving."""
        connection = sqlite3.connect(self.path, isolation_level=None if autocommit else "DEFERRED")
        try:
            yield connection
        finally:
            connection.close()

    def execute(self, sql: str) -> None:
        """Run statements, text as it is, without parameters."""
        with self.connect() as connection:
            connection.executescript(sql)

    def fetch(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a query, text as it is, and give its rows."""
        with self.connect() as connection:
            return connection.execute(sql).fetchall()
