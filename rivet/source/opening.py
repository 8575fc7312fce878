"""Opens the source that a config names; an engine's drivers are imported only when it is asked for."""

from __future__ import annotations

from rivet.config.settings import SourceSettings
from rivet.source.protocol import Source


def open_source(settings: SourceSettings) -> Source:
    """Give the source of these settings; nothing is connected yet."""
    if settings.type == "postgres":
        from rivet.source.postgres import PostgresSource

        return PostgresSource(settings)
    if settings.type == "mysql":
        from rivet.source.mysql import MysqlSource

        return MysqlSource(settings)
    from rivet.source.sqlite import SqliteSource

    return SqliteSource(settings)
