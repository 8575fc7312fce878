"""Does the same for many, as many at a time as a destination likes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rivet.destination.protocol import Destination

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(
    destination: Destination, work: Callable[[Item], Result], items: Sequence[Item]
) -> list[Result]:
    """Give what work makes of each item, in their order.

    Where one raises, no more are begun, and the first error in order is raised once none is under way.
    """
    threads = min(destination.concurrency, len(items))
    if threads <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads, "rivet-ask") as pool:
        return list(pool.map(work, items))
