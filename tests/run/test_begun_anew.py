"""A source that fails in the middle of a night: the export is begun anew, or ends with 3 and says why."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest

from rivet.events import Event
from rivet.outcome import ExportOutcome
from rivet.run import plan, run
from tests.run.gates import make_gate, shut_gate
from tests.run.running import by_day, run_well, settings
from tests.run.trees import manifests, rows_by_glob, snapshot
from tests.servers.database import Database
from tests.servers.postgres import SETTINGS, PostgresServer, run_postgres
from tests.servers.process import free_port
from tests.servers.proxy import Cut, Proxy, run_proxy
from tests.servers.standby import PRIMARY, run_standby
from tests.source.server_settings import global_settings

At = Literal["planned", "progress", "published"]

SERVERS = ["postgres", "mariadb"]
ROWS = 4_000
# A view that is cheap to count, and whose last row a scan of it cannot pass while the gate is shut.
CREATE = {
    "postgres": "CREATE TABLE base (id int PRIMARY KEY, created_at timestamp); "
    "INSERT INTO base SELECT i, timestamp '2024-02-26' + i % 5 * interval '1 day' "
    f"FROM generate_series(1, {ROWS}) AS i; "
    "CREATE VIEW events AS SELECT id, created_at, repeat(md5(passed(id)::text), 20) AS note FROM base",
    "mariadb": "CREATE TABLE base (id int PRIMARY KEY, created_at datetime(6)); "
    f"INSERT INTO base SELECT seq, '2024-02-26' + INTERVAL seq % 5 DAY FROM seq_1_to_{ROWS}; "
    "CREATE VIEW events AS SELECT id, created_at, REPEAT(MD5(passed(id)), 20) AS note FROM base",
}
READING: dict[str, At] = {
    "postgres": "planned",
    "mariadb": "progress",
}  # what is told while a scan is under way
LATER = "INSERT INTO base VALUES (0, '2024-02-26')"
KILL = {
    "postgres": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = '{name}' AND application_name = 'rivet'",
    "mariadb": "SELECT id FROM information_schema.processlist WHERE db = '{name}' AND user = 'rivet'",
}


def _nothing() -> None:
    """Do nothing."""


def _create(database: Database, engine: str) -> None:
    make_gate(database, engine, ROWS - 1)  # of the last day
    database.execute(CREATE[engine])


@contextmanager
def _reading(database: Database, engine: str, fault: Callable[[], object]) -> Iterator[Callable[[], None]]:
    """Make a fault come while a scan stands in the middle of its rows, which then may go on."""
    with shut_gate(database, engine) as gate:

        def come() -> None:
            gate.await_scan()
            fault()
            with suppress(psycopg.OperationalError):  # a server that has crashed holds no lock any more
                gate.open()

        yield come


class Night:
    """One run whose source fails when an event is told, and is mended before the next attempt."""

    def __init__(self, directory: Path, source: dict[str, Any], *, retries: int = 2, **export: Any) -> None:
        self._directory = directory
        self._source = source | {"retries": retries}
        self._export = by_day(directory / "tree", **export)
        self._fault: Callable[[], object] = _nothing
        self._at: At = "progress"
        self._mend: Callable[[], object] = _nothing
        self.pauses: list[float] = []
        self.warnings: list[str] = []

    def run(
        self,
        fault: Callable[[], object] = _nothing,
        *,
        at: At = "progress",
        mend: Callable[[], object] = _nothing,
    ) -> ExportOutcome:
        """Run; the fault comes once, the mend before each further attempt."""
        self._fault, self._at, self._mend = fault, at, mend
        outcome = run(
            settings(self._directory, self._source, self._export), listener=self._listen, sleep=self._sleep
        )
        assert outcome.cause is None
        (only,) = outcome.exports
        return only

    def _listen(self, event: Event) -> None:
        if event.kind == "warning":
            self.warnings.append(event.message)
        is_published = event.kind == "progress" and bool(event.facts.get("published"))
        if event.kind == self._at or (self._at == "published" and is_published):
            fault, self._fault = self._fault, _nothing
            fault()

    def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self._mend()


def _kill(database: Database, engine: str, *, query_only: bool = False) -> None:
    """End every connection of the run, as an administrator does."""
    found = database.server.fetch(KILL[engine].format(name=database.name))
    assert found
    if engine == "mariadb":
        for (thread,) in found:
            database.server.execute(f"KILL {'QUERY' if query_only else 'CONNECTION'} {thread}")


def _is_whole(tree: Path, database: Database, attempt: int) -> None:
    """Hold a tree to the database, and all its manifests to one attempt."""
    assert rows_by_glob(tree) == sorted(database.fetch("SELECT id, created_at, note FROM events"), key=repr)
    assert {m["source"].get("attempt", 1) for m in manifests(tree).values()} == {attempt}
    assert not list(tree.rglob("*.staged*"))


@pytest.mark.parametrize("engine", SERVERS)
def test_a_killed_connection_is_begun_anew(tmp_path: Path, database: Database, engine: str) -> None:
    """The tree is that of the new snapshot alone, and says so; the warning names what the server did."""
    _create(database, engine)
    night = Night(tmp_path, database.source)

    with _reading(database, engine, lambda: _kill(database, engine)) as kill:
        outcome = night.run(kill, at=READING[engine], mend=lambda: database.execute(LATER))

    assert (outcome.status, outcome.rows, len(night.pauses)) == ("complete", ROWS + 1, 1)
    _is_whole(tmp_path / "tree", database, attempt=2)
    assert any("begun anew from a new snapshot, attempt 2 of 3" in w for w in outcome.warnings)
    assert any("begins anew from a new snapshot in" in w for w in night.warnings)


@pytest.fixture
def proxy(database: Database) -> Iterator[Proxy]:
    """Run a proxy before the database's server."""
    with run_proxy(database.server.host, database.server.port) as running:
        yield running


@pytest.mark.parametrize(("part", "cut"), [(0.0, "reset"), (0.5, "end"), (0.9, "reset"), (4.0, "end")])
@pytest.mark.parametrize("engine", SERVERS)
def test_a_cut_is_begun_anew_wherever_it_comes(
    tmp_path: Path, database: Database, proxy: Proxy, engine: str, part: float, cut: Cut
) -> None:
    """In the handshake, in the probe and in the read: a line that is cut once costs one more attempt."""
    _create(database, engine)
    source = replace(database, server=replace(database.server, port=proxy.port)).source
    plan(settings(tmp_path, source, by_day(tmp_path / "tree")), listener=lambda _: None)
    proxy.limit(round(proxy.passed * part), cut)
    night = Night(tmp_path, source)

    outcome = night.run(mend=lambda: proxy.limit(None))

    assert (outcome.status, outcome.error, len(night.pauses)) == ("complete", None, 1)
    _is_whole(tmp_path / "tree", database, attempt=2)


@pytest.mark.parametrize("engine", SERVERS)
def test_a_source_that_stays_away_is_an_error(tmp_path: Path, database: Database, engine: str) -> None:
    """After the last attempt the export fails with 3 and says how many there were; the old tree stands."""
    _create(database, engine)
    run_well(tmp_path, database.source, by_day(tmp_path / "tree"))
    before = snapshot(tmp_path / "tree")
    database.execute(LATER)
    night = Night(tmp_path, replace(database, server=replace(database.server, port=free_port())).source)

    outcome = night.run()

    assert (outcome.status, outcome.exit_code, len(night.pauses)) == ("failed", 3, 2)
    assert outcome.error is not None
    assert outcome.error.endswith("(in each of 3 attempts)")
    assert "refused" in outcome.error
    assert snapshot(tmp_path / "tree") == before


SLOW = {"postgres": "SELECT 1 AS id, pg_sleep(60)::text AS s", "mariadb": "SELECT 1 AS id, SLEEP(60) AS s"}


@pytest.mark.parametrize("engine", SERVERS)
def test_a_statement_that_takes_too_long_is_not_begun_anew(
    tmp_path: Path, database: Database, engine: str
) -> None:
    """The same statement would take as long again: exit 3 at once, with the setting that limits it."""
    night = Night(
        tmp_path, database.source | {"statement_timeout_seconds": 0.3}, table=None, query=SLOW[engine],
        partition_by=None, partition_granularity=None,
        destination={"type": "local", "path": str(tmp_path / "tree")},
    )  # fmt: skip

    outcome = night.run()

    assert (outcome.exit_code, night.pauses) == (3, [])
    assert "statement_timeout_seconds" in (outcome.hint or "")
    assert not (tmp_path / "tree").exists()


@pytest.mark.parametrize("engine", SERVERS)
def test_a_query_that_somebody_stopped_is_not_begun_anew(
    tmp_path: Path, database: Database, engine: str
) -> None:
    """An administrator who cancels the query does not find it again a few seconds later."""
    _create(database, engine)
    night = Night(tmp_path, database.source)

    def cancel() -> None:
        if engine == "postgres":
            database.server.execute(
                KILL["postgres"].format(name=database.name).replace("terminate", "cancel")
            )
        else:
            _kill(database, engine, query_only=True)

    with _reading(database, engine, cancel) as fault:
        outcome = night.run(fault, at=READING[engine])

    assert (outcome.exit_code, night.pauses) == (3, [])
    assert "the server cancelled it" in (outcome.hint or "")
    assert manifests(tmp_path / "tree") == {}


def _limits(database: Database, engine: str, stack: ExitStack) -> None:
    """Let the server end, after a second, whatever idles in a transaction or takes its rows slowly."""
    if engine == "mariadb":
        stack.enter_context(global_settings(database, net_write_timeout=1, idle_transaction_timeout=1))
        return
    for name in ("idle_in_transaction_session_timeout", "idle_session_timeout"):
        database.server.execute(f"ALTER DATABASE {database.name} SET {name} = '1s'")


def _outlast(database: Database, engine: str) -> None:
    """Wait until the server has ended somebody else for idling in a transaction."""
    number, there = {
        "postgres": ("pg_backend_pid()", "pg_stat_activity WHERE pid"),
        "mariadb": ("CONNECTION_ID()", "information_schema.processlist WHERE id"),
    }[engine]
    with database.connect(autocommit=False) as idle:
        with idle.cursor() as cursor:
            cursor.execute(f"SELECT {number} FROM base LIMIT 1")
            ((mine,),) = cursor.fetchall()
        deadline = time.monotonic() + 60
        while database.server.fetch(f"SELECT 1 FROM {there} = {mine}"):
            assert time.monotonic() < deadline, "the server lets them idle"
            time.sleep(0.05)


@pytest.mark.parametrize("engine", SERVERS)
def test_a_slow_destination_outlasts_the_servers_limits(
    tmp_path: Path, database: Database, engine: str
) -> None:
    """Limits on idle transactions and slow clients, which a slow upload would meet, do not end the scan."""
    _create(database, engine)
    with ExitStack() as stack:
        _limits(database, engine, stack)
        night = Night(tmp_path, database.source)

        outcome = night.run(lambda: _outlast(database, engine))

    assert (outcome.status, outcome.error, night.pauses) == ("complete", None, [])
    _is_whole(tmp_path / "tree", database, attempt=1)


def test_eager_publishing_is_never_of_two_moments(
    tmp_path: Path, mariadb_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once something is published a failure is not begun anew: the next run reads one moment again."""
    monkeypatch.setattr("rivet.attempt.attempt._EAGER_GROUP_PARTITIONS", 1)
    monkeypatch.setattr("rivet.source.pipe.BLOCK_BYTES", 16 * 1024)  # so that not all is on its way by then
    _create(mariadb_database, "mariadb")
    night = Night(tmp_path, mariadb_database.source, publish="eager", sort="source")

    with _reading(mariadb_database, "mariadb", lambda: _kill(mariadb_database, "mariadb")) as kill:
        outcome = night.run(kill, at="published")

    assert (outcome.exit_code, night.pauses) == (3, [])
    assert manifests(tmp_path / "tree")
    run_well(tmp_path, mariadb_database.source, by_day(tmp_path / "tree"))
    _is_whole(tmp_path / "tree", mariadb_database, attempt=1)


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """Run a server that a test may crash, with few connections."""
    with run_postgres(settings=SETTINGS | {"max_connections": "12"}) as server:
        yield server


def test_a_server_that_crashed_and_came_up_again(tmp_path: Path, own_postgres: PostgresServer) -> None:
    """A crash of the whole server during a read costs as many attempts as it takes to come up."""
    with own_postgres.fresh_database() as database:
        _create(database, "postgres")
        own_postgres.execute("CHECKPOINT")  # the tests' servers do not write their log at each commit
        night = Night(tmp_path, database.source, retries=5)

        def crash() -> None:
            ((pid,),) = database.server.fetch(
                f"SELECT pid FROM pg_stat_activity WHERE datname = '{database.name}'"
                " AND application_name = 'rivet' AND wait_event = 'advisory'"
            )
            os.kill(pid, signal.SIGKILL)

        def await_server() -> None:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                with suppress(psycopg.Error):
                    own_postgres.fetch("SELECT 1")
                    return
                time.sleep(0.05)

        with _reading(database, "postgres", crash) as fault:
            outcome = night.run(fault, at="planned", mend=await_server)

        assert (outcome.status, outcome.error) == ("complete", None)
        assert night.pauses
        _is_whole(tmp_path / "tree", database, attempt=len(night.pauses) + 1)


def test_a_server_without_a_free_connection(tmp_path: Path, own_postgres: PostgresServer) -> None:
    """Where all connections are taken the export waits for its turn, and the warning says so."""
    with own_postgres.fresh_database() as database, ExitStack() as taken:
        _create(database, "postgres")
        with suppress(psycopg.OperationalError):
            while True:
                taken.enter_context(database.connect())
        night = Night(tmp_path, database.source)

        outcome = night.run(mend=taken.close)

        assert (outcome.status, outcome.error, len(night.pauses)) == ("complete", None, 1)
        assert any("connection" in w and "attempt 2 of 3" in w for w in outcome.warnings)
        _is_whole(tmp_path / "tree", database, attempt=2)


def test_a_standby_that_gives_up_rows_of_a_snapshot(tmp_path: Path) -> None:
    """A conflict with recovery, which ends whatever still needs the rows, costs an attempt."""
    with run_postgres(settings=PRIMARY) as primary, primary.fresh_database() as database:
        _create(database, "postgres")
        with run_standby(primary) as standby:
            behind = replace(database, server=standby)
            night = Night(tmp_path, behind.source)

            def remove_old_rows() -> None:
                database.execute("UPDATE base SET id = -id")
                database.execute("VACUUM base")
                primary.execute("CHECKPOINT")
                position = primary.fetch("SELECT pg_current_wal_lsn()")[0][0]
                deadline = time.monotonic() + 60
                while not standby.fetch(f"SELECT pg_last_wal_replay_lsn() >= '{position}'")[0][0]:
                    assert time.monotonic() < deadline, "the standby does not follow"
                    time.sleep(0.01)

            with _reading(behind, "postgres", remove_old_rows) as fault:
                outcome = night.run(fault, at="planned")

            assert (outcome.status, outcome.error, len(night.pauses)) == ("complete", None, 1)
            assert any("conflict with recovery" in w for w in outcome.warnings)
            _is_whole(tmp_path / "tree", behind, attempt=2)
