"""Many things are done in order, by the calling thread or side by side."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from rivet.validate.pace import Pace

MANY = range(100)


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("worth", [0, 1e9])
@pytest.mark.parametrize("many", [MANY, range(1), range(0), range(32)])
def test_order(monkeypatch: pytest.MonkeyPatch, many: range, worth: float, *, at_once: bool) -> None:
    """Results come in the order of the items, each once, whoever makes them."""
    monkeypatch.setattr("rivet.validate.pace._WORTH_THREADS", worth)
    with ThreadPoolExecutor(4) as pool:
        assert list(Pace(pool, at_once=at_once).map(str, many)) == [str(number) for number in many]


def test_waiting() -> None:
    """What waits for one another is under way at the same time where the pool is used from the beginning."""
    together = threading.Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        done = Pace(pool, at_once=True).map(lambda _: together.wait(60), range(4))

        assert sorted(done) == [0, 1, 2, 3]


def test_own_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not wait is done by the calling thread, and what does by others after a while."""
    threads: list[int] = []
    monkeypatch.setattr("rivet.validate.pace._WORTH_THREADS", 1e9)
    with ThreadPoolExecutor(4) as pool:
        list(Pace(pool, at_once=False).map(lambda _: threads.append(threading.get_ident()), MANY))
        assert set(threads) == {threading.get_ident()}

        threads.clear()
        monkeypatch.setattr("rivet.validate.pace._WORTH_THREADS", 0)
        list(Pace(pool, at_once=False).map(lambda _: threads.append(threading.get_ident()), MANY))
        assert len(set(threads[:32])) == 1
        assert threading.get_ident() not in threads[32:]
