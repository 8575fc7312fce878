"""Opens the two connections of a session: one for bulk rows, one for everything else.

asyncpg connects first, since it alone tells by code why a server refuses; psycopg, under SQLAlchemy, then
goes to the very address that answered, as a name may stand for several servers. The environment names no
host, port, user or database here; only a password that the config leaves out may come from PGPASSWORD or
a password file.
"""

from __future__ import annotations

import getpass
import math
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import sqlalchemy
from sqlalchemy.pool import NullPool

from rivet.config.settings import SourceSettings, Tls
from rivet.errors import SourceDenied, SourceError, SourceUnavailable
from rivet.source.postgres.errors import translated
from rivet.source.tls import libpq_parameters, ssl_context

_DEFAULT_PORT = 5432
_SOCKET_DIRECTORIES = ("/run/postgresql", "/var/run/postgresql", "/tmp")  # noqa: S108  libpq's and Debian's
_CLOSE_SECONDS = 5.0
_VERSION_WITH_TRANSACTION_TIMEOUT = 17

# Everything that changes the text of a value or the order of unsorted rows, and the timeouts that would end
# a long export; for this transaction only, so that a transaction pooler hands nothing on.
_PINNED = (
    ("TimeZone", "UTC"),
    ("DateStyle", "ISO, MDY"),
    ("IntervalStyle", "iso_8601"),
    ("extra_float_digits", "3"),
    ("bytea_output", "hex"),
    ("lc_monetary", "C"),
    ("client_encoding", "UTF8"),
    ("standard_conforming_strings", "on"),
    ("synchronize_seqscans", "off"),
    ("idle_in_transaction_session_timeout", "0"),
)


@dataclass(frozen=True, slots=True)
class Login:
    """Where and as whom to connect, every part decided.

    Attributes:
        host: A name, an address, or the directory of a Unix socket.
        password: Or None, which leaves it to the drivers' password files.
    """

    host: str
    port: int
    user: str
    database: str
    password: str | None
    tls: Tls | None
    connect_timeout_seconds: float
    statement_timeout_seconds: float

    def __repr__(self) -> str:
        return f"{self.database!r} at {self.host}:{self.port}"


def login_of(settings: SourceSettings) -> Login:
    """Decide every part that the settings leave open.

    Raises:
        SourceDenied: TLS is asked for where there can be none, or only by an environment variable.
    """
    port = settings.port or _DEFAULT_PORT
    host = settings.host or _local_host(port)
    if settings.tls is None:
        wanted = os.environ.get("PGSSLMODE", "")
        if wanted in ("require", "verify-ca", "verify-full"):
            raise SourceDenied(
                f"PGSSLMODE is {wanted!r}, but the config says nothing of TLS",
                hint=f"write `tls: {{mode: {wanted}}}` under `source`",
            )
    elif settings.tls.mode != "disable" and host.startswith("/"):
        raise SourceDenied(
            f"tls mode {settings.tls.mode!r} cannot be had over the Unix socket in {host!r}",
            hint="name a host, or take `tls` out",
        )
    user = settings.user or getpass.getuser()
    return Login(
        host=host,
        port=port,
        user=user,
        database=settings.database or user,
        password=settings.password.reveal() if settings.password is not None else None,
        tls=settings.tls,
        connect_timeout_seconds=settings.connect_timeout_seconds,
        statement_timeout_seconds=settings.statement_timeout_seconds,
    )


async def open_bulk(login: Login, snapshot: str | None) -> Any:
    """Open the connection for bulk rows, inside its transaction; it joins a snapshot or begins one.

    Raises:
        SourceDenied: Wrong credentials, rights or TLS.
        SourceUnavailable: Unreachable or timed out.
    """
    secured: ssl.SSLContext | bool | str = "prefer"
    if login.tls is not None:
        secured = ssl_context(login.tls) or False
    with translated(f"cannot connect to {login!r}"):
        connection = await asyncpg.connect(
            host=login.host,
            port=login.port,
            user=login.user,
            password=login.password,
            database=login.database,
            ssl=secured,
            timeout=login.connect_timeout_seconds,
            statement_cache_size=0,  # prepared statements do not survive a transaction pooler
            server_settings={"application_name": "rivet"},
            target_session_attrs="any",
        )
    try:
        with translated("cannot begin a read-only transaction"):
            await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        if snapshot is not None:
            with _joining():
                await connection.execute(_join(snapshot))
        with translated("cannot pin the session's settings"):
            await connection.execute(_pins(login, connection.get_server_version().major))
            if connection.get_settings().server_encoding == "SQL_ASCII":
                # Bytes of no encoding: as LATIN1 the server lets them through, and the decoder, which
                # knows the column, checks them.
                await connection.execute("SET LOCAL client_encoding = 'LATIN1'")
    except BaseException:
        connection.terminate()
        raise
    return connection


async def close_bulk(connection: Any) -> None:
    """Close the connection, cancelling what it is doing; it is gone afterwards, whatever happens."""
    with suppress(Exception):
        await connection.close(timeout=_CLOSE_SECONDS)


def address_of(bulk: Any) -> str | None:
    """Give the address that answered, or None over a Unix socket."""
    peer = bulk._transport.get_extra_info("peername")  # noqa: SLF001  there is no public way
    return peer[0] if isinstance(peer, tuple) else None


@contextmanager
def control_connection(login: Login, address: str | None, snapshot: str) -> Iterator[sqlalchemy.Connection]:
    """Open the connection for everything that is not bulk, inside the snapshot.

    Raises:
        SourceDenied: Wrong credentials, rights or TLS.
        SourceUnavailable: Unreachable or timed out, or another server than the one of the snapshot.
    """
    parameters: dict[str, Any] = {
        "host": login.host,
        "hostaddr": address or "",
        "port": login.port,
        "user": login.user,
        "password": login.password,
        "dbname": login.database,
        "connect_timeout": max(2, math.ceil(login.connect_timeout_seconds)),  # libpq's least
        "application_name": "rivet",
        "client_encoding": "UTF8",
        "options": "",  # else PGOPTIONS
        "target_session_attrs": "any",
        "gssencmode": "disable",
        "prepare_threshold": None,
    } | (libpq_parameters(login.tls) if login.tls is not None else {"sslmode": "prefer"})
    # The password goes to the driver by the function alone: a URL could be shown.
    engine = sqlalchemy.create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(**parameters),
        poolclass=NullPool,
        use_native_hstore=False,
        hide_parameters=True,
    )
    with translated(f"cannot connect to {login!r}"):
        connection = engine.connect().execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
    try:
        with _joining():
            run_text(connection, _join(snapshot))
        with translated("cannot pin the session's settings"):
            run_text(connection, _pins(login, driver_of(connection).info.server_version // 10_000))
        yield connection
    finally:
        with suppress(Exception):  # it only ends a transaction that read
            connection.close()


def driver_of(connection: sqlalchemy.Connection) -> psycopg.Connection[Any]:
    """Give psycopg's own connection under SQLAlchemy's."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError(f"expected psycopg's connection, got {type(driver)!r}")
    return driver


def run_text(connection: sqlalchemy.Connection, statement: str) -> sqlalchemy.CursorResult[Any]:
    """Run a statement as it stands: neither SQLAlchemy nor the driver looks for parameters in it."""
    return connection.exec_driver_sql(statement, execution_options={"no_parameters": True})


@contextmanager
def _joining() -> Iterator[None]:
    """Say what it means when a snapshot cannot be joined: the server that has it was not reached."""
    try:
        with translated("cannot join the snapshot"):
            yield
    except SourceError as exc:
        raise SourceUnavailable(
            str(exc), hint="both connections must reach one server; behind a balancer, name the server itself"
        ) from exc


def _join(snapshot: str) -> str:
    return f"SET TRANSACTION SNAPSHOT '{snapshot}'"


def _pins(login: Login, major_version: int) -> str:
    settings = list(_PINNED)
    if major_version >= _VERSION_WITH_TRANSACTION_TIMEOUT:
        settings.append(("transaction_timeout", "0"))
    if login.statement_timeout_seconds:
        milliseconds = max(1, round(login.statement_timeout_seconds * 1000))
        settings.append(("statement_timeout", str(milliseconds)))
    return "; ".join(f"SET LOCAL {name} = '{value}'" for name, value in settings)


def _local_host(port: int) -> str:
    for directory in _SOCKET_DIRECTORIES:
        if (Path(directory) / f".s.PGSQL.{port}").exists():
            return directory
    return "localhost"
