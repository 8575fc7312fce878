"""Makes locks, and lets them grow old."""

from __future__ import annotations

from rivet.destination.memory import MemoryDestination
from rivet.lock.object_lock import ObjectLock
from rivet.lock.process import Process
from rivet.lock.timing import Timing
from tests.destination.stores import RUN

LOCK = "_rivet_lock.json"
NOW = "2023-01-02T03:04:05.000000Z"
SLOW = Timing(heartbeat_seconds=3600, stale_seconds=3600, poll_seconds=0.01)
ELSEWHERE = Process("db2", 7, "another machine", "1")


def lock_at(destination: MemoryDestination, timing: Timing = SLOW, **more: object) -> ObjectLock:
    """Make the lock of a run, by default of this process."""
    arguments: dict[str, object] = {"tree": "memory:/", "clock": lambda: NOW, "timing": timing}
    return ObjectLock(destination, LOCK, RUN, **(arguments | more))  # type: ignore[arg-type]


def held(destination: MemoryDestination, timing: Timing = SLOW, **more: object) -> ObjectLock:
    """Make a lock and take it."""
    lock = lock_at(destination, timing, **more)
    lock.await_turn()
    assert lock.hold()
    return lock


def grow_old(destination: MemoryDestination) -> None:
    """Let two hours go by at the store."""
    destination._stamps = {n: (d, v, at - 7200) for n, (d, v, at) in destination._stamps.items()}
