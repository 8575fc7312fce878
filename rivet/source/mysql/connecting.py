"""Opens the connections of a session: one of asyncmy's for the snapshot, PyMySQL's for all else.

PyMySQL, under SQLAlchemy, connects first: where TLS is asked for and the server has none, it says so. Each
use has a connection of its own, since one that idles for the hours of a scan may be cut on the way.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncmy
import pymysql
import sqlalchemy
from asyncmy.cursors import SSCursor
from sqlalchemy.pool import NullPool

from rivet.config.settings import SourceSettings, Tls
from rivet.errors import SourceDenied, SourceUnavailable
from rivet.source.mysql.errors import translated
from rivet.source.mysql.pinning import KNOWN_VARIABLES, NO_LIMIT, pins
from rivet.tls import ssl_context

DEFAULT_PORT = 3306
_SOCKETS = ("mysqld.sock", "mysql.sock", "mariadb.sock", "socket")
_CONTROL_SECONDS = 60.0
_CLOSE_SECONDS = 5.0

_READ_ONLY = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_SNAPSHOT = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
_CIPHER = "SHOW SESSION STATUS LIKE 'Ssl_cipher'"

Row = tuple[bytes | None, ...]


@dataclass(frozen=True, slots=True)
class Login:
    """Where and as whom to connect, every part decided.

    Attributes:
        socket: The path of a Unix socket, which goes before host and port, or None.
        password: In UTF-8: servers compare bytes, and the drivers would write text in latin1.
    """

    host: str
    port: int
    socket: str | None
    user: str | None
    password: bytes
    database: str | None
    tls: Tls | None
    connect_timeout_seconds: float
    statement_timeout_seconds: float

    def __repr__(self) -> str:
        return f"{self.database or ''!r} at {self.socket or f'{self.host}:{self.port}'}"

    @property
    def parameters(self) -> dict[str, Any]:
        """Give what both drivers call by the same names."""
        return {
            "host": self.host,
            "port": self.port,
            "unix_socket": self.socket,
            "user": self.user,
            "password": self.password,
            "database": self.database,
            "charset": "utf8mb4",
            "autocommit": True,
            "program_name": "rivet",
        }


def login_of(settings: SourceSettings) -> Login:
    """Decide every part that the settings leave open.

    Raises:
        SourceDenied: TLS is asked for over a Unix socket.
        SourceUnavailable: There is no such socket.
    """
    host = settings.host or "localhost"
    socket = _socket_of(host) if host.startswith("/") else None
    if socket is not None and settings.tls is not None and settings.tls.mode != "disable":
        raise SourceDenied(
            f"tls mode {settings.tls.mode!r} cannot be had over the Unix socket {socket!r}",
            hint="name a host, or take `tls` out",
        )
    return Login(
        host="localhost" if socket else host,
        port=settings.port or DEFAULT_PORT,
        socket=socket,
        user=settings.user,
        password=settings.password.reveal().encode() if settings.password is not None else b"",
        database=settings.database,
        tls=settings.tls,
        connect_timeout_seconds=settings.connect_timeout_seconds,
        statement_timeout_seconds=settings.statement_timeout_seconds,
    )


class Control:
    """Opens connections for everything that is not read from the snapshot."""

    def __init__(self, login: Login) -> None:
        self.login = login
        self._context = ssl_context(login.tls) if login.tls is not None else None
        # The password goes to the driver by the function alone: a URL could be shown.
        self._engine = sqlalchemy.create_engine(
            "mysql+pymysql://", creator=self._open, poolclass=NullPool, hide_parameters=True
        )

    @contextmanager
    def connection(self) -> Iterator[sqlalchemy.Connection]:
        """Open a connection, read-only and pinned, and close it on leaving.

        Raises:
            SourceDenied: Wrong credentials, rights or TLS.
            SourceUnavailable: Unreachable or timed out.
        """
        with translated(f"cannot connect to {self.login!r}"):
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            yield connection
        finally:
            with suppress(Exception):  # nothing on it is worth an error any more
                connection.close()

    def kill(self, thread_id: int, *, query_only: bool) -> None:
        """Stop what another connection of this user does, or end it altogether."""
        with translated("cannot stop the query"), self.connection() as connection:
            connection.exec_driver_sql(f"KILL {'QUERY' if query_only else 'CONNECTION'} {thread_id}")

    def _open(self) -> Any:
        login = self.login
        tls: dict[str, Any] = {"ssl": self._context}
        if login.tls is not None and login.tls.mode == "disable":
            tls = {"ssl_disabled": True}
        driver: Any = pymysql.connect(
            **login.parameters,
            **tls,
            connect_timeout=login.connect_timeout_seconds,
            read_timeout=login.connect_timeout_seconds,
        )
        try:
            # The handshake is as quick as connecting; a look at the catalogue may wait for a lock.
            driver._read_timeout = max(_CONTROL_SECONDS, login.connect_timeout_seconds)  # noqa: SLF001
            with driver.cursor() as cursor:
                cursor.execute(NO_LIMIT)
                cursor.execute(_CIPHER)
                _check_cipher(login, cursor.fetchall())
                cursor.execute(KNOWN_VARIABLES)
                cursor.execute(pins(dict(cursor.fetchall()), login.statement_timeout_seconds))
                cursor.execute(_READ_ONLY)
        except BaseException:
            driver.close()
            raise
        return driver


async def open_snapshot(login: Login, context: ssl.SSLContext | None) -> Any:
    """Open the connection that probes and reads, inside its snapshot.

    Raises:
        SourceDenied: Wrong credentials, rights or TLS.
        SourceUnavailable: Unreachable or timed out.
    """
    with translated(f"cannot connect to {login!r}"):
        connection: Any = await asyncio.wait_for(
            asyncmy.connect(
                **login.parameters,
                connect_timeout=login.connect_timeout_seconds,
                ssl=context,
                use_unicode=False,
                conv={},
            ),
            login.connect_timeout_seconds,
        )
    try:
        with translated("cannot begin a snapshot"):
            await fetch_all(connection, "SET NAMES utf8mb4")  # which PyMySQL does by itself
            await fetch_all(connection, NO_LIMIT)
            _check_cipher(login, await fetch_all(connection, _CIPHER))
            known = await fetch_all(connection, KNOWN_VARIABLES)
            variables = {(name or b"").decode(): (value or b"").decode() for name, value in known}
            await fetch_all(connection, pins(variables, login.statement_timeout_seconds))
            # Under READ COMMITTED the server would give no snapshot, and no error.
            await fetch_all(connection, _READ_ONLY)
            await fetch_all(connection, _SNAPSHOT)
    except BaseException:
        connection.close()
        raise
    return connection


async def close_snapshot(connection: Any) -> None:
    """Close the connection; it is gone afterwards, whatever happens."""
    with suppress(Exception):
        await asyncio.wait_for(connection.ensure_closed(), _CLOSE_SECONDS)


async def fetch_all(connection: Any, statement: str) -> list[Row]:
    """Run a statement on the snapshot's connection and give its rows, every value as the server's text."""
    cursor = connection.cursor(SSCursor)  # the other one logs warnings, which may hold rows
    await cursor.execute(statement)
    return [] if cursor.description is None else await cursor.fetchall()


def is_encrypted(connection: sqlalchemy.Connection) -> bool:
    """Tell whether a connection is secured by TLS."""
    with translated("cannot ask for the state of the connection"):
        return any(row[1] for row in connection.exec_driver_sql(_CIPHER))


def driver_of(connection: sqlalchemy.Connection) -> pymysql.Connection[Any]:
    """Give PyMySQL's own connection under SQLAlchemy's."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, pymysql.Connection):
        raise TypeError(f"expected PyMySQL's connection, got {type(driver)!r}")
    return driver


def run_text(connection: sqlalchemy.Connection, statement: str) -> sqlalchemy.CursorResult[Any]:
    """Run a statement as it stands: neither SQLAlchemy nor the driver looks for parameters in it."""
    return connection.exec_driver_sql(statement, execution_options={"no_parameters": True})


def _check_cipher(login: Login, status: Iterable[Any]) -> None:
    """Refuse clear text where TLS is asked for, whatever the driver made of it."""
    if login.tls is None or login.tls.mode == "disable":
        return
    if not any(row[1] for row in status):
        raise SourceDenied(
            f"the connection to {login!r} is in clear text, but tls mode is {login.tls.mode!r}",
            hint="turn TLS on at the server, or write `tls: {mode: disable}` under `source`",
        )


def _socket_of(path: str) -> str:
    """Give the socket that a path names, or the one in the directory that it names."""
    place = Path(path)
    try:
        tried = [place / name for name in _SOCKETS] if place.is_dir() else [place]
        found = next((file for file in tried if file.is_socket()), None)
    except OSError as exc:
        problem = (exc.strerror or "it cannot be opened").lower()
        raise SourceDenied(
            f"no server's socket can be looked for at {path!r}: {problem}",
            hint="give this user the right, or write another host",
        ) from exc
    if found is None:
        raise SourceUnavailable(
            f"no server's socket at {path!r}, tried {', '.join(file.name for file in tried)}",
            hint="start the server, or write the path of its socket as host",
        )
    return str(found)
