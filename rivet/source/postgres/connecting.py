"""Opens the two connections of a session: one for bulk rows, one for everything else.

asyncpg connects first, since it alone tells by code why a server refuses; psycopg, under SQLAlchemy, then
goes to the very address that answered, as a name may stand for several servers.
"""

from __future__ import annotations

import math
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import asyncpg
import psycopg
import sqlalchemy
import sqlalchemy.exc
from sqlalchemy.pool import NullPool

from rivet.errors import SourceError, SourceUnavailable
from rivet.source.postgres.errors import translated
from rivet.source.postgres.login import Login
from rivet.source.translation import LOCK_WAIT_SECONDS
from rivet.tls import libpq_parameters, ssl_context

_CLOSE_SECONDS = 5.0
# A sort may keep a line silent for longer than a firewall remembers it; without a sign of life a run would
# wait for ever on a line that is gone.
_KEEPALIVE = {"idle": 60, "interval": 15, "count": 4}
_VERSION_WITH_TRANSACTION_TIMEOUT = 17
# A server at work on a sort hears nothing of a run that was killed, and would work on up to its first row:
# from 14 on it can look after the client itself. Where its platform cannot, it refuses the setting.
_VERSION_WITH_CLIENT_CHECK = 14
_CLIENT_CHECK = "SET LOCAL client_connection_check_interval = '2s'"
# Whether a table that one connection of ours has locked can be locked by another shows at once.
_HOLD_MILLISECONDS = 100
SAVEPOINT = "holding"
GIVE_UP = f"ROLLBACK TO SAVEPOINT {SAVEPOINT}; RELEASE SAVEPOINT {SAVEPOINT}"  # and all locks since then
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

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
    ("quote_all_identifiers", "off"),
    ("synchronize_seqscans", "off"),
    ("idle_in_transaction_session_timeout", "0"),
    ("lock_timeout", f"{LOCK_WAIT_SECONDS}s"),  # an ALTER under way must not hold an export for ever
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
        _keep_alive(connection)
        with translated("cannot begin a read-only transaction"):
            await _begin(connection)
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


async def _begin(bulk: Any) -> None:
    """Begin the transaction, watched by the server where it can; a refused setting would end it."""
    if bulk.get_server_version().major >= _VERSION_WITH_CLIENT_CHECK:
        try:
            await bulk.execute(f"{_BEGIN}; {_CLIENT_CHECK}")
        except asyncpg.InvalidParameterValueError:
            await bulk.execute("ROLLBACK")
        else:
            return
    await bulk.execute(_BEGIN)


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
        **{f"keepalives_{name}": value for name, value in _KEEPALIVE.items()},
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
        major_version = driver_of(connection).info.server_version // 10_000
        with translated("cannot begin a read-only transaction"):
            _begin_control(connection, major_version)
        with _joining():
            run_text(connection, _join(snapshot))
        with translated("cannot pin the session's settings"):
            run_text(connection, _pins(login, major_version))
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


def hold_text(from_item: str) -> str:
    """Write the statements that lock what a relation reads, or else fail at once, in a savepoint."""
    return (
        f"SAVEPOINT {SAVEPOINT}; SET LOCAL lock_timeout = '{_HOLD_MILLISECONDS}ms';"
        f" EXPLAIN SELECT 1 FROM {from_item};"
        f" SET LOCAL lock_timeout = '{dict(_PINNED)['lock_timeout']}'; RELEASE SAVEPOINT {SAVEPOINT}"
    )


def planning_by_index(*, on: bool) -> str:
    """Write the statements that let the server read in the order of an index, or choose again.

    Where a table lies in another order, it may think that to sort all of it for each page is faster.
    """
    value = "off" if on else "DEFAULT"
    return "; ".join(f"SET LOCAL enable_{way} = {value}" for way in ("seqscan", "bitmapscan", "sort"))


def _begin_control(connection: sqlalchemy.Connection, major_version: int) -> None:
    """Begin as `_begin` does; without the setting, the next statement begins the transaction by itself."""
    if major_version < _VERSION_WITH_CLIENT_CHECK:
        return
    try:
        run_text(connection, _CLIENT_CHECK)
    except sqlalchemy.exc.DBAPIError as exc:
        if not isinstance(exc.orig, psycopg.errors.InvalidParameterValue):
            raise
        connection.rollback()


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


def _keep_alive(bulk: Any) -> None:
    line = bulk._transport.get_extra_info("socket")  # noqa: SLF001  there is no public way
    if line is None or line.family == socket.AF_UNIX:
        return
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, option in (("idle", "TCP_KEEPIDLE"), ("interval", "TCP_KEEPINTVL"), ("count", "TCP_KEEPCNT")):
        if hasattr(socket, option):  # Linux, and most others
            line.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), _KEEPALIVE[name])


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
