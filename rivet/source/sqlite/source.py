"""A configured SQLite database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from rivet.config.settings import SourceSettings
from rivet.errors import ConfigError
from rivet.source.sqlite.connecting import SqliteConnection
from rivet.source.sqlite.session import SqliteSession


class SqliteSource:
    """See the protocol of sources.

    Raises:
        ConfigError: The settings name no file.
    """

    def __init__(self, settings: SourceSettings) -> None:
        if settings.path is None:
            raise ConfigError("source: sqlite needs `path`")
        self._path = settings.path
        self._timeout_seconds = settings.connect_timeout_seconds

    @property
    def label(self) -> str:
        """Name the database for people."""
        return f"SQLite database {str(self._path)!r}"

    @contextmanager
    def session(self) -> Iterator[SqliteSession]:
        """Open the file, begin its read transaction, and close it on leaving."""
        with closing(SqliteConnection(self._path, self._timeout_seconds)) as connection:
            yield SqliteSession(connection)
