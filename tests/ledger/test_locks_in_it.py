"""The lock in the ledger's database keeps the contract of every lock, on each kind of database."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from rivet.config.settings import StateSettings
from rivet.errors import LockHeld, LockLost, ObjectNotFound
from rivet.ledger import schema
from rivet.ledger.connecting import Database
from rivet.ledger.records import LedgerRecords
from rivet.ledger.schema import locks
from rivet.lock import lease
from rivet.lock.holder import Holder, decode
from rivet.lock.object_lock import ObjectLock
from rivet.lock.process import Process, this_process
from rivet.lock.timing import Timing
from tests.destination.stores import RUN
from tests.ledger.conftest import Open
from tests.ledger.entries import export, run
from tests.lock.holding import ELSEWHERE, NOW, SLOW

pytestmark = pytest.mark.parametrize("engine", ["sqlite", "postgres", "mariadb"])

NAME = "0123456789abcdef0123456789abcdef"
PATIENCE = 60.0  # seconds that a busy machine may take to answer
Make = Callable[..., ObjectLock]


@pytest.fixture
def make(state: StateSettings) -> Make:
    """Give a function that makes the lock of a run, as another process would."""

    def lock(timing: Timing = SLOW, **more: Any) -> ObjectLock:
        arguments: dict[str, Any] = {"tree": "s3://lake/events/", "clock": lambda: NOW, "timing": timing}
        return ObjectLock(LedgerRecords(state, {}, wait_seconds=PATIENCE), NAME, RUN, **(arguments | more))

    return lock


def _held(make: Make, timing: Timing = SLOW, **more: Any) -> ObjectLock:
    lock = make(timing, **more)
    lock.await_turn()
    assert lock.hold()
    return lock


def _rows(state: StateSettings) -> list[Holder | None]:
    with Database(state, {}, PATIENCE).reading() as connection:
        return [decode(text.encode()) for text in connection.scalars(sa.select(locks.c.data)).all()]


def _change(state: StateSettings, **values: Any) -> None:
    with Database(state, {}, PATIENCE).writing() as connection:
        connection.execute(locks.update().values(**values))


def _grow_old(state: StateSettings) -> None:
    _change(state, written_at=locks.c.written_at - 7200)


def test_it_says_who_holds_it_and_is_gone_with_its_release(make: Make, state: StateSettings) -> None:
    """Run, process and times stand in it; a look makes no ledger, and one that is there stays what it was."""
    lock = make()
    lock.await_turn()
    if not Database(state, {}, PATIENCE).is_missing():
        with Database(state, {}, PATIENCE).reading() as connection:
            assert schema.version_of(connection) is None
    assert lock.hold()

    (holder,) = _rows(state)
    assert holder is not None
    assert (holder.run_id, holder.process, holder.started_at) == (RUN, this_process(), NOW)
    lock.check()
    lock.step()
    lock.release()
    lock.release()
    assert (_rows(state), lock.warnings) == ([], [])


def test_a_live_lock_keeps_others_out_with_a_message(make: Make, state: StateSettings) -> None:
    """The message names run, host, process, start and age; the exit code is 5, and the lock stays."""
    first = _held(make, process=ELSEWHERE)
    before = _rows(state)
    second = make()

    with pytest.raises(LockHeld) as told:
        second.await_turn()
    assert str(told.value).startswith(
        f"s3://lake/events/ is locked by run {RUN!r} on host 'db2', process 7, since {NOW}; its last heart"
    )
    assert told.value.exit_code == 5
    second.release()
    assert _rows(state) == before
    first.release()


def test_of_many_that_see_it_free_one_takes_it(make: Make, state: StateSettings) -> None:
    """However many try at once, from processes that know nothing of each other."""
    contestants = [make() for _ in range(6)]
    for lock in contestants:
        lock.await_turn()
    together = threading.Barrier(len(contestants))

    def take(lock: ObjectLock) -> bool:
        together.wait()
        try:
            return lock.hold()
        except LockHeld:
            return False

    with ThreadPoolExecutor(len(contestants)) as pool:
        won = list(pool.map(take, contestants))
    assert won.count(True) == 1
    assert len(_rows(state)) == 1
    for lock in contestants:
        lock.release()
    assert _rows(state) == []


def test_of_many_that_see_it_dead_one_takes_it_over(make: Make, state: StateSettings) -> None:
    """By the database's clock; the holder notices, publishes nothing more, and leaves the lock alone."""
    first = _held(make, process=ELSEWHERE)
    _grow_old(state)
    contestants = [make() for _ in range(6)]
    together = threading.Barrier(len(contestants))

    def take(lock: ObjectLock) -> bool:
        together.wait()
        try:
            lock.await_turn()
        except LockHeld:
            return False
        return lock.hold()

    with ThreadPoolExecutor(len(contestants)) as pool:
        won = list(pool.map(take, contestants))
    assert won.count(True) == 1
    with pytest.raises(LockLost) as told:
        first.check()
    assert told.value.exit_code == 5
    with pytest.raises(LockLost):
        first.step()
    first.release()
    winner = contestants[won.index(True)]
    winner.check()
    for lock in contestants:
        lock.release()
    assert _rows(state) == []


def test_its_age_is_that_of_the_databases_clock(
    make: Make, state: StateSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host whose clock is a year off neither takes a live lock over nor leaves one that looks old."""
    first = _held(make, process=ELSEWHERE)
    monkeypatch.setattr("time.time", lambda: 4e9)
    with pytest.raises(LockHeld):
        make().await_turn()
    assert LedgerRecords(state, {}, wait_seconds=PATIENCE).age_seconds(NAME) < 600
    first.release()


def test_the_lock_of_a_process_that_died_here_is_taken_over_at_once(make: Make, state: StateSettings) -> None:
    """No age is needed where this machine itself knows that the holder is dead."""
    _held(make, process=replace(this_process(), pid=2**22 + 1))
    second = _held(make)
    second.check()
    second.release()
    assert _rows(state) == []


@pytest.mark.parametrize("how", ["gone", "another's", "garbage"])
def test_a_holder_that_stood_still_stops_where_the_lock_is_not_its_own(
    make: Make, state: StateSettings, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Gone, taken over or overwritten: in no case does it go on."""
    lock = _held(make)
    if how == "gone":
        with Database(state, {}, PATIENCE).writing() as connection:
            connection.execute(locks.delete())
    else:
        other = Holder("other", Process("db3", 9), NOW, NOW, "their token").encode().decode()
        _change(state, data=other if how == "another's" else "{", version="theirs")
    now = lease.seconds()
    monkeypatch.setattr(lease, "seconds", lambda: now + 2000)

    with pytest.raises(LockLost):
        lock.step()
    left = _rows(state)
    lock.release()
    assert _rows(state) == left


def test_heartbeats_keep_it_young(make: Make, state: StateSettings) -> None:
    """It is written again and again, which its version shows, and still is its holder's."""
    lock = _held(make, Timing(0.01, 3600, 0.01))
    records = LedgerRecords(state, {}, wait_seconds=PATIENCE)
    seen = {records.inspect(NAME).version}
    while len(seen) < 4:
        seen.add(records.inspect(NAME).version)
    lock.check()
    lock.release()
    assert _rows(state) == []


def test_a_run_that_waits_goes_on_when_it_is_free(make: Make) -> None:
    """It is told for whom it waits."""
    first = _held(make, process=ELSEWHERE)
    heard: list[str] = []

    def hear(text: str) -> None:
        heard.append(text)
        first.release()

    second = _held(make, wait_seconds=60, on_wait=hear)
    assert len(heard) == 1
    assert "'db2'" in heard[0]
    second.release()


def test_records_are_changed_on_their_version_alone(state: StateSettings) -> None:
    """What a condition names must stand; a record that is not there has no age, and names are told apart."""
    records = LedgerRecords(state, {}, wait_seconds=PATIENCE)
    with pytest.raises(ObjectNotFound):
        records.inspect(NAME)
    first = records.create(NAME, "é".encode())
    assert first is not None
    assert records.create(NAME, b"b") is None
    assert records.replace(NAME, b"b", "another") is None
    assert not records.remove(NAME, "another")
    assert records.inspect(NAME) == records.inspect(NAME, 2)
    assert records.inspect(NAME, 2).data == "é".encode()
    second = records.replace(NAME, b"b", first)
    assert second is not None
    assert records.replace(NAME, b"c", first) is None
    assert records.create(NAME[::-1], b"d") is not None
    assert records.remove(NAME, second)
    with pytest.raises(ObjectNotFound):
        records.age_seconds(NAME)
    assert records.inspect(NAME[::-1]).data == b"d"


def test_locks_that_nobody_has_asked_of_for_a_year_are_pruned(state: StateSettings) -> None:
    """A tree that is exported no more leaves none for ever."""
    records = LedgerRecords(state, {}, wait_seconds=PATIENCE)
    records.create("a tree of old", b"a")
    _change(state, written_at=locks.c.written_at - 401 * 86_400)
    records.create(NAME, b"b")
    with pytest.raises(ObjectNotFound):
        records.inspect("a tree of old")


def test_a_ledger_of_an_earlier_rivet_takes_locks(opened: Open, make: Make, state: StateSettings) -> None:
    """Its tables are brought forward with the first lock, and what it holds stays."""
    database = Database(state, {}, PATIENCE)
    database.make_room()
    with database.writing() as connection:
        schema.bring_forward(connection, None, schema.STEPS[:1])
    lock = _held(make)
    assert len(_rows(state)) == 1
    lock.release()
    opened().put(run(1), export(), make=True)
    assert [e.run for e in opened().recent(9) or []] == [run(1)]
