"""Changes to a server's global settings that a test takes back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.servers.database import Database


@contextmanager
def global_settings(database: Database, **values: object) -> Iterator[None]:
    """Set variables of MySQL or MariaDB for all new connections, and set them back on leaving."""
    server = database.server
    before = {name: server.fetch(f"SELECT @@global.{name}")[0][0] for name in values}
    try:
        for name, value in values.items():
            server.execute(f"SET GLOBAL {name} = {_literal(value)}")
        yield
    finally:
        for name, value in before.items():
            server.execute(f"SET GLOBAL {name} = {_literal(value)}")


def _literal(value: object) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
    return str(value)
