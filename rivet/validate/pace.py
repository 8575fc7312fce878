"""Does the same to many things: one after the other while that is hardly ever waiting, else side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

# Threads that each read a little and parse a little stand in one another's way: on files that are in memory
# they took twice the processor time of one alone, and longer. So they must have more than that to save.
_WORTH_THREADS = 3
_LOOK_EVERY = 32


class Pace:
    """Chooses between the calling thread and a pool; may be used by several threads.

    Args:
        at_once: Use the pool from the first item on, not only once most of the time went by in waiting.
    """

    def __init__(self, pool: Executor, *, at_once: bool) -> None:
        self._pool = pool
        self._at_once = at_once

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """Give what work makes of each item, in their order."""
        begun, waits = 0, self._at_once
        while begun < len(items) and not (waits and len(items) > 1):
            began, began_processor = time.perf_counter(), time.thread_time()
            done = [work(item) for item in items[begun : begun + _LOOK_EVERY]]
            took, took_processor = time.perf_counter() - began, time.thread_time() - began_processor
            waits = took > _WORTH_THREADS * took_processor
            begun += len(done)
            yield from done
        yield from self._pool.map(work, items[begun:])
