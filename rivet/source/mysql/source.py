"""A configured MySQL or MariaDB database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from rivet.config.settings import SourceSettings, Tls
from rivet.source.mysql.bulk import SnapshotReader
from rivet.source.mysql.connecting import DEFAULT_PORT, Control, is_encrypted, login_of
from rivet.source.mysql.errors import translated
from rivet.source.mysql.session import MysqlSession
from rivet.tls import ssl_context


class MysqlSource:
    """See the protocol of sources."""

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings

    @property
    def label(self) -> str:
        """Name the database for people, without a secret."""
        settings = self._settings
        port = "" if (settings.host or "").startswith("/") else f":{settings.port or DEFAULT_PORT}"
        return f"MySQL/MariaDB database {settings.database or ''!r} at {settings.host or 'localhost'}{port}"

    @contextmanager
    def session(self) -> Iterator[MysqlSession]:
        """Begin a snapshot, and end it on leaving."""
        control = Control(login_of(self._settings))
        with control.connection() as connection:
            with translated("cannot ask for the server's version"):
                version = str(connection.exec_driver_sql("SELECT VERSION()").scalar_one())
            # Where the config says nothing of TLS, PyMySQL takes it if the server has it; asyncmy follows.
            secured = control.login.tls or Tls("require" if is_encrypted(connection) else "disable")
        engine = "mariadb" if "mariadb" in version.lower() else "mysql"
        context, readers = ssl_context(secured), self._settings.parallel
        with closing(SnapshotReader(control, context)) as reader:
            yield MysqlSession(control, reader, engine, lambda: SnapshotReader(control, context, readers))
