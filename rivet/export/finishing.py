"""Bounds what is on its way to being staged: bytes that wait for an encoder, files that wait for the disk."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from rivet.export.staged import StagedFile

# Files that wait for the disk: syncs run side by side, and their number bounds the files held open; small
# ones that were handed over together count as one.
_FINISHING_THREADS = 4
_UNFINISHED_FILES = 32


class Budget:
    """Bytes that may be in flight; one taker may go over it, so that a large row group is never stuck."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._changed = threading.Condition()

    def take(self, size: int) -> None:
        """Wait for room, and take it."""
        with self._changed:
            self._changed.wait_for(lambda: self._taken == 0 or self._taken + size <= self._limit)
            self._taken += size

    def give(self, size: int) -> None:
        """Give room back."""
        with self._changed:
            self._taken -= size
            self._changed.notify_all()


class Finisher:
    """Makes files durable on a few threads, a bounded number at a time, and keeps the first failure."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_FINISHING_THREADS, "rivet-finish")
        self._slots = threading.Semaphore(_UNFINISHED_FILES)
        self._waiting = threading.Lock()
        self._handing = threading.Lock()
        self._under_way: set[Future[None]] = set()
        self._failure: BaseException | None = None

    def submit(self, *files: StagedFile) -> None:
        """Have files made durable, one after the other, as soon as there is room for one more."""

        def finish() -> None:
            for file in files:
                file.finish()

        self._hand_over(finish)

    def then(self, work: Callable[[], None]) -> None:
        """Have work done once all that was handed over so far is done; not where any of it failed."""
        with self._handing:
            before = tuple(self._under_way)

        def after() -> None:
            wait(before)  # what was handed over earlier has a thread already, or has had one
            if self._failure is None:
                work()

        self._hand_over(after)

    def raise_failure(self) -> None:
        """Raise the first failure, if there was one."""
        if self._failure is not None:
            raise self._failure

    def wait(self) -> None:
        """Wait until all files are durable, and raise the first failure."""
        with self._waiting:  # of two that wait, each would take half of the slots, for ever
            for _ in range(_UNFINISHED_FILES):
                self._slots.acquire()
            self._slots.release(_UNFINISHED_FILES)
        self.raise_failure()

    def close(self) -> None:
        """Wait for the threads, and end them."""
        self._pool.shutdown(wait=True)

    def _hand_over(self, work: Callable[[], None]) -> None:
        self._slots.acquire()
        with self._handing:
            done = self._pool.submit(self._run, work)
            self._under_way.add(done)
        done.add_done_callback(self._under_way.discard)

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._failure = self._failure or error
        finally:
            self._slots.release()
