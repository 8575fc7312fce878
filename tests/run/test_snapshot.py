"""One moment: whatever others write while a run is under way, the tree is the table at one instant."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import rivet.preparing.prepare
from rivet.events import Event
from tests.run.conftest import AnyDatabase
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import NULL, Rows, manifests, rows_by_manifest
from tests.servers.database import Database
from tests.servers.mariadb import MysqlServer
from tests.servers.proxy import run_proxy

# The engine, its timestamp, and a date shifted by days.
ENGINES = {
    "postgres": ("timestamp", "created_at + interval '{} day'"),
    "mariadb": ("datetime(6)", "created_at + INTERVAL {} DAY"),
    "sqlite": ("DATETIME", "datetime(created_at, '{} days')"),
}


def _create(database: AnyDatabase, engine: str, *, options: str = "", doubled: int = 0) -> None:
    """Make 60 rows of five days and of no day, doubled so many times; an index leads with the day."""
    moments = [f"'2024-02-{25 + i % 5} 12:00:00'" if i % 10 else "NULL" for i in range(60)]
    values = ", ".join(f"({i}, {moment}, '{'x' * 1000}')" for i, moment in enumerate(moments))
    database.execute(
        f"CREATE TABLE events (id int PRIMARY KEY, created_at {ENGINES[engine][0]}, note varchar(1000)) "
        f"{options};"
        f"INSERT INTO events VALUES {values}; CREATE INDEX by_date ON events (created_at)"
    )
    for i in range(doubled):
        database.execute(f"INSERT INTO events SELECT id + {60 << i}, created_at, note FROM events")


def _rows_by_day(database: AnyDatabase) -> dict[str, Rows]:
    """Give the rows of each day, as the database has them now."""
    days: dict[str, Rows] = {}
    for key, value, note in database.fetch("SELECT id, created_at, note FROM events"):
        moment = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
        days.setdefault(NULL if moment is None else f"{moment:%Y-%m-%d}", []).append((key, moment, note))
    return {day: sorted(rows, key=repr) for day, rows in days.items()}


class Others:
    """Other people, who move, insert, change and delete rows each time that the run comes to a moment."""

    def __init__(self, database: AnyDatabase, engine: str) -> None:
        self._database = database
        self._shifted = ENGINES[engine][1]
        self._numbers = count()

    def write(self) -> None:
        """Move rows to the day after and before, out of and into NULL; insert, delete and change others."""
        n = next(self._numbers)
        self._database.execute(
            f"UPDATE events SET created_at = {self._shifted.format('+1')} WHERE id % 5 = {n % 5};"
            f"UPDATE events SET created_at = {self._shifted.format('-1')} WHERE id % 7 = {n % 7};"
            f"UPDATE events SET created_at = '2024-02-2{5 + n % 5} 00:00:00' "
            "WHERE created_at IS NULL AND id % 3 = 0;"
            f"UPDATE events SET created_at = NULL WHERE id % 13 = {n % 13};"
            f"INSERT INTO events VALUES ({1_000_000 + n}, '2024-02-25 00:00:00', 'new'),"
            f" ({2_000_000 + n}, '2024-03-09 00:00:00', 'new'), ({3_000_000 + n}, NULL, 'new');"
            f"DELETE FROM events WHERE id % 11 = {n % 11};"
            f"UPDATE events SET note = 'changed {n}' WHERE id % 2 = {n % 2}"
        )

    def listen(self, event: Event) -> None:
        """Write between the probe and the first scan, and while and after each scan is read."""
        if event.kind in ("planned", "progress"):
            self.write()


def _after_describing(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Act at the moment when the session is open and the table described, and nothing has been probed."""
    prepare = rivet.preparing.prepare.prepare

    def acting(*args: Any, **kwargs: Any) -> Any:
        act()
        return prepare(*args, **kwargs)

    monkeypatch.setattr("rivet.exporting.prepare", acting)


@pytest.fixture
def isolation(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """Give the MariaDB server the isolation level that its sessions begin with, unless it is None."""
    level: str | None = request.param
    if level is None:
        yield level
        return
    server: MysqlServer = request.getfixturevalue("mariadb")
    server.execute(f"SET GLOBAL TRANSACTION ISOLATION LEVEL {level}")
    try:
        yield level
    finally:
        server.execute("SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ")


@pytest.mark.usefixtures("isolation")
@pytest.mark.parametrize("more", [{"scan": "per_partition"}, {"max_scan_rows": 20}], ids=["each", "some"])
@pytest.mark.parametrize(
    ("engine", "isolation"),
    [
        ("postgres", None),
        ("mariadb", None),
        ("mariadb", "READ COMMITTED"),
        ("mariadb", "READ UNCOMMITTED"),
        ("sqlite", None),
    ],
    indirect=["isolation"],
)
def test_the_tree_is_the_table_at_one_instant(
    tmp_path: Path,
    database: AnyDatabase,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    more: dict[str, object],
) -> None:
    """Rows that others move, make and delete between all scans are where they were when the run began."""
    root = tmp_path / "tree"
    if engine == "sqlite":
        database.execute("PRAGMA journal_mode = WAL")  # else readers keep writers out
    _create(database, engine)
    before = _rows_by_day(database)
    others = Others(database, engine)

    with database.connect(autocommit=False) as connection:
        # Not committed when the run begins, and so no row of that moment, but of every later one.
        connection.cursor().execute("INSERT INTO events VALUES (9000000, '2024-02-26 00:00:00', 'late')")

        def act() -> None:
            connection.commit()
            others.write()

        _after_describing(monkeypatch, act)
        outcome = run_well(tmp_path, database.source, by_day(root, **more), listener=others.listen)

    assert outcome.scans >= 3
    assert outcome.consistency == "snapshot"
    assert rows_by_manifest(root) == before
    after = _rows_by_day(database)
    assert all(rows != after.get(day) for day, rows in before.items())
    assert {m["source"]["consistency"] for m in manifests(root).values()} == {"snapshot"}


@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_all_connections_see_the_same_instant(tmp_path: Path, database: Database, engine: str) -> None:
    """Rows that others move while connections are made, too, are where they were at one of those moments."""
    _create(database, engine)
    others = Others(database, engine)
    moments = [_rows_by_day(database)]
    turn = threading.Lock()  # connections may be made side by side

    def write() -> None:
        with turn:
            others.write()
            moments.append(_rows_by_day(database))

    def listen(event: Event) -> None:
        if event.kind in ("planned", "progress"):
            write()

    with run_proxy(database.server.host, database.server.port, write) as proxy:
        behind = replace(database, server=replace(database.server, port=proxy.port))
        run_well(tmp_path, behind.source, by_day(tmp_path / "tree", scan="per_partition"), listener=listen)

    assert moments.count(rows_by_manifest(tmp_path / "tree")) == 1


@pytest.mark.parametrize("storage", ["Aria", "MyISAM"])
def test_a_table_without_snapshots_is_read_by_one_statement(
    tmp_path: Path, mariadb_database: Database, monkeypatch: pytest.MonkeyPatch, storage: str
) -> None:
    """Without transactions one scan reads everything, whatever the index, and the manifest says so."""
    root = tmp_path / "tree"
    # More rows than all buffers on the way hold: the server is still sending when others want to write.
    _create(mariadb_database, "mariadb", options=f"ENGINE = {storage}", doubled=9)
    others = Others(mariadb_database, "mariadb")
    writer = threading.Thread(target=others.write)
    before: list[dict[str, Rows]] = []

    def listen(event: Event) -> None:
        if event.kind == "planned":
            others.write()
            before.append(_rows_by_day(mariadb_database))
        elif event.kind == "progress" and not writer.ident:
            writer.start()

    _after_describing(monkeypatch, others.write)
    outcome = run_well(tmp_path, mariadb_database.source, by_day(root, max_scan_rows=1), listener=listen)
    writer.join()

    assert (outcome.scans, outcome.consistency) == (1, "statement")
    assert any("statement" in warning for warning in outcome.warnings)
    assert rows_by_manifest(root) == before[0]
    assert _rows_by_day(mariadb_database) != before[0]
    assert {m["source"]["consistency"] for m in manifests(root).values()} == {"statement"}


@pytest.mark.parametrize(
    "more",
    [{}, {"table": "seen"}, {"query": "SELECT s.* FROM seen s JOIN calm c ON c.id = s.id"}],
    ids=["table", "view", "join"],
)
def test_a_snapshot_that_is_insisted_on_is_refused_where_it_cannot_be_had(
    tmp_path: Path, mariadb_database: Database, more: dict[str, object]
) -> None:
    """Under `consistency: snapshot` one table without transactions stops the export; nothing is created."""
    root = tmp_path / "tree"
    _create(mariadb_database, "mariadb", options="ENGINE = Aria")
    mariadb_database.execute(
        "CREATE TABLE calm (id int PRIMARY KEY) ENGINE = InnoDB; CREATE VIEW seen AS SELECT * FROM events"
    )
    export = by_day(root, **more)
    if "query" in more:
        del export["table"]

    outcome = run_one(tmp_path, {**mariadb_database.source, "consistency": "snapshot"}, export)

    assert (outcome.status, outcome.exit_code) == ("failed", 2)
    assert "events" in str(outcome.error)
    assert "$.source.consistency" in str(outcome.error)
    assert not root.exists()


def test_several_scans_are_refused_without_a_snapshot(tmp_path: Path, mariadb_database: Database) -> None:
    """`scan: per_partition` over a table without transactions stops the export, and nothing is created."""
    root = tmp_path / "tree"
    _create(mariadb_database, "mariadb", options="ENGINE = Aria")

    outcome = run_one(tmp_path, mariadb_database.source, by_day(root, scan="per_partition"))

    assert (outcome.status, outcome.exit_code) == ("failed", 2)
    assert "snapshot" in str(outcome.error)
    assert not root.exists()
