"""What keeps a run from publishing once another has taken its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol


class Fence(Protocol):
    """Lets a run pass as long as the tree is its own; may be used by several threads."""

    def check(self) -> None:
        """Look, and raise `LockLost` where the tree is another's; costs a request."""

    def step(self) -> None:
        """Do as `check` where the run may have stood still since the last look; else free of cost."""


def fenced(fence: Fence, names: Iterable[str]) -> Iterator[str]:
    """Give names as long as the fence lets the run pass: what is deleted one by one stops in between."""
    for name in names:
        fence.step()
        yield name
