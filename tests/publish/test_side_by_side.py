"""Questions to a store are asked side by side, and answered in order."""

from __future__ import annotations

import threading

import pytest

from rivet.destination.memory import MemoryDestination
from rivet.publish.side_by_side import side_by_side


@pytest.mark.parametrize("concurrency", [1, 4])
def test_results_come_in_the_order_of_items_from_no_more_threads_than_the_store_likes(
    monkeypatch: pytest.MonkeyPatch, concurrency: int
) -> None:
    """However many answers are waited for at once, each stands where its question stood."""
    monkeypatch.setattr(MemoryDestination, "concurrency", concurrency)
    together = threading.Barrier(concurrency)
    threads = set()

    def work(item: int) -> int:
        together.wait(60)  # passes only where as many are under way
        threads.add(threading.get_ident())
        return item * 2

    assert side_by_side(MemoryDestination(), work, range(40)) == list(range(0, 80, 2))
    assert len(threads) == concurrency


@pytest.mark.parametrize("concurrency", [1, 4])
def test_the_first_error_in_order_is_raised(monkeypatch: pytest.MonkeyPatch, concurrency: int) -> None:
    """Where several fail, what is told does not hang on which was quicker."""
    monkeypatch.setattr(MemoryDestination, "concurrency", concurrency)
    second_failed = threading.Event()

    def work(item: int) -> None:
        if item == 1 and concurrency > 1:
            second_failed.wait(60)
        if item == 2:
            second_failed.set()
        if item:
            raise ValueError(item)

    with pytest.raises(ValueError, match="1"):
        side_by_side(MemoryDestination(), work, range(4))
