"""The bridge between a driver's thread and the consumer: order, bounds, errors, and leaving early."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from rivet.source import pipe
from rivet.source.pipe import BLOCK_BYTES, QUEUE_BYTES, ReaderThread, Write


@pytest.fixture
def reader() -> Iterator[ReaderThread]:
    """Give a reader thread, and show that it has ended afterwards."""
    before = threading.active_count()
    with ReaderThread() as thread:
        yield thread
    assert threading.active_count() == before


def rows_of(count: int, size: int) -> Callable[[Write], Coroutine[Any, Any, int]]:
    """Make a producer of numbered rows of a given size."""

    async def produce(write: Write) -> int:
        for i in range(count):
            await write(b"%0*d\n" % (size - 1, i))
        return count

    return produce


def test_blocks_hold_every_row_in_order(reader: ReaderThread) -> None:
    """Joined blocks are the rows as they were produced, each block ends at a row end, none is empty."""
    with reader.stream(rows_of(100_000, 64)) as stream:
        blocks = list(stream)

    assert b"".join(blocks) == b"".join(b"%063d\n" % i for i in range(100_000))
    assert stream.rows == 100_000
    assert all(len(b) % 64 == 0 and b for b in blocks)
    assert all(BLOCK_BYTES <= len(b) < BLOCK_BYTES + 64 for b in blocks[:-1])


def test_no_rows_make_no_block(reader: ReaderThread) -> None:
    """A producer without rows gives no block and a count of zero."""
    with reader.stream(rows_of(0, 8)) as stream:
        assert list(stream) == []
    assert stream.rows == 0


def test_a_slow_consumer_holds_the_producer_back(reader: ReaderThread) -> None:
    """What was produced and not yet taken never exceeds the queue and the two blocks in hand."""
    produced = taken = 0
    most = 0

    async def produce(write: Write) -> int:
        nonlocal produced, most
        for _ in range(64):
            await write(b"x" * (BLOCK_BYTES // 2 - 1) + b"\n")
            produced += BLOCK_BYTES // 2
            most = max(most, produced - taken)
        return 64

    with reader.stream(produce) as stream:
        for block in stream:
            taken += len(block)
    assert taken == 64 * BLOCK_BYTES // 2
    assert most <= QUEUE_BYTES + 2 * BLOCK_BYTES


def test_a_row_larger_than_the_queue_passes(reader: ReaderThread) -> None:
    """A single row may be larger than the whole queue."""
    with reader.stream(rows_of(3, QUEUE_BYTES + 10)) as stream:
        assert [len(b) for b in stream] == [QUEUE_BYTES + 10] * 3


def test_an_error_comes_after_the_rows_before_it(reader: ReaderThread) -> None:
    """The producer's own exception is raised where the iteration would have ended."""

    async def produce(write: Write) -> int:
        await write(b"x" * BLOCK_BYTES + b"\n")
        raise ConnectionResetError("gone")

    with reader.stream(produce) as stream:
        blocks = iter(stream)
        assert len(next(blocks)) == BLOCK_BYTES + 1
        with pytest.raises(ConnectionResetError, match="gone"):
            next(blocks)


@pytest.mark.parametrize("blocked", ["waiting for the server", "waiting for room"])
def test_leaving_early_cancels_the_producer(reader: ReaderThread, blocked: str) -> None:
    """A consumer that leaves stops the producer wherever it waits, and its clean-up is awaited."""
    cleaned = False

    async def produce(write: Write) -> int:
        nonlocal cleaned
        try:
            await write(b"x" * BLOCK_BYTES)
            if blocked == "waiting for the server":
                await asyncio.Event().wait()
            while True:
                await write(b"x" * BLOCK_BYTES)
        finally:
            await asyncio.sleep(0)
            cleaned = True

    with reader.stream(produce) as stream:
        next(iter(stream))
    assert cleaned
    with reader.stream(rows_of(1, 8)) as again:
        assert list(again) == [b"0000000\n"]


def test_leaving_before_the_producer_has_begun(reader: ReaderThread) -> None:
    """A stream that is never read ends as promptly."""
    for _ in range(20):
        with reader.stream(rows_of(10, 8)):
            pass


def test_an_interrupt_while_waiting_leaves_cleanly(reader: ReaderThread) -> None:
    """Ctrl-C reaches a consumer that waits for a block, and the producer is cancelled."""
    cancelled = False

    async def produce(_: Write) -> int:
        nonlocal cancelled
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled = True
            raise
        return 0

    with pytest.raises(KeyboardInterrupt), reader.stream(produce) as stream:
        list(stream)
    assert cancelled


def test_run_gives_results_and_errors(reader: ReaderThread) -> None:
    """A coroutine's result and its exception cross to the caller's thread."""

    async def give(value: int) -> int:
        if value < 0:
            raise ValueError("negative")
        return value

    assert reader.run(give(7)) == 7
    with pytest.raises(ValueError, match="negative"):
        reader.run(give(-1))


def test_a_connection_that_fails_is_told_to_its_driver_alone(
    reader: ReaderThread, caplog: pytest.LogCaptureFixture
) -> None:
    """A driver that stumbles over data that no one waits for loses its connection, without a word."""
    ours, theirs = socket.socketpair()

    class Stumbling(asyncio.Protocol):
        def __init__(self) -> None:
            self.lost = asyncio.get_running_loop().create_future()

        def data_received(self, _data: bytes) -> None:
            raise RuntimeError("no one waits")

        def connection_lost(self, exc: Exception | None) -> None:
            self.lost.set_result(exc)

    async def stumble() -> Exception | None:
        _, protocol = await asyncio.get_running_loop().create_connection(Stumbling, sock=ours)
        theirs.send(b"late")
        lost: Exception | None = await protocol.lost
        return lost

    with theirs:
        assert str(reader.run(stumble())) == "no one waits"
    assert caplog.records == []


def test_closing_ends_a_task_that_is_still_under_way() -> None:
    """Closing the thread cancels what its connection is still doing."""
    ended = threading.Event()

    async def linger() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def begin() -> None:
        tasks.append(asyncio.get_running_loop().create_task(linger()))
        await asyncio.sleep(0)

    tasks: list[asyncio.Task[None]] = []
    reader = ReaderThread()
    reader.run(begin())
    reader.close()
    reader.close()
    assert ended.is_set()


def test_a_reader_that_dies_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ends the thread itself is told where its rows are awaited, and whatever is asked of it later."""
    awaited = threading.Event()

    class Broken(asyncio.SelectorEventLoop):
        def run_forever(self) -> None:
            awaited.wait(60)
            raise ZeroDivisionError

    async def work() -> None:
        pass

    monkeypatch.setattr(pipe, "new_event_loop", Broken)
    with ReaderThread() as reader:
        stream = reader.stream(rows_of(1, 8))
        awaited.set()
        with (
            pytest.raises(RuntimeError, match="the thread that reads from the source has died") as told,
            stream,
        ):
            list(stream)
        assert isinstance(told.value.__cause__, ZeroDivisionError)
        with pytest.raises(RuntimeError, match="the thread that reads from the source has died"):
            reader.run(work())
