"""Runs whose config names a ledger's database lock each other out there, and need it for nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from rivet import locking
from rivet.config.settings import StateSettings
from rivet.config.state import state_settings
from rivet.ledger.connecting import Database
from rivet.ledger.records import LedgerRecords
from rivet.ledger.schema import locks
from rivet.lock.holder import Holder, decode
from rivet.lock.object_lock import ObjectLock
from rivet.lock.turn import Turn
from tests.destination.stores import RUN
from tests.faults.planted import assert_no_secret
from tests.lock.holding import ELSEWHERE, NOW, SLOW
from tests.run.command import Told, run_command, write_config
from tests.run.conftest import AnyDatabase
from tests.run.running import by_day
from tests.run.trees import rows_by_manifest, snapshot
from tests.servers.sqlite import SqliteDatabase

LOCK = "_rivet_lock.json"
PATIENCE = 60.0
TABLE = """
    CREATE TABLE events (id INTEGER PRIMARY KEY, created_at DATETIME);
    INSERT INTO events VALUES (1, '2023-01-01 00:00:00'), (2, '2023-01-02 12:00:00');
"""


class Runs:
    """Runs of one config, with a ledger in some database."""

    def __init__(self, directory: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = directory / "tree"
        self.database = SqliteDatabase(directory / "events.db")
        self.database.execute(TABLE)
        self._config = write_config(
            directory, self.database.source, by_day(self.root), state={"url_env": "LEDGER"}
        )
        settings, problems = state_settings({"url_env": "LEDGER"}, directory, {"LEDGER": url})
        assert not problems
        self.state: StateSettings = settings
        self._capsys = capsys

    def run(self) -> Told:
        """Run, and see that nothing secret was said."""
        told = run_command(self._capsys, "run", "--config", self._config, "--json")
        assert_no_secret("\n".join(told.lines), str(told.document))
        return told

    def locks(self) -> list[Holder | None]:
        """Give the locks in the ledger."""
        with Database(self.state, {}, PATIENCE).reading() as connection:
            return [decode(text.encode()) for text in connection.scalars(sa.select(locks.c.data)).all()]

    def change(self, statement: Any) -> None:
        """Change the ledger behind its back."""
        with Database(self.state, {}, PATIENCE).writing() as connection:
            connection.execute(statement)

    def assert_right(self) -> None:
        """Assert that the tree is the table, and no lock is left."""
        rows = sum(len(part) for part in rows_by_manifest(self.root).values())
        assert rows == len(self.database.fetch("SELECT * FROM events"))
        assert not (self.root / LOCK).exists()


@pytest.fixture
def runs(
    engine: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Runs:
    """Give runs whose ledger is in the engine that the test names."""
    url = f"sqlite:///{tmp_path}/ledger.sqlite"
    if engine != "sqlite":
        database: AnyDatabase = request.getfixturevalue("database")
        assert not isinstance(database, SqliteDatabase)
        url = database.url
    monkeypatch.setenv("LEDGER", url)
    monkeypatch.setattr(locking, "WAIT_SECONDS", PATIENCE)
    return Runs(tmp_path, url, capsys)


@pytest.fixture
def once_held(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Give a function that has something done when a run has its lock, and nothing is changed yet."""

    def arrange(act: Callable[[], object]) -> None:
        hold = Turn.hold

        def held(turn: Turn) -> None:
            hold(turn)
            act()

        monkeypatch.setattr(Turn, "hold", held)

    return arrange


every_engine = pytest.mark.parametrize("engine", ["sqlite", "postgres", "mariadb"])
one_engine = pytest.mark.parametrize("engine", ["postgres"])


def _warnings(told: Told) -> list[str]:
    return [warning for warning in told.exports[0]["warnings"] if "lock" in warning]


@every_engine
def test_a_run_has_both_locks_while_it_is_at_work(
    runs: Runs, once_held: Callable[[Callable[[], object]], None]
) -> None:
    """That of the ledger, by its run id, and that beside the tree; with its end both are gone."""
    seen: list[tuple[list[str], bool]] = []

    def look() -> None:
        held = [holder.run_id for holder in runs.locks() if holder is not None]
        seen.append((held, (runs.root / LOCK).exists()))

    once_held(look)
    told = runs.run()
    assert told.exit_code == 0, told
    assert told.document is not None
    assert seen == [([told.document["run_id"]], True)]
    assert (runs.locks(), _warnings(told)) == ([], [])
    runs.assert_right()


@every_engine
def test_a_run_elsewhere_keeps_it_out(runs: Runs) -> None:
    """Though nothing beside the tree says so: exit 5 with its name, and the tree stays as it was."""
    _hold_elsewhere(runs)
    before = snapshot(runs.root)
    runs.database.execute("INSERT INTO events VALUES (3, NULL)")
    told = runs.run()
    assert told.exit_code == 5
    assert f"is locked by run {RUN!r} on host 'db2', process 7" in told.errors[0]
    assert snapshot(runs.root) == before

    runs.change(locks.update().values(written_at=locks.c.written_at - 7200))
    assert runs.run().exit_code == 0
    assert runs.locks() == []
    runs.assert_right()


@every_engine
def test_a_run_whose_place_was_taken_there_publishes_nothing(
    runs: Runs, once_held: Callable[[Callable[[], object]], None]
) -> None:
    """It reads the lock before it publishes, and ends with 5; the lock is left to whoever has it."""
    assert runs.run().exit_code == 0
    before = snapshot(runs.root)
    runs.database.execute("INSERT INTO events VALUES (3, NULL)")
    other = Holder("other", ELSEWHERE, NOW, NOW, "their token")
    once_held(lambda: runs.change(locks.update().values(data=other.encode().decode(), version="theirs")))
    told = runs.run()

    assert told.exit_code == 5
    assert "another run has taken the place of this one" in told.errors[0]
    assert snapshot(runs.root) == before
    assert runs.locks() == [other]


@every_engine
def test_a_ledger_that_is_lost_on_the_way_breaks_no_run(
    runs: Runs, once_held: Callable[[Callable[[], object]], None]
) -> None:
    """The lock beside the tree goes on to keep others out, and the run warns once."""
    once_held(lambda: runs.change(sa.schema.DropTable(locks)))
    told = runs.run()

    assert told.exit_code == 0, told
    (warning,) = _warnings(told)
    assert "is not, or no longer, in the ledger's database: cannot read it: " in warning
    assert "runs are kept apart by the one beside the tree alone" in warning
    runs.assert_right()


@one_engine
def test_a_ledger_out_of_reach_breaks_no_run(
    runs: Runs,
    monkeypatch: pytest.MonkeyPatch,
    once_held: Callable[[Callable[[], object]], None],
) -> None:
    """Nothing listens where the config says: the lock beside the tree is taken, and the run warns once."""
    seen: list[bool] = []
    once_held(lambda: seen.append((runs.root / LOCK).exists()))
    monkeypatch.setenv("LEDGER", "postgresql://rivet:secret@127.0.0.1:9/ledger")
    told = runs.run()

    assert told.exit_code == 0, told
    assert seen == [True]
    assert len(_warnings(told)) == 1
    assert "secret" not in str(told)
    runs.assert_right()


def _hold_elsewhere(runs: Runs) -> None:
    """Have a run of another host hold the lock of this tree, under the name that runs here give it."""
    names: list[str] = []
    create = LedgerRecords.create

    def noted(records: LedgerRecords, name: str, data: bytes, *, private: bool = False) -> str | None:
        names.append(name)
        return create(records, name, data, private=private)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LedgerRecords, "create", noted)
        assert runs.run().exit_code == 0
    (name,) = names
    records = LedgerRecords(runs.state, {}, wait_seconds=PATIENCE)
    lock = ObjectLock(records, name, RUN, tree="", clock=lambda: NOW, timing=SLOW, process=ELSEWHERE)
    lock.await_turn()
    assert lock.hold()
