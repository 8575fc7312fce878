"""What tests of the SQLite source share."""

from __future__ import annotations

import datetime as dt
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pyarrow as pa

from rivet.config.settings import SourceSettings
from rivet.plan.probe import Probe
from rivet.plan.schema import Override
from rivet.source.opening import open_source
from rivet.source.protocol import Session, Source
from rivet.source.relation import Request
from tests.servers.sqlite import SqliteDatabase
from tests.source.reading import column_of, read_scan

T = TypeVar("T")

# Locks of SQLite belong to a process and the driver's library is not this module's, so whoever works on the
# file while a session is open must be another process.
_WRITER = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=0); c.executescript(sys.argv[2])"


def source_of(database: SqliteDatabase, **changes: Any) -> Source:
    """Give the source of a file."""
    named: dict[str, Any] = {"type": "sqlite", "path": database.path}
    return open_source(SourceSettings(**(named | changes)))


def in_session(database: SqliteDatabase, ask: Callable[[Session], T]) -> T:
    """Ask something in a session of its own."""
    with source_of(database).session() as session:
        return ask(session)


def read_all(
    database: SqliteDatabase,
    *,
    table: str | None = None,
    query: str | None = None,
    order: str | None = None,
    exclude: tuple[str, ...] = (),
    overrides: Mapping[str, Override] | None = None,
) -> pa.Table:
    """Describe, probe and read a table or a query in one session."""

    def ask(session: Session) -> pa.Table:
        relation = session.describe(Request(table, query, exclude, overrides or {}))
        column = column_of(relation, order) if order else None
        probe = session.probe(relation, column)
        read = read_scan(session, relation, column)
        assert read.num_rows == probe.rows
        return read

    return in_session(database, ask)


def probe_of(database: SqliteDatabase, table: str, column: str | None) -> Probe:
    """Describe and probe a table."""

    def ask(session: Session) -> Probe:
        relation = session.describe(Request(table))
        return session.probe(relation, column_of(relation, column) if column else None)

    return in_session(database, ask)


def write_elsewhere(database: SqliteDatabase, sql: str) -> str:
    """Run statements in another process, and give the last line of its error, empty where all went well."""
    command = [sys.executable, "-c", _WRITER, str(database.path), sql]
    return (
        subprocess.run(command, capture_output=True, text=True, check=False)
        .stderr.strip()
        .rpartition("\n")[2]
    )


def microseconds(value: dt.datetime) -> int:
    """Give a moment on the axis of timestamps and instants."""
    return (value - dt.datetime(1970, 1, 1, tzinfo=value.tzinfo)) // dt.timedelta(microseconds=1)


def shuffled_rows(values: list[str]) -> str:
    """Write values, as SQL, as rows of one column in some other order."""
    random.Random(7).shuffle(values)
    return ", ".join(f"({v})" for v in values)
