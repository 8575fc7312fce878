"""What a run needs of a lock, whatever keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Seen(Protocol):
    """An object as it stood at one moment: its bytes, and what tells it from any other of its name."""

    @property
    def data(self) -> bytes:
        """Give its bytes, or the first of them."""

    @property
    def version(self) -> str:
        """Give what no other that stood or will stand under its name has."""


class Records(Protocol):
    """Keeps small objects by name, which are changed on a condition: all that a lock needs of a place.

    A `Destination` is one, and its contract is the contract here; the ledger's database is another.
    """

    def inspect(self, name: str, limit_bytes: int | None = None) -> Seen:
        """Look at an object, or raise `ObjectNotFound`."""

    def age_seconds(self, name: str) -> float:
        """Tell how long ago an object was written, by the place's own clock, or raise `ObjectNotFound`."""

    def create(self, name: str, data: bytes, *, private: bool = False) -> str | None:
        """Write where there is no such object; give its version, or None where there is one."""

    def replace(self, name: str, data: bytes, version: str, *, private: bool = False) -> str | None:
        """Write where that version still stands; give the new one, or None where it does not."""

    def remove(self, name: str, version: str) -> bool:
        """Delete an object where that version still stands, and tell whether it did."""


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
