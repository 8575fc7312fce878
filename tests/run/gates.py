"""A row that a scan cannot pass before a test lets it, so that something happens in the middle of a scan."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.servers.database import Database

_PATIENCE_SECONDS = 120
# A server lets go by itself after so long, so that a test that fails leaves nobody waiting.
_SERVER_SECONDS = 300
_FUNCTION = {
    "postgres": "CREATE FUNCTION passed(i int) RETURNS int LANGUAGE plpgsql STABLE SET lock_timeout = 0 AS"
    " $$ BEGIN IF i = {row} THEN PERFORM pg_advisory_lock_shared(7); PERFORM pg_advisory_unlock_shared(7);"
    " END IF; RETURN i; END $$;",
    "mariadb": "CREATE FUNCTION passed(i int) RETURNS int READS SQL DATA BEGIN IF i = {row} THEN"
    " IF GET_LOCK(CONCAT('gate ', DATABASE()), " + f"{_SERVER_SECONDS}) THEN"
    " DO RELEASE_LOCK(CONCAT('gate ', DATABASE())); END IF; END IF; RETURN i; END",
}
_WAITING = {
    "postgres": "SELECT 1 FROM pg_stat_activity WHERE datname = '{name}' AND wait_event = 'advisory'",
    "mariadb": "SELECT 1 FROM information_schema.processlist WHERE db = '{name}' AND state = 'User lock'",
}


def make_gate(database: Database, engine: str, row: int) -> None:
    """Make the function `passed`, which gives its number, and waits for a shut gate where it is this one."""
    database.execute(_FUNCTION[engine].format(row=row))


class Gate:
    """A gate that is shut.

    Attributes:
        is_shut: Whether scans still wait before it.
    """

    def __init__(self, database: Database, engine: str, connection: Any) -> None:
        self.is_shut = False
        self._database = database
        self._engine = engine
        self._connection = connection
        self._ask(
            "SELECT pg_advisory_lock(7)"
            if engine == "postgres"
            else f"SELECT GET_LOCK('gate {database.name}', {_SERVER_SECONDS})"
        )
        self.is_shut = True

    def await_scan(self) -> None:
        """Wait until a scan stands before the gate."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self._database.server.fetch(_WAITING[self._engine].format(name=self._database.name)):
            assert time.monotonic() < deadline, "no scan came to the gate"
            time.sleep(0.01)

    def open(self) -> None:
        """Let scans pass from now on."""
        if self.is_shut:
            self.is_shut = False
            release = f"SELECT RELEASE_LOCK('gate {self._database.name}')"
            self._ask("SELECT pg_advisory_unlock(7)" if self._engine == "postgres" else release)

    def _ask(self, question: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(question)
            cursor.fetchall()


@contextmanager
def shut_gate(database: Database, engine: str) -> Iterator[Gate]:
    """Shut the gate for as long as the block lasts, or until it is opened."""
    # As the superuser, so that who ends all connections of the ordinary one does not open it.
    with database.server.connect(database.name) as connection:
        yield Gate(database, engine, connection)
