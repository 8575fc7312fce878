"""A bridge from an async driver, in a thread and an event loop of its own, to the thread that consumes.

Blocks of whole rows pass through a queue that is bounded in bytes. Knows no driver and no engine: what a
driver raises is raised again, as it is, in the consumer's thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from rivet.source.waiting import WAKE_SECONDS, result_of

try:
    import uvloop
except ImportError:  # it has no wheel for Windows
    new_event_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
else:
    new_event_loop = uvloop.new_event_loop

BLOCK_BYTES = 2 * 1024**2
QUEUE_BYTES = 4 * BLOCK_BYTES
_LEAST_BLOCK_BYTES = 256 * 1024
_GRACE_SECONDS = 10.0

T = TypeVar("T")
Write = Callable[[bytes], Awaitable[None]]
"""Takes one or more whole rows, the last of them ended as well."""


class ReaderThread:
    """A thread with an event loop, for one driver connection; used from one other thread at a time.

    Leaving the context ends the thread, whatever its tasks are doing.

    Args:
        readers: How many there may be at once: what all have read and nobody took is bounded together.
    """

    def __init__(self, readers: int = 1) -> None:
        self._readers = readers
        self._loop = new_event_loop()
        self._loop.set_exception_handler(_report)
        self._bug: BaseException | None = None
        # A daemon, so that a driver that blocks for ever cannot hold up the end of the process.
        self._thread = threading.Thread(target=self._serve, name="rivet-reader", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_alive(self) -> bool:
        """Tell whether the thread can still run anything."""
        return self._thread.is_alive()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end and give its result; an interrupt here cancels it."""
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:  # the loop is closed
            coroutine.close()
            self._must_live()
            raise
        return result_of(future, self._must_live)

    def stream(self, produce: Callable[[Write], Coroutine[Any, Any, int]]) -> BlockStream:
        """Start a producer: it writes rows and returns how many the server says it sent."""
        return BlockStream(self._loop, produce, self._must_live, self._readers)

    def close(self) -> None:
        """End the thread; tasks that are still under way are cancelled. May be called again."""
        if self.is_alive:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_GRACE_SECONDS)

    def _serve(self) -> None:
        try:
            self._loop.run_forever()
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            if tasks:
                self._loop.run_until_complete(asyncio.wait(tasks, timeout=_GRACE_SECONDS))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._bug = error
        finally:
            self._loop.close()

    def _must_live(self) -> None:
        if not self.is_alive:
            raise RuntimeError("the thread that reads from the source has died") from self._bug


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report what no one waits for, but for a connection that fails.

    Of that one its driver tells whoever waits; to a connection that is being given up, no one listens.
    """
    if "transport" not in context:
        loop.default_exception_handler(context)


class BlockStream:
    """The rows of one producer, as blocks of about `BLOCK_BYTES`, while it is still producing.

    Beside other readers blocks are smaller; one is larger only where a single chunk is. Leaving the context
    before the end cancels the producer and waits until it has cleaned up.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        produce: Callable[[Write], Coroutine[Any, Any, int]],
        must_live: Callable[[], None],
        readers: int = 1,
    ) -> None:
        self._loop = loop
        # To decode a block takes several times its size, on each of the threads at once.
        self._block_bytes = max(min(BLOCK_BYTES, _LEAST_BLOCK_BYTES), BLOCK_BYTES // readers)
        self._queue_bytes = QUEUE_BYTES // readers
        self._must_live = must_live
        self._changed = threading.Condition()
        self._blocks: deque[bytes] = deque()
        self._queued_bytes = 0
        self._left = False
        self._ended = False
        # The reader's thread alone touches these.
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._cancelled = False
        self._task: asyncio.Task[int]
        loop.call_soon_threadsafe(self._start, produce)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._left = True
            self._blocks.clear()
            self._changed.notify_all()
            if not self._ended and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._cancel)
                self._changed.wait_for(lambda: self._ended or self._loop.is_closed(), _GRACE_SECONDS)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the blocks in order, then raise the producer's error if it had one."""
        while True:
            with self._changed:
                while not (self._blocks or self._ended):
                    if not self._changed.wait(WAKE_SECONDS):
                        self._must_live()
                if not self._blocks:
                    break
                block = self._blocks.popleft()
                self._queued_bytes -= len(block)
                self._changed.notify_all()
            yield block
        self._task.result()

    @property
    def rows(self) -> int:
        """Give the producer's own count of rows; only after the iteration has ended."""
        return self._task.result()

    def _start(self, produce: Callable[[Write], Coroutine[Any, Any, int]]) -> None:
        self._task = self._loop.create_task(self._fill(produce))
        self._task.add_done_callback(self._end)

    def _cancel(self) -> None:
        if not self._cancelled:  # a second time would cut the driver's clean-up short
            self._task.cancel()

    async def _fill(self, produce: Callable[[Write], Coroutine[Any, Any, int]]) -> int:
        rows = await produce(self._write)
        self._flush()
        return rows

    async def _write(self, rows: bytes) -> None:
        self._pending.append(rows)
        self._pending_bytes += len(rows)
        if self._pending_bytes >= self._block_bytes:
            self._flush()

    def _flush(self) -> None:
        if not self._pending_bytes:
            return
        block = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
        self._pending.clear()
        self._pending_bytes = 0
        with self._changed:
            # The loop serves this stream alone, so to stop it is the back-pressure: nothing more is read
            # from the socket, and the server waits.
            self._changed.wait_for(lambda: self._left or self._has_room(len(block)))
            if self._left:
                self._cancelled = True
                raise asyncio.CancelledError
            self._blocks.append(block)
            self._queued_bytes += len(block)
            self._changed.notify_all()

    def _has_room(self, size: int) -> bool:
        return not self._queued_bytes or self._queued_bytes + size <= self._queue_bytes

    def _end(self, task: asyncio.Task[int]) -> None:
        if not task.cancelled():
            task.exception()  # an error that no one waits for any more is no news
        with self._changed:
            self._ended = True
            self._changed.notify_all()
