"""A lock in a database that other runs share, and the one beside the tree behind it.

Both are held, the database's first. So all runs that name the database are kept apart, also on stores that
take no conditions; runs that do not name it are kept apart from them as well; and a database that is lost
breaks no run: the lock beside the tree is held already, and goes on to fence.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from rivet.errors import LedgerError, RivetError
from rivet.lock.protocol import Lock

Result = TypeVar("Result")


class TwoLocks:
    """Holds a lock in the ledger's database, as long as that answers, and another.

    Args:
        shared: In the database.
        beside: The other.
        tree: What is locked, for messages.
    """

    def __init__(self, shared: Lock, beside: Lock, *, tree: str) -> None:
        self._shared = shared
        self._beside = beside
        self._tree = tree
        self._trouble: LedgerError | None = None

    @property
    def warnings(self) -> list[str]:
        """Give what the user should know; of a database that is lost, that once."""
        trouble = self._trouble
        if trouble is None:
            return [*self._shared.warnings, *self._beside.warnings]
        hint = "" if trouble.hint is None else f" ({trouble.hint})"
        lost = (
            f"the lock of {self._tree} is not, or no longer, in the ledger's database: {trouble}{hint};"
            " runs are kept apart by the one beside the tree alone"
        )
        return [lost, *self._beside.warnings]

    def await_turn(self) -> None:
        """Wait for the turn at both, in the order in which all take them."""
        self._ask(self._shared.await_turn, None)
        self._beside.await_turn()

    def hold(self) -> bool:
        """Take both."""
        return self._ask(self._shared.hold, otherwise=True) and self._beside.hold()

    def check(self) -> None:
        """Read both."""
        self._ask(self._shared.check, None)
        self._beside.check()

    def step(self) -> None:
        """Read those that were renewed long ago."""
        self._ask(self._shared.step, None)
        self._beside.step()

    def release(self) -> None:
        """Give both back; what of the database's is left there is taken over like that of any dead run."""
        try:
            self._beside.release()
        finally:
            with suppress(RivetError):
                self._shared.release()

    def _ask(self, question: Callable[[], Result], otherwise: Result) -> Result:
        """Ask the database, until it fails once."""
        if self._trouble is not None:
            return otherwise
        try:
            return question()
        except LedgerError as error:
            self._trouble = error
            return otherwise
