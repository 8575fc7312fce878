"""One run holds the lock: who is kept out, what is taken over, and who notices that it was."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from rivet.destination.memory import MemoryDestination, Operation, fail_before
from rivet.errors import DestinationUnavailable, LockHeld, LockLost
from rivet.lock import lease
from rivet.lock.holder import Holder, decode
from rivet.lock.opening import open_lock
from rivet.lock.process import Process, this_process
from rivet.lock.protocol import NoLock
from rivet.lock.timing import Timing
from tests.destination.stores import RUN
from tests.lock.holding import ELSEWHERE, LOCK, NOW, grow_old, held, lock_at


def test_the_lock_says_who_holds_it_and_is_gone_with_its_release() -> None:
    """Version, run, host, process and times stand in it; nothing is written before it is held."""
    destination = MemoryDestination()
    lock = lock_at(destination)
    lock.await_turn()
    assert destination.objects == {}
    assert lock.hold()

    holder = decode(destination.objects[LOCK])
    assert holder is not None
    assert (holder.run_id, holder.process) == (RUN, this_process())
    assert (holder.started_at, holder.heartbeat_at) == (NOW, NOW)
    lock.check()
    lock.step()
    lock.release()
    lock.release()
    assert (destination.objects, lock.warnings) == ({}, [])


def test_a_live_lock_keeps_others_out_with_a_message() -> None:
    """The message names run, host, process, start and age; the exit code is 5, and the lock stays."""
    destination = MemoryDestination()
    first = held(destination, process=ELSEWHERE)
    before = destination.objects[LOCK]
    second = lock_at(destination)

    with pytest.raises(LockHeld) as told:
        second.await_turn()
    assert str(told.value) == (
        f"memory:/ is locked by run {RUN!r} on host 'db2', process 7, since {NOW};"
        " its last heartbeat was 0 seconds ago"
    )
    assert told.value.exit_code == 5
    second.release()
    assert destination.objects[LOCK] == before
    first.release()


def test_who_comes_second_between_look_and_lock_is_told() -> None:
    """Two that both saw a free tree: one holds it, the other fails, or waits for the next turn."""
    destination = MemoryDestination()
    fast, slow, patient = (lock_at(destination, wait_seconds=wait) for wait in (0, 0, 60))
    for lock in (fast, slow, patient):
        lock.await_turn()
    assert fast.hold()

    with pytest.raises(LockHeld):
        slow.hold()
    assert not patient.hold()
    fast.release()
    patient.await_turn()
    assert patient.hold()
    patient.release()


def test_a_run_waits_as_long_as_it_is_told_to() -> None:
    """It tells once for whom it waits, goes on as soon as the lock is free, and gives up in time."""
    destination = MemoryDestination()
    first = held(destination)
    heard: list[str] = []

    def hear(text: str) -> None:
        heard.append(text)
        first.release()

    second = lock_at(destination, wait_seconds=60, on_wait=hear)
    second.await_turn()
    assert second.hold()
    assert len(heard) == 1
    assert RUN in heard[0]
    with pytest.raises(LockHeld):
        lock_at(destination, wait_seconds=0.05).await_turn()
    second.release()


@pytest.mark.parametrize(
    "process",
    [
        pytest.param(lambda here: replace(here, started="1"), id="its number is another's now"),
        pytest.param(lambda here: replace(here, pid=2**22 + 1), id="no such process"),
    ],
)
def test_the_lock_of_a_process_that_died_here_is_taken_over_at_once(
    process: Callable[[Process], Process],
) -> None:
    """No age is needed where this machine itself knows that the holder is dead."""
    destination = MemoryDestination()
    held(destination, process=process(this_process()))
    second = lock_at(destination)

    second.await_turn()
    assert second.hold()
    second.check()
    second.release()
    assert destination.objects == {}


def test_a_lock_without_a_heartbeat_is_taken_over_by_one_and_the_holder_notices() -> None:
    """Judged by the store's clock; whoever held it publishes nothing more, and leaves the lock alone."""
    destination = MemoryDestination()
    first = held(destination, process=ELSEWHERE)
    grow_old(destination)
    others = [lock_at(destination) for _ in range(2)]
    others[0].await_turn()
    with pytest.raises(LockHeld):
        others[1].await_turn()
    assert others[0].hold()

    with pytest.raises(LockLost) as told:
        first.check()
    assert told.value.exit_code == 5
    with pytest.raises(LockLost):
        first.step()
    first.release()
    others[0].check()
    others[0].release()
    assert destination.objects == {}


def test_a_holder_that_stood_still_renews_before_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past half the limit, a step is a look and a renewal; before it costs nothing."""
    destination = MemoryDestination()
    lock = held(destination)
    done = len(destination.operations)
    lock.step()
    assert len(destination.operations) == done
    version = destination.inspect(LOCK).version
    now = lease.seconds()
    monkeypatch.setattr(lease, "seconds", lambda: now + 2000)

    lock.step()
    assert destination.inspect(LOCK).version != version
    lock.step()
    lock.release()
    assert destination.objects == {}


@pytest.mark.parametrize("how", ["gone", "another's", "garbage"])
def test_a_holder_that_stood_still_stops_where_the_lock_is_not_its_own(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Gone, taken over or overwritten: in no case does it go on."""
    destination = MemoryDestination()
    lock = held(destination)
    if how == "gone":
        del destination.objects[LOCK]
    else:
        other = Holder("other", ELSEWHERE, NOW, NOW, "their token").encode()
        destination.objects[LOCK] = other if how == "another's" else b"\x00{"
    now = lease.seconds()
    monkeypatch.setattr(lease, "seconds", lambda: now + 2000)

    with pytest.raises(LockLost):
        lock.step()
    left = dict(destination.objects)
    lock.release()
    assert destination.objects == left


def test_heartbeats_keep_the_lock_young() -> None:
    """It is written again and again, and still is its holder's."""
    beats = threading.Event()

    def before(operation: Operation) -> None:
        if (operation.kind, operation.number) == ("replace", 5):
            beats.set()

    destination = MemoryDestination(before)
    lock = held(destination, Timing(0.01, 3600, 0.01))
    assert beats.wait(60)
    lock.check()
    lock.release()
    assert destination.objects == {}


def test_a_heartbeat_that_fails_is_tried_again() -> None:
    """A store that is away for a moment costs no lock."""
    beats = threading.Event()
    failing = fail_before("replace", 1, DestinationUnavailable("away"))

    def before(operation: Operation) -> None:
        if operation.kind == "replace" and operation.number == 3:
            beats.set()
        failing(operation)

    destination = MemoryDestination(before)
    lock = held(destination, Timing(0.01, 3600, 0.01))
    assert beats.wait(60)
    lock.check()
    lock.release()
    assert destination.objects == {}


def test_a_bug_in_the_heartbeat_ends_the_run() -> None:
    """It is raised where the holder looks, and at the release at the latest, which removes the lock."""
    destination = MemoryDestination(fail_before("replace", 1, ZeroDivisionError("a bug")))
    lock = held(destination, Timing(0.01, 3600, 0.01))
    assert lock._lease is not None
    lock._lease._thread.join(60)

    for look in (lock.check, lock.step, lock.release):
        with pytest.raises(RuntimeError, match="the thread that renews the lock has died") as told:
            look()
        assert isinstance(told.value.__cause__, ZeroDivisionError)
    assert destination.objects == {}


def test_a_renewal_that_was_given_up_for_failed_is_known_for_ones_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It came to pass all the same: the lock is still this run's, and the next renewal finds it."""
    destination = MemoryDestination()
    lock = held(destination)
    holder = decode(destination.objects[LOCK])
    assert holder is not None
    destination.objects[LOCK] = replace(holder, heartbeat_at="2023-01-02T03:04:20.000000Z").encode()
    now = lease.seconds()
    monkeypatch.setattr(lease, "seconds", lambda: now + 2000)

    lock.step()
    lock.release()
    assert destination.objects == {}


def test_a_release_that_fails_is_a_warning() -> None:
    """The run has ended well; the lock is left for the next one to take over."""
    destination = MemoryDestination(fail_before("remove", 1, DestinationUnavailable("away")))
    lock = held(destination)
    lock.release()

    (warning,) = lock.warnings
    assert "away" in warning
    assert "3600 seconds" in warning


def test_what_a_run_of_this_process_has_left_behind_is_taken_over() -> None:
    """A process does not lock itself out for what is over; a run of it that is under way it respects."""
    destination = MemoryDestination(fail_before("remove", 1, DestinationUnavailable("away")))
    held(destination).release()
    assert LOCK in destination.objects

    second = held(destination)
    with pytest.raises(LockHeld):
        lock_at(destination).await_turn()
    second.release()
    assert destination.objects == {}


def test_an_interruption_between_writing_and_noting_leaves_no_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends the taking, the release removes what was written."""

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    destination = MemoryDestination()
    lock = lock_at(destination)
    lock.await_turn()
    monkeypatch.setattr(lease.Lease, "begin", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lock.hold()
    lock.release()

    assert destination.objects == {}


def test_a_lock_that_pretends_to_be_dead_here_is_read_as_it_says() -> None:
    """Who may write the lock may remove it as well, so this is no more than that."""
    here = this_process()
    destination = MemoryDestination()
    destination.objects[LOCK] = Holder("x", replace(here, started="0"), NOW, NOW, "t").encode()
    lock = held(destination)
    lock.release()


def test_lock_off_is_no_lock() -> None:
    """Nothing is asked of the destination, and nobody is kept out."""
    destination = MemoryDestination()
    lock = open_lock(destination, LOCK, RUN, kept=False, clock=lambda: NOW)
    lock.await_turn()

    assert isinstance(lock, NoLock)
    assert lock.hold()
    lock.check()
    lock.step()
    lock.release()
    assert destination.operations == []
