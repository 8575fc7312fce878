"""A configured PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from rivet.config.settings import SourceSettings
from rivet.source.postgres.bulk import BulkReader
from rivet.source.postgres.connecting import control_connection
from rivet.source.postgres.login import login_of, place_of
from rivet.source.postgres.session import PostgresSession


class PostgresSource:
    """See the protocol of sources."""

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings

    @property
    def label(self) -> str:
        """Name the database for people, without a secret."""
        host, port = place_of(self._settings)
        return f"PostgreSQL database {self._settings.database!r} at {host}:{port}"

    @contextmanager
    def session(self) -> Iterator[PostgresSession]:
        """Open both connections in one snapshot, and close them on leaving."""
        login, readers = login_of(self._settings), self._settings.parallel
        with closing(BulkReader(login, None, readers)) as reader:
            snapshot = reader.export_snapshot()
            with (
                control_connection(login, reader.address, snapshot) as connection,
                closing(PostgresSession(login, connection, reader, readers)) as session,
            ):
                yield session
