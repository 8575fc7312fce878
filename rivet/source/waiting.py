"""Waits in one thread for what another does, so that an interrupt always gets through."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import TypeVar

# A signal that arrives just before a thread begins to wait does not wake it, so no wait is without an end.
WAKE_SECONDS = 0.5

T = TypeVar("T")


def result_of(future: concurrent.futures.Future[T], must_live: Callable[[], None] = lambda: None) -> T:
    """Wait for a result; an interrupt meanwhile cancels what it is the result of, as far as that can be.

    Args:
        must_live: Raises where the thread that would give the result has died.
    """
    try:
        while not future.done():
            if not concurrent.futures.wait([future], WAKE_SECONDS).done:
                must_live()
        return future.result()
    except BaseException:
        future.cancel()
        raise
