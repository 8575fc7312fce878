"""A thread that makes all calls of a driver that cannot be interrupted.

ADBC holds back SIGINT while a call runs in the main thread, and its SQLite driver can cancel nothing. With
the calls in a thread of their own, the thread that waits for them can still be interrupted.
"""

from __future__ import annotations

import concurrent.futures
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from rivet.source.waiting import result_of

_GRACE_SECONDS = 1.0

T = TypeVar("T")
_Call = tuple["concurrent.futures.Future[Any]", Callable[[], Any]]


class DriverThread:
    """Makes one call after another, in the order given; used from one other thread."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        # A daemon, so that a call that does not end cannot hold up the end of the process.
        self._thread = threading.Thread(target=self._serve, name="rivet-sqlite", daemon=True)
        self._thread.start()

    def submit(self, call: Callable[[], T]) -> concurrent.futures.Future[T]:
        """Queue a call."""
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._calls.put((future, call))
        return future

    def run(self, call: Callable[[], T]) -> T:
        """Make a call and give its result; an interrupt leaves it running."""
        return result_of(self.submit(call), self.must_live)

    def must_live(self) -> None:
        """Raise where the thread has died."""
        if not self._thread.is_alive():
            raise RuntimeError("the thread that reads from the source has died")

    def close(self, last: Callable[[], None]) -> None:
        """Make a last call and end, without waiting long for a call that is still under way."""
        done = self.submit(last)
        self._calls.put(None)
        self._thread.join(_GRACE_SECONDS)
        if done.done():
            done.result()

    def _serve(self) -> None:
        while (task := self._calls.get()) is not None:
            future, call = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = call()
            except BaseException as exc:  # noqa: BLE001 - it is raised again where the result is taken
                future.set_exception(exc)
            else:
                future.set_result(result)
                del result
            # What a call holds on to, such as a connection, must not live until the next one comes.
            del task, future, call
