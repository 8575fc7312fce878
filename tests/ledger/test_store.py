"""What is put into a ledger, what is pruned, and how its tables change, in each kind of database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from rivet.config.settings import StateSettings
from rivet.errors import LedgerError
from rivet.ledger import schema, store
from rivet.ledger.connecting import Database
from rivet.ledger.entries import ChangeEntry, HistoryEntry
from tests.ledger.conftest import Open
from tests.ledger.entries import export, run

pytestmark = pytest.mark.parametrize("engine", ["sqlite", "postgres", "mariadb"])

HOSTILE = "é 日 😀 '\"; DROP TABLE rivet_runs; -- \x1b[2J\n\\"


def test_what_is_put_is_read_back(opened: Open) -> None:
    """Every field comes back as it was, the latest run first, whatever stands in the texts."""
    ended = run(2, finished_at="2026-01-01T01:00:00.000000Z", exit_code=3, source=HOSTILE)
    failed = export(
        1,
        HOSTILE,
        status="failed",
        exit_code=3,
        rows=None,
        error=HOSTILE,
        hint=HOSTILE,
        duration_seconds=0.25,
    )
    changes = (ChangeEntry("2026-01-01", "written", 2**40, 2**41), ChangeEntry(None, "removed"))
    whole = export(0, "Events", rows=2**40, bytes_written=2**50, consistency="snapshot", changes=changes)
    opened().put(run(1), export(), make=True)
    opened().put(ended, failed, make=True)
    opened().put(ended, whole, make=True)

    assert opened().recent(9) == [
        HistoryEntry(ended, failed),
        HistoryEntry(ended, whole),
        HistoryEntry(run(1), export()),
    ]
    assert opened().recent(1) == [HistoryEntry(ended, failed)]
    assert opened().recent(9, names=["events"]) == [HistoryEntry(run(1), export())]
    assert opened().recent(9, trees=[("Events", "/srv/Events/"), ("events", "/elsewhere/")]) == [
        HistoryEntry(ended, whole)
    ]
    assert opened().recent(9, trees=[]) == []


def test_what_is_put_again_replaces_what_was(opened: Open) -> None:
    """An export that was begun and then ended stands there once."""
    opened().put(run(1), export(status="unfinished", exit_code=None, rows=None), make=True)
    ended = run(1, finished_at="2026-01-01T01:00:00.000000Z", exit_code=0)
    opened().put(ended, export(published=3), make=True)
    opened().put(ended, export(published=2), make=True)

    assert opened().recent(9) == [HistoryEntry(ended, export(published=2))]


def test_text_that_a_database_cannot_hold_is_written_in_its_place(opened: Open) -> None:
    """Zero characters, lone surrogates and texts without end are no reason to lose an entry."""
    opened().put(run(1, host="h" * 999), export(error="a\0b\udcff" + "c" * 99_999), make=True)

    (entry,) = opened().recent(1) or []
    assert entry.export.error is not None
    assert entry.export.error.startswith("a\\x00b\\udcffccc")
    assert entry.run.host == "h" * 255


def test_nothing_is_made_unless_asked(opened: Open, state: StateSettings) -> None:
    """Without `make` a ledger that is not there is not there afterwards; one that is takes the entry."""
    opened().put(run(1), export(), make=False)
    opened().put(run(1, finished_at="2026-01-02T00:00:00.000000Z"), None, make=False)
    assert opened().recent(9) is None
    if state.database is not None and state.database.path is not None:
        assert not state.database.path.exists()

    opened().put(run(1), export(), make=True)
    opened().put(run(2), export(), make=False)
    assert [e.run for e in opened().recent(9) or []] == [run(2), run(1)]


def test_several_runs_may_make_it_at_once(opened: Open) -> None:
    """Runs that find no ledger at the same moment all stand in it afterwards."""
    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(opened().put, run(n), export(published=4), make=True) for n in range(6)]:
            done.result()

    assert [e.run for e in opened().recent(9) or []] == [run(n) for n in reversed(range(6))]


def test_old_runs_are_pruned(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is older than the limit goes, and of what is younger the oldest above the number."""
    monkeypatch.setattr(store, "MAX_RUNS", 3)
    now = datetime(2026, 1, 1)
    old, edge = (now - timedelta(days=days) for days in (store.MAX_AGE_DAYS + 1, store.MAX_AGE_DAYS - 1))
    kept = [run(0, day=f"{edge:%Y-%m-%d}"), run(1), run(2)]
    for each in [run(0, day=f"{old:%Y-%m-%d}"), *kept]:
        opened().put(each, export(published=1), make=True)

    ended = f"{now:%Y-%m-%d}T00:00:00.000000Z"
    kept[-1] = replace(kept[-1], finished_at=ended)
    opened().put(kept[-1], export(), make=True)
    assert [e.run for e in opened().recent(9) or []] == kept[::-1]

    kept.append(run(3, finished_at=ended))
    opened().put(kept[-1], export(), make=True)
    assert [e.run for e in opened().recent(9) or []] == kept[:0:-1]


def test_partitions_of_the_oldest_runs_are_pruned_first(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the number of partitions, runs lose their lists from the oldest on, and nothing else."""
    monkeypatch.setattr(store, "MAX_CHANGES", 5)
    for n in range(4):
        ended = "2026-01-02T00:00:00.000000Z" if n == 3 else None
        opened().put(run(n, finished_at=ended), export(published=2), make=True)

    assert [len(e.export.changes) for e in opened().recent(9) or []] == [2, 2, 0, 0]


def test_a_later_rivets_ledger_is_left_alone(opened: Open, state: StateSettings) -> None:
    """It is neither written nor read, and the error says which versions are meant."""
    opened().put(run(1), export(), make=True)
    with Database(state, {}, 3).writing() as connection:
        connection.execute(schema.version_table.update().values(version=99))

    refusal = "of version 99, and this Rivet knows them up to 2"
    with pytest.raises(LedgerError, match=refusal):
        opened().put(run(2), export(), make=True)
    with pytest.raises(LedgerError, match=refusal):
        opened().recent(9)
    with Database(state, {}, 3).writing() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(schema.runs)) == 1
        connection.execute(schema.version_table.update().values(version=2))
    assert [e.run for e in opened().recent(9) or []] == [run(1)]


def test_an_earlier_rivets_ledger_is_brought_forward(opened: Open, state: StateSettings) -> None:
    """Each step from its version on is taken once, in order, and what it holds stays."""
    opened().put(run(1), export(), make=True)
    taken: list[int] = []

    def third(connection: sa.Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE rivet_runs ADD COLUMN mood INTEGER")
        taken.append(3)

    def fourth(_: sa.Connection) -> None:
        taken.append(4)

    steps = [*schema.STEPS, third, fourth]
    for _ in range(2):
        with Database(state, {}, 3).writing() as connection:
            schema.bring_forward(connection, schema.version_of(connection), steps)

    with Database(state, {}, 3).reading() as connection:
        assert schema.version_of(connection) == 4
        assert connection.exec_driver_sql("SELECT run_id, mood FROM rivet_runs").all() == [
            (run(1).run_id, None)
        ]
    assert taken == [3, 4]


def test_tables_that_were_not_finished_are_made(opened: Open, state: StateSettings) -> None:
    """A run that was killed between the tables and their version leaves nothing that must be mended."""
    opened().put(run(1), export(), make=True)
    with Database(state, {}, 3).writing() as connection:
        connection.execute(schema.version_table.delete())
        schema.changes.drop(connection)

    opened().put(run(2), export(published=1), make=True)

    assert [e.run for e in opened().recent(9) or []] == [run(2), run(1)]
