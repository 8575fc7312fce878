"""The one connection of a session: read-only, one read transaction, all calls in a thread of their own.

Nothing in this process may open the file with another SQLite library meanwhile, the standard module's
included: POSIX locks belong to the process, and the first close would drop those of the others. (SQLite
manual, "How To Corrupt An SQLite Database File", 2.2.1 "Multiple copies of SQLite linked into the same
application".) So describing too goes through ADBC's library, with a dialect of SQLAlchemy for it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import adbc_driver_sqlite.dbapi
import sqlalchemy
from adbc_driver_sqlite import StatementOptions
from sqlalchemy.dialects import registry
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.pool import NullPool

from rivet.errors import SourceDenied, SourceError
from rivet.source.sqlite.errors import translated
from rivet.source.sqlite.left_behind import refuse_lock_out
from rivet.source.sqlite.stream import RowStream
from rivet.source.sqlite.thread import DriverThread


class AdbcDialect(DefaultDialect):
    """SQLite through ADBC, for statements written out by hand."""

    name = "sqlite"
    driver = "adbc"
    default_paramstyle = "qmark"
    supports_statement_cache = True

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """Give the driver's module."""
        return adbc_driver_sqlite.dbapi


registry.register("sqlite.adbc", __name__, AdbcDialect.__name__)


class SqliteConnection:
    """A connection in a read transaction that has begun."""

    def __init__(self, path: Path, timeout_seconds: float) -> None:
        _require_file(path)
        refuse_lock_out(path, uri_of(path))
        self._thread = DriverThread()
        self._engine = sqlalchemy.create_engine(
            "sqlite+adbc://",
            creator=lambda: adbc_driver_sqlite.dbapi.connect(uri_of(path)),
            poolclass=NullPool,
            execution_options={"no_parameters": True},
        )
        self._connection: sqlalchemy.Connection | None = None
        try:
            with translated(f"cannot open SQLite database {str(path)!r}"):
                self._thread.run(lambda: self._open(round(timeout_seconds * 1000)))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the transaction and close; a statement that still runs does so when it ends."""
        with translated("cannot close the database"):
            self._thread.close(self._close)

    def rows(self, statement: str, parameters: tuple[object, ...] | None = None) -> Sequence[Any]:
        """Run a statement and give its rows."""
        return self._thread.run(lambda: self._execute(statement, parameters))

    def prepare(self, statement: str) -> list[str]:
        """Compile a statement without running it, and give the names of its parameters."""
        return self._thread.run(lambda: self._prepare(statement))

    def described(self, query: str) -> Sequence[Any]:
        """Give name and declared type of each output column of a query, which is not run.

        SQLite tells them of a view, so it is made one for a moment, in this connection's own temporary
        schema, which is in memory and no part of the file.
        """
        return self._thread.run(lambda: self._described(query))

    def stream(self, statement: str, batch_rows: int) -> RowStream:
        """Run a statement that gives many rows, at most batch_rows in each batch of the driver."""
        return RowStream(self._thread, lambda: self._cursor(batch_rows), statement)

    def _open(self, timeout_milliseconds: int) -> None:
        self._connection = self._engine.connect()
        self._execute(f"PRAGMA busy_timeout = {timeout_milliseconds}")
        self._execute("PRAGMA query_only = 1")
        # The driver has said BEGIN; the snapshot is taken by the first statement that reads.
        self._execute("SELECT count(*) FROM main.sqlite_schema")

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._engine.dispose()

    def _execute(self, statement: str, parameters: tuple[object, ...] | None = None) -> Sequence[Any]:
        assert self._connection is not None  # noqa: S101 - for mypy: _open has run
        result = self._connection.exec_driver_sql(statement, parameters)
        return result.all() if result.returns_rows else ()

    def _cursor(self, batch_rows: int) -> adbc_driver_sqlite.dbapi.Cursor:
        assert self._connection is not None  # noqa: S101 - for mypy: _open has run
        connection = self._connection.connection.driver_connection
        assert isinstance(connection, adbc_driver_sqlite.dbapi.Connection)  # noqa: S101 - for mypy
        return connection.cursor(adbc_stmt_kwargs={StatementOptions.BATCH_ROWS.value: str(batch_rows)})

    def _prepare(self, statement: str) -> list[str]:
        with self._cursor(1) as cursor:
            parameters = cursor.adbc_prepare(statement)
            return [] if parameters is None else list(parameters.names)

    def _described(self, query: str) -> Sequence[Any]:
        self._execute("PRAGMA query_only = 0")
        try:
            self._execute(f'CREATE TEMP VIEW "rivet described" AS {query}')
            try:
                return self._execute("SELECT name, type FROM temp.pragma_table_xinfo('rivet described')")
            finally:
                self._execute('DROP VIEW temp."rivet described"')
        finally:
            self._execute("PRAGMA query_only = 1")


def uri_of(path: Path) -> str:
    """Write the file's URI for SQLite, which then neither makes nor changes it.

    >>> uri_of(Path("/a b/what?#%.db"))
    'file:///a%20b/what%3F%23%25.db?mode=ro'
    """
    return f"{path.absolute().as_uri()}?mode=ro"


def _require_file(path: Path) -> None:
    """Refuse what SQLite would refuse in fewer words, or wait for, as it would for a pipe's other end."""
    shown = f"SQLite database {str(path)!r}"
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError) as exc:
        raise SourceError(f"no {shown}", hint="check `path` under `source`") from exc
    except PermissionError as exc:
        raise SourceDenied(f"{shown} may not be looked for", hint="give this user the right") from exc
    except OSError as exc:
        problem = (exc.strerror or "cannot be opened").lower()
        raise SourceError(f"{shown} cannot be found: {problem}", hint="check `path` under `source`") from exc
    if stat.S_ISDIR(mode):
        raise SourceError(f"{shown} is a directory", hint="name the file in it")
    if not stat.S_ISREG(mode):
        raise SourceError(f"{shown} is no file", hint="name a file; a pipe can be written to one first")
    if not os.access(path, os.R_OK):
        raise SourceDenied(f"{shown} may not be read", hint="give this user the right")
