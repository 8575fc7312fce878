"""Opens the ledger's database: a file of SQLite, PostgreSQL, MySQL or MariaDB, waiting for seconds at most.

Of SQLite it is the standard module's library that opens the ledger, while sources are read through ADBC's.
Two libraries in one process break each other's locks on one file, and only there: a ledger is refused where
it is the source itself.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from rivet.config.settings import SourceSettings, StateSettings
from rivet.errors import LedgerError
from rivet.ledger.errors import translated
from rivet.ledger.place import default_path
from rivet.tls import libpq_parameters, ssl_context


class Database:
    """A database that holds a ledger, or will.

    Attributes:
        label: What it is, for people.
    """

    def __init__(self, state: StateSettings, environ: Mapping[str, str], wait_seconds: float) -> None:
        """Decide which database it is, without looking at it.

        Raises:
            LedgerError: There is no home directory to keep one in.
        """
        self._settings = state.database
        self._path: Path | None = None
        self._wait_seconds = wait_seconds
        if self._settings is None:
            self._path = default_path(environ, sys.platform, Path.home)
        elif self._settings.type == "sqlite":
            self._path = self._settings.path
        self.label = repr(str(self._path)) if self._path is not None else _label(self._settings)
        self._engine = self._make_engine()

    @property
    def dialect(self) -> str:
        """Name the kind of database: `sqlite`, `postgresql` or `mysql`."""
        return self._engine.dialect.name

    def is_missing(self) -> bool:
        """Tell whether there is no file; other databases are there or are no ledger's."""
        if self._path is None:
            return False
        with translated("cannot look for it"):
            return not self._path.exists()

    def refuse_source(self, source: Path | None) -> None:
        """Leave a file alone that is the source of the run.

        Raises:
            LedgerError: The ledger is that file.
        """
        if source is not None and self._path is not None:
            with translated("cannot look for it"):
                if self._path.exists() and source.exists() and self._path.samefile(source):
                    raise LedgerError(
                        "it is the source of this run, whose file a ledger would change while it is read",
                        hint="name another database under `state`, or write `state: off`",
                    )

    def make_room(self) -> None:
        """Make the file and its directories, for their owner alone; what is there stays as it is."""
        if self._path is None:
            return
        with translated("cannot make it"):
            for directory in reversed((self._path.parent, *self._path.parent.parents)):
                if not directory.exists():
                    directory.mkdir(mode=0o700, exist_ok=True)
            # SQLite gives its journal the modes of the file.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Open a connection in a transaction that is committed on leaving.

        Raises:
            LedgerError: It cannot be reached or refuses.
        """
        with translated("cannot write to it"), self._engine.connect() as connection:
            connection.execution_options(rivet_writes=True)
            with connection.begin():
                self._bound(connection)
                yield connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a connection to read.

        Raises:
            LedgerError: It cannot be reached or refuses.
        """
        with translated("cannot read it"), self._engine.connect() as connection:
            self._bound(connection)
            yield connection

    def _make_engine(self) -> sa.Engine:
        options: dict[str, Any] = {"poolclass": NullPool, "hide_parameters": True}
        settings = self._settings
        if self._path is not None:
            engine = sa.create_engine("sqlite://", creator=self._open_sqlite, **options)
            sa.event.listen(engine, "begin", _begin_sqlite)
            return engine
        if settings is not None and settings.type == "mysql":
            return sa.create_engine(
                "mysql+pymysql://",
                creator=lambda: self._open_mysql(settings),
                isolation_level="READ COMMITTED",  # else two runs may wait for each other's gaps for ever
                **options,
            )
        assert settings is not None  # noqa: S101 - for mypy: without settings there is a path
        return sa.create_engine(
            "postgresql+psycopg://",
            creator=lambda: self._open_postgres(settings),
            isolation_level="READ COMMITTED",  # a lock that is asked of once more shall be seen as it is now
            **options,
        )

    def _open_sqlite(self) -> sqlite3.Connection:
        assert self._path is not None  # noqa: S101 - for mypy
        uri = f"{self._path.absolute().as_uri()}?mode=rw"  # made by make_room, or not at all
        connection = sqlite3.connect(
            uri, uri=True, timeout=self._wait_seconds, isolation_level=None, check_same_thread=False
        )
        # A sync less: after a loss of power the last run may be missing, and a run waits for each sync.
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    def _open_postgres(self, settings: SourceSettings) -> Any:
        import psycopg

        parameters: dict[str, Any] = {
            "host": settings.host,
            "port": settings.port,
            "user": settings.user,
            "password": settings.password.reveal() if settings.password is not None else None,
            "dbname": settings.database,
            "connect_timeout": max(2, round(self._wait_seconds)),  # libpq's least
            "tcp_user_timeout": round(self._wait_seconds * 1000),
            "application_name": "rivet",
            "client_encoding": "UTF8",
            "prepare_threshold": None,  # prepared statements do not survive a transaction pooler
        } | ({} if settings.tls is None else libpq_parameters(settings.tls))
        return psycopg.connect(**parameters)

    def _open_mysql(self, settings: SourceSettings) -> Any:
        import pymysql

        socket = settings.host if (settings.host or "").startswith("/") else None
        tls: dict[str, Any] = {}
        if settings.tls is not None:
            context = ssl_context(settings.tls)
            tls = {"ssl": context} if context is not None else {"ssl_disabled": True}
        return pymysql.connect(
            host="localhost" if socket else settings.host or "localhost",
            port=settings.port or 3306,
            unix_socket=socket,
            user=settings.user,
            password=settings.password.reveal().encode() if settings.password is not None else b"",
            database=settings.database,
            charset="utf8mb4",
            program_name="rivet",
            connect_timeout=max(1, round(self._wait_seconds)),
            read_timeout=self._wait_seconds,
            write_timeout=self._wait_seconds,
            **tls,
        )

    def _bound(self, connection: sa.Connection) -> None:
        """Let no statement wait for longer; a wait for another's lock is what takes long."""
        milliseconds = round(self._wait_seconds * 1000)
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {milliseconds}")
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {milliseconds}")
        elif connection.dialect.name == "mysql":
            connection.exec_driver_sql(
                f"SET SESSION innodb_lock_wait_timeout = {max(1, round(self._wait_seconds))}"
            )


def _begin_sqlite(connection: sa.Connection) -> None:
    """Begin here: the module's own way would take the lock in the middle, where no wait helps any more."""
    writes = connection.get_execution_options().get("rivet_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _label(settings: SourceSettings | None) -> str:
    """Name a database by host and name, without user and password."""
    assert settings is not None  # noqa: S101 - for mypy
    engine = "PostgreSQL" if settings.type == "postgres" else "MySQL"
    return f"{engine} database {settings.database!r} at {settings.host or 'localhost'!r}"
