"""Sends on a few threads, bounded in number and in the bytes that are on their way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Result = TypeVar("Result")


class UploadPool:
    """Threads that send.

    Args:
        most_bytes: That wait or are sent at once; one alone may be larger.
    """

    def __init__(self, threads: int, most_bytes: int) -> None:
        self._executor = ThreadPoolExecutor(threads, "rivet-upload")
        self._turns = threading.Semaphore(threads)
        self._most_bytes = most_bytes
        self._bytes = 0
        self._sent_bytes = 0
        self._changed = threading.Condition()

    @property
    def sent_bytes(self) -> int:
        """Give the bytes of all work that has succeeded."""
        return self._sent_bytes

    def submit(self, size_bytes: int, work: Callable[[], None]) -> Future[None]:
        """Have work done as soon as there is a thread; waits here until there is room for its bytes."""
        self._take(size_bytes)
        try:
            future = self._executor.submit(self._in_turn, work)
        except BaseException:
            self._give(size_bytes)
            raise
        future.add_done_callback(lambda done: self._end(done, size_bytes))
        return future

    def run(self, size_bytes: int, work: Callable[[], Result]) -> Result:
        """Do work on the thread that asks, once there is room for its bytes and a thread's turn is free."""
        self._take(size_bytes)
        try:
            result = self._in_turn(work)
            with self._changed:
                self._sent_bytes += size_bytes
        finally:
            self._give(size_bytes)
        return result

    def close(self) -> None:
        """Begin nothing more, and wait for what is being sent."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _in_turn(self, work: Callable[[], Result]) -> Result:
        with self._turns:
            return work()

    def _take(self, size_bytes: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._bytes or self._bytes + size_bytes <= self._most_bytes)
            self._bytes += size_bytes

    def _end(self, done: Future[None], size_bytes: int) -> None:
        if not done.cancelled() and done.exception() is None:
            with self._changed:
                self._sent_bytes += size_bytes
        self._give(size_bytes)

    def _give(self, size_bytes: int) -> None:
        with self._changed:
            self._bytes -= size_bytes
            self._changed.notify_all()


def has_succeeded(future: Future[None]) -> bool:
    """Tell whether a future is done, raising its error where it failed."""
    if not future.done():
        return False
    future.result()
    return True


def finish_all(futures: Collection[Future[None]]) -> None:
    """Wait for all; where one fails, drop those not yet begun, wait for the rest, and raise its error."""
    done, _ = wait(futures, return_when=FIRST_EXCEPTION)
    failed = next((future for future in done if future.cancelled() or future.exception()), None)
    if failed is not None:
        for future in futures:
            future.cancel()
        wait(futures)
        failed.result()
