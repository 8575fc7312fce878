"""A run looks around before it takes the lock, and begins anew where that was too late."""

from __future__ import annotations

import pytest

from rivet.destination.memory import MemoryDestination
from rivet.errors import LockHeld
from rivet.lock.lease import seconds
from rivet.lock.object_lock import ObjectLock
from rivet.lock.turn import Turn
from tests.destination.stores import RUN

LOCK, EXPORT = "_rivet_lock.json", "_rivet_export.json"


def _turn(destination: MemoryDestination, wait_seconds: float = 0.0) -> Turn:
    lock = ObjectLock(destination, LOCK, RUN, tree="memory:/", clock=lambda: "now", wait_seconds=wait_seconds)
    return Turn(lock, destination, EXPORT)


def test_work_that_nobody_disturbs_is_done_once() -> None:
    """The lock is held from `hold` on and gone at the end, whatever the end."""
    destination = MemoryDestination()
    turn = _turn(destination)

    def work() -> str:
        assert LOCK not in destination.objects
        turn.hold()
        assert LOCK in destination.objects
        destination.put(EXPORT, b"mine")
        return "done"

    with turn:
        assert turn.take(work) == "done"
        turn.check()
    assert list(destination.objects) == [EXPORT]

    def fail() -> None:
        failing.hold()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), _turn(destination) as failing:
        failing.take(fail)
    assert list(destination.objects) == [EXPORT]


@pytest.mark.parametrize("before", [None, b"old"])
def test_work_begins_anew_where_another_was_there_first(before: bytes | None) -> None:
    """What was seen before the lock was taken holds only if the tree is still the same."""
    destination = MemoryDestination()
    if before is not None:
        destination.put(EXPORT, before)
    seen: list[bytes | None] = []

    with _turn(destination) as turn:

        def work() -> int:
            seen.append(destination.objects.get(EXPORT))
            if len(seen) == 1:
                destination.put(EXPORT, b"another's")
            turn.hold()
            return len(seen)

        assert turn.take(work) == 2
    assert seen == [before, b"another's"]


def test_a_retry_of_the_same_run_keeps_the_lock() -> None:
    """An attempt that failed after it had changed the export file is followed by another under the lock."""
    destination = MemoryDestination()
    with _turn(destination) as turn:
        for number in range(2):

            def attempt(number: int = number) -> None:
                turn.hold()
                destination.put(EXPORT, b"%d" % number)

            turn.take(attempt)
            assert LOCK in destination.objects
    assert destination.objects == {EXPORT: b"1"}


def test_who_finds_another_faster_waits_for_the_next_turn() -> None:
    """Between the look and the lock another was faster: with --wait its end is awaited, else it is told."""
    destination = MemoryDestination()
    other = ObjectLock(destination, LOCK, "other", tree="memory:/", clock=lambda: "now")
    other.await_turn()
    begun = 0

    def work(turn: Turn) -> int:
        nonlocal begun
        begun += 1
        if begun == 1:
            assert other.hold()
        try:
            turn.hold()
        finally:
            other.release()
        return begun

    with pytest.raises(LockHeld), _turn(destination) as hasty:
        hasty.take(lambda: work(hasty))
    begun = 0
    with _turn(destination, wait_seconds=60) as patient:
        assert patient.take(lambda: work(patient)) == 2


def test_the_clock_goes_on() -> None:
    """What counts the time since the last renewal does not go back."""
    assert seconds() <= seconds()
