"""Waits in one thread for what another does, so that an interrupt always gets through."""

from __future__ import annotations

import concurrent.futures
from typing import TypeVar

# A signal that arrives just before a thread begins to wait does not wake it, so no wait is without an end.
WAKE_SECONDS = 0.5

T = TypeVar("T")


def result_of(future: concurrent.futures.Future[T]) -> T:
    """Wait for a result; an interrupt meanwhile cancels what it is the result of, as far as that can be."""
    try:
        while not future.done():
            concurrent.futures.wait([future], WAKE_SECONDS)
        return future.result()
    except BaseException:
        future.cancel()
        raise
