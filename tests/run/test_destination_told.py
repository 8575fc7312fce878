"""What a destination has to say reaches the user, and a destination is closed, however a run ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from rivet.compacting import compact_export
from rivet.destination.memory import MemoryDestination, fail_before
from rivet.errors import DestinationError
from rivet.events import Event
from rivet.run import check, plan, run
from tests.run.nights import make_events
from tests.run.running import by_day, run_one, run_well, settings
from tests.servers.sqlite import SqliteDatabase

WARNING = "unfinished uploads cannot be listed"


class Telling(MemoryDestination):
    """A destination that learns something of itself when it is first listed."""

    @property
    def warnings(self) -> tuple[str, ...]:  # type: ignore[override]
        """Give it."""
        return (WARNING,) if any(o.kind == "list" for o in self.operations) else ()


@pytest.mark.parametrize(("fails", "exit_code"), [(False, 0), (True, 2)])
def test_warnings_of_a_run(
    tmp_path: Path,
    sqlite_database: SqliteDatabase,
    monkeypatch: pytest.MonkeyPatch,
    *,
    fails: bool,
    exit_code: int,
) -> None:
    """Each is an event, once, and stands in the outcome of an export that is complete."""
    make_events(sqlite_database, "sqlite")
    hook = fail_before("publish", 3, DestinationError("broken")) if fails else None
    destination = Telling(hook)
    monkeypatch.setattr("rivet.exporting.open_destination", lambda _: destination)
    heard: list[Event] = []

    outcome = run_one(tmp_path, sqlite_database.source, by_day(tmp_path / "out"), listener=heard.append)

    assert outcome.exit_code == exit_code
    assert [e.message for e in heard if e.kind == "warning"].count(WARNING) == 1
    assert outcome.warnings.count(WARNING) == (0 if fails else 1)
    assert destination.operations[-1].kind == "close"


@pytest.mark.parametrize(("name", "exit_code"), [("events", 0), ("others", 2)])
def test_warnings_of_a_merge(
    tmp_path: Path,
    sqlite_database: SqliteDatabase,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    exit_code: int,
) -> None:
    """They are told like those of a run, where it fails, too."""
    make_events(sqlite_database, "sqlite")
    destination = Telling()
    monkeypatch.setattr("rivet.exporting.open_destination", lambda _: destination)
    export = by_day(tmp_path / "out")
    run_well(tmp_path, sqlite_database.source, export)
    heard: list[Event] = []

    config = settings(tmp_path, sqlite_database.source, export | {"name": name})
    (outcome,) = run(config, listener=heard.append, work=compact_export).exports

    assert outcome.exit_code == exit_code
    assert [e.message for e in heard if e.kind == "warning"] == [WARNING]
    assert outcome.warnings.count(WARNING) == (0 if exit_code else 1)


def test_warnings_of_a_plan_and_a_check(
    tmp_path: Path, sqlite_database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stand with the others, and each destination is closed."""
    make_events(sqlite_database, "sqlite")
    opened: list[Telling] = []

    def open_destination(_: object) -> Telling:
        opened.append(Telling())
        next(opened[-1].list(), None)
        return opened[-1]

    monkeypatch.setattr("rivet.run.open_destination", open_destination)
    config = settings(tmp_path, sqlite_database.source, by_day(tmp_path / "out"))
    silent: list[Event] = []

    planned = plan(config, listener=silent.append)
    checked = check(config, write=True, listener=silent.append)

    assert [WARNING in outcome.warnings for outcome in (*planned, *checked)] == [True, True]
    assert [o.writable for o in (*planned, *checked)] == [None, True]
    assert [each.operations[-1].kind for each in opened] == ["close", "close"]
    assert opened[1].objects == {}


def test_progress_of_publishing(
    tmp_path: Path, sqlite_database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes from none to all partitions that are to be published, with all rows read."""
    make_events(sqlite_database, "sqlite")
    monkeypatch.setattr("rivet.publish.publisher._WAVE_PARTITIONS", 3)
    heard: list[Event] = []

    run_one(tmp_path, sqlite_database.source, by_day(tmp_path / "out"), listener=heard.append)

    told = [e.facts for e in heard if e.kind == "progress" and "published" in e.facts]
    assert [(f["published"], f["to_publish"]) for f in told] == [(0, 7), (3, 7), (6, 7), (7, 7)]
    assert {(f["rows"], f["of"], f["uploaded_bytes"]) for f in told} == {(11, 11, 0)}
