"""A run's turn at a tree: from the wait for it to the release of the lock."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Self, TypeVar

from rivet.destination.protocol import Destination
from rivet.errors import ObjectNotFound
from rivet.interruption import finishing
from rivet.lock.protocol import Lock

Result = TypeVar("Result")


class _SomebodyWasThere(Exception):
    """Another run has had the tree between the wait and the lock."""


class Turn:
    """Lets a run look around while nobody holds the lock, and take it late.

    So a run that is refused leaves no trace. What it has seen of the tree before, and the snapshot of its
    source, hold only where nobody has changed the tree until the lock was taken; else it begins anew.

    Args:
        watched: The object that every run which changes the tree replaces.
    """

    def __init__(self, lock: Lock, destination: Destination, watched: str) -> None:
        self._lock = lock
        self._destination = destination
        self._watched = watched
        self._seen: str | None = None

    def __enter__(self) -> Self:
        """Begin; nothing is looked at yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release the lock, if it is held, and remove a root in which nothing else was."""
        with finishing():
            try:
                self._lock.release()
            finally:
                self._destination.remove_root_if_empty()

    def take(self, work: Callable[[], Result]) -> Result:
        """Do work, which calls `hold` before it changes anything, when nobody else is at work on the tree.

        Raises:
            LockHeld: Somebody else is, for longer than the run waits.
            LockLost: Somebody has taken the run's place.
        """
        while True:
            self._lock.await_turn()
            self._seen = self._version()
            with suppress(_SomebodyWasThere):
                return work()

    def hold(self) -> None:
        """Take the lock; where that was too late, the work begins anew."""
        if not self._lock.hold() or self._version() != self._seen:
            raise _SomebodyWasThere

    def check(self) -> None:
        """Look whether the lock is still held, or raise `LockLost`."""
        self._lock.check()

    def step(self) -> None:
        """Do as `check` where the run may have stood still since the last look."""
        self._lock.step()

    def _version(self) -> str | None:
        with suppress(ObjectNotFound):
            return self._destination.inspect(self._watched, 1).version
        return None
