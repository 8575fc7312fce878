"""What a run needs of a lock, whatever keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Lock(Protocol):
    """Keeps all runs but one from a tree.

    A run awaits its turn before it asks its source anything, holds the lock before it changes anything,
    checks it before it changes what others see, and releases it whatever happened. `check` and `step` may be
    called by several threads.
    """

    @property
    def warnings(self) -> Sequence[str]:
        """Give what the user should know, each a sentence."""

    def await_turn(self) -> None:
        """Return once nobody holds the lock; one that is left over from a dead run is taken over.

        Nothing is written where there was no lock.

        Raises:
            LockHeld: Somebody holds it, for longer than this run waits.
        """

    def hold(self) -> bool:
        """Take the lock, if it is not taken over already; False: another was faster, wait for the next turn.

        Raises:
            LockHeld: Another was faster, and this run waits no more.
        """

    def check(self) -> None:
        """Make sure that the lock is this run's, by reading it, and will be for some time.

        Raises:
            LockLost: It is another's.
        """

    def step(self) -> None:
        """Do as `check` where it was long ago that the lock was renewed, and otherwise nothing.

        Raises:
            LockLost: It is another's.
        """

    def release(self) -> None:
        """Give the lock back, if it is held; what keeps it from that is a warning."""


class NoLock:
    """Keeps nobody out: what `lock: off` asks for."""

    warnings = ()

    def await_turn(self) -> None:
        """Return at once."""

    def hold(self) -> bool:
        """Do nothing."""
        return True

    def check(self) -> None:
        """Do nothing."""

    def step(self) -> None:
        """Do nothing."""

    def release(self) -> None:
        """Do nothing."""
