"""The pool that sends: bounded in bytes, and honest about what failed."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from contextlib import closing

import pytest

from rivet.destination.store.pool import UploadPool, finish_all


def test_bytes_in_flight_are_bounded() -> None:
    """What does not fit waits until something was sent; one that is larger than all goes alone."""
    with closing(UploadPool(4, 100)) as pool:
        held, begun = threading.Event(), threading.Event()

        def wait() -> None:
            assert held.wait(60)

        first = pool.submit(60, wait)
        second = threading.Thread(target=lambda: pool.submit(60, begun.set))
        second.start()
        assert not begun.wait(0.05)
        held.set()
        assert begun.wait(60)
        second.join()
        first.result()

        pool.submit(1000, lambda: None).result()
        assert pool.sent_bytes == 1120


def test_work_in_flight_is_bounded_in_number() -> None:
    """On threads of the pool and on those that ask, no more is done at once than the pool has threads."""
    together = threading.Barrier(3)
    lock, under_way, most = threading.Lock(), 0, 0

    def work() -> None:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        together.wait(60)  # each three are there at once
        with lock:
            under_way -= 1
        together.wait(60)

    with closing(UploadPool(3, 100)) as pool:
        futures = [pool.submit(1, work) for _ in range(6)]
        asking = [threading.Thread(target=pool.run, args=(1, work)) for _ in range(6)]
        for thread in asking:
            thread.start()
        finish_all(futures)
        for thread in asking:
            thread.join()
    assert most == 3


def test_failed_work_gives_its_room_back() -> None:
    """Work that fails or is dropped takes no room, and is not counted as sent."""

    def fail() -> None:
        raise ValueError("no")

    with closing(UploadPool(1, 10)) as pool:
        for _ in range(5):
            with pytest.raises(ValueError, match="no"):
                finish_all([pool.submit(10, fail)])
        finish_all([pool.submit(10, lambda: None)])

        assert pool.sent_bytes == 10


def test_the_first_failure_drops_what_has_not_begun() -> None:
    """Where one fails, those behind it are not begun, and those under way are waited for."""
    futures: list[Future[None]] = []
    submitted, last = threading.Event(), threading.Event()

    def fail() -> None:
        submitted.wait(60)
        raise ValueError("no")

    def hold() -> None:
        assert last.wait(60)

    with closing(UploadPool(2, 1000)) as pool:
        futures += [pool.submit(1, work) for work in (fail, hold, hold, lambda: None)]
        futures[-1].add_done_callback(lambda _: last.set())
        submitted.set()
        with pytest.raises(ValueError, match="no"):
            finish_all(futures)

        assert [future.cancelled() for future in futures] == [False, False, False, True]
        assert all(future.done() for future in futures)
