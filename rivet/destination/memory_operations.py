"""What is done to a destination in memory, and how it is made to fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that is done.

    Attributes:
        kind: The method of the protocol, such as `put` or, of what is staged, `finish`.
        name: The object, directory, run id or prefix; empty where there is none.
        number: How many of this kind there were, this one included.
    """

    kind: str
    name: str
    number: int


Hook = Callable[[Operation], None]


def fail_before(kind: str, number: int, error: BaseException) -> Hook:
    """Make a hook that raises before the operation of this kind and number, counted from 1."""

    def hook(operation: Operation) -> None:
        if (operation.kind, operation.number) == (kind, number):
            raise error

    return hook
