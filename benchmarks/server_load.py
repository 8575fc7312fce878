"""Asks a server what a run has cost it: statements, rows, temporary bytes and connections."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from benchmarks.engines import MARIADB_OPTIONS, POSTGRES_SETTINGS
from tests.servers.database import Database, Server
from tests.servers.mariadb import run_mariadb
from tests.servers.postgres import SETTINGS, run_postgres

_LOOK_SECONDS = 0.02
_PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Load:
    """What one run has cost the server.

    Attributes:
        rows_read: Rows of the table that were read, by scans of it and by its indexes.
        temporary_bytes: Written to temporary files, by sorts that do not fit into memory.
        connections: All that were made.
        at_once: The most that were open at one look.
        longest_snapshot_seconds: The oldest transaction at any look.
    """

    statements: int
    longest_seconds: float
    rows_read: int
    temporary_bytes: int
    connections: int
    at_once: int
    longest_snapshot_seconds: float


class Meter(ABC):
    """Reads a server's own counters for one database; those of PostgreSQL and MariaDB differ in all."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._server = database.server

    @contextmanager
    def measuring(self) -> Iterator[list[Load]]:
        """Give a list that holds, on leaving, what everyone but the harness has cost the server meanwhile."""
        loads: list[Load] = []
        before = self._counters()
        self._forget()
        ended, seen = threading.Event(), [(0, 0.0)]
        watcher = threading.Thread(target=self._watch, args=(ended, seen), daemon=True)
        watcher.start()
        try:
            yield loads
        finally:
            ended.set()
            watcher.join()
        self._wait_for_nobody()
        rows, temporary, connections = (
            after - then for after, then in zip(self._counters(), before, strict=True)
        )
        statements, longest = self._statements()
        at_once, snapshot = (max(values) for values in zip(*seen, strict=True))
        loads.append(Load(statements, longest, rows, temporary, connections, at_once, snapshot))

    def _watch(self, ended: threading.Event, seen: list[tuple[int, float]]) -> None:
        with self._server.connect() as connection, connection.cursor() as cursor:
            while not ended.wait(_LOOK_SECONDS):
                cursor.execute(self._looking())
                count, oldest = cursor.fetchone()
                seen.append((int(count), float(oldest or 0)))

    def _wait_for_nobody(self) -> None:
        """Wait until the last connection has ended, since PostgreSQL counts for good only then."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self._server.fetch(self._looking())[0][0]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"somebody is still connected to {self._database.name}")
            time.sleep(_LOOK_SECONDS)

    @abstractmethod
    def _looking(self) -> str:
        """Write the query for the connections of this moment and the seconds of the oldest transaction."""

    @abstractmethod
    def _counters(self) -> tuple[int, int, int]:
        """Give rows read, temporary bytes and connections, since the server began."""

    @abstractmethod
    def _forget(self) -> None:
        """Have the server forget the statements so far."""

    @abstractmethod
    def _statements(self) -> tuple[int, float]:
        """Give the number of statements since, and the seconds of the longest."""


class PostgresMeter(Meter):
    """What pg_stat_statements and the statistics of tables and databases say."""

    def _looking(self) -> str:
        return (
            "SELECT count(*), max(extract(epoch FROM clock_timestamp() - xact_start)) FROM pg_stat_activity"
            f" WHERE datname = '{self._database.name}' AND usename = '{self._server.user}'"
        )

    def _counters(self) -> tuple[int, int, int]:
        with self._server.connect(self._database.name) as connection:
            read = connection.execute(
                "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) FROM pg_stat_user_tables"
                " WHERE relname = 'events'"
            ).fetchone()[0]
        # This connection is one of the two between which everybody's are counted.
        ((temporary, sessions),) = self._server.fetch(
            f"SELECT temp_bytes, sessions FROM pg_stat_database WHERE datname = '{self._database.name}'"
        )
        self._own = getattr(self, "_own", 0) + 1
        return int(read), int(temporary), int(sessions) - self._own

    def _forget(self) -> None:
        self._server.execute("SELECT pg_stat_statements_reset()")

    def _statements(self) -> tuple[int, float]:
        ((calls, longest),) = self._server.fetch(
            "SELECT coalesce(sum(calls), 0), coalesce(max(max_exec_time), 0) / 1000"
            " FROM pg_stat_statements AS s"
            f" JOIN pg_database AS d ON d.oid = s.dbid AND d.datname = '{self._database.name}'"
            f" JOIN pg_roles AS r ON r.oid = s.userid AND r.rolname = '{self._server.user}'"
        )
        return int(calls), float(longest)


class MariadbMeter(Meter):
    """What the performance schema says."""

    def _looking(self) -> str:
        return (
            "SELECT (SELECT count(*) FROM information_schema.processlist"
            f" WHERE user = '{self._server.user}'),"
            " (SELECT max(timestampdiff(SECOND, trx_started, now())) FROM information_schema.innodb_trx)"
        )

    def _counters(self) -> tuple[int, int, int]:
        ((rows,),) = self._server.fetch(
            "SELECT coalesce(sum(count_fetch), 0) FROM performance_schema.table_io_waits_summary_by_table"
            f" WHERE object_schema = '{self._database.name}' AND object_name = 'events'"
        )
        ((temporary,),) = self._server.fetch(
            "SELECT coalesce(sum(sum_number_of_bytes_write), 0) FROM"
            " performance_schema.file_summary_by_event_name WHERE event_name LIKE '%io_cache'"
        )
        ((connections,),) = self._server.fetch(
            "SELECT coalesce(sum(total_connections), 0) FROM performance_schema.accounts"
            f" WHERE user = '{self._server.user}'"
        )
        return int(rows), int(temporary), int(connections)

    def _forget(self) -> None:
        self._server.execute("TRUNCATE performance_schema.events_statements_summary_by_digest")

    def _statements(self) -> tuple[int, float]:
        ((calls, longest),) = self._server.fetch(
            "SELECT coalesce(sum(count_star), 0), coalesce(max(max_timer_wait), 0) / 1e12"
            " FROM performance_schema.events_statements_summary_by_digest"
            f" WHERE schema_name = '{self._database.name}'"
        )
        return int(calls), float(longest)


def counting_server(engine: str) -> AbstractContextManager[Server]:
    """Run a server of the bench's that also counts statements."""
    if engine == "mariadb":
        return run_mariadb(options=(*MARIADB_OPTIONS, "--performance-schema=ON"))
    counting = {
        "shared_preload_libraries": "pg_stat_statements",
        "pg_stat_statements.max": "20000",
        "track_activity_query_size": "4096",
    }
    return run_postgres(settings=SETTINGS | POSTGRES_SETTINGS | counting)


def meter(engine: str, database: Database) -> Meter:
    """Give the meter of a database on such a server."""
    if engine == "mariadb":
        return MariadbMeter(database)
    database.server.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    return PostgresMeter(database)
