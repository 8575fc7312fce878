"""Trying again: what may pass, so often, ever more slowly, and to a deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from rivet.destination.store.retrying import Patience, Retrying
from rivet.errors import DestinationDenied, DestinationUnavailable, IntegrityError, RivetError

QUICK = Patience(attempts=5, first_attempts=3, first_pause_seconds=0, longest_pause_seconds=0)


def _failing(times: int, error: RivetError, seen: list[int]) -> Callable[[int], str]:
    def work(tries: int) -> str:
        seen.append(tries)
        if len(seen) <= times:
            raise error
        return "done"

    return work


@pytest.mark.parametrize("error", [DestinationUnavailable("away"), IntegrityError("other bytes")])
def test_what_may_pass_is_tried_again(error: RivetError) -> None:
    """Work is done again until it succeeds, and knows that it is."""
    seen: list[int] = []

    assert Retrying(QUICK).run(_failing(2, error, seen)) == "done"
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("error", [DestinationDenied("no"), RivetError("a bug")])
def test_what_will_not_pass_is_not(error: RivetError) -> None:
    """What is refused is refused at once."""
    seen: list[int] = []
    with pytest.raises(type(error)):
        Retrying(QUICK).run(_failing(1, error, seen))

    assert seen == [0]


def test_attempts_are_bounded() -> None:
    """The last error is raised after so many attempts, fewer where nothing has ever succeeded."""
    retrying, seen = Retrying(QUICK), list[int]()
    with pytest.raises(DestinationUnavailable):
        retrying.run(_failing(99, DestinationUnavailable("away"), seen))
    assert len(seen) == 3
    retrying.run(lambda _: None)
    seen.clear()
    with pytest.raises(DestinationUnavailable):
        retrying.run(_failing(99, DestinationUnavailable("away"), seen))

    assert len(seen) == 5


def test_no_attempt_begins_after_the_deadline() -> None:
    """Slow failures end the trying by the clock, before the attempts do."""
    clock = iter(range(0, 10_000, 100))
    patience = Patience(attempts=99, first_attempts=99, deadline_seconds=350, first_pause_seconds=0)
    seen: list[int] = []
    with pytest.raises(DestinationUnavailable):
        Retrying(patience, now=lambda: next(clock)).run(_failing(99, DestinationUnavailable("away"), seen))

    assert len(seen) == 4


def test_pauses_grow_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses double up to the longest, each less a random share of at most half."""
    pauses: list[float] = []
    monkeypatch.setattr(threading.Event, "wait", lambda _, pause: pauses.append(pause))
    patience = Patience(attempts=6, first_attempts=6, first_pause_seconds=1, longest_pause_seconds=5)
    with pytest.raises(DestinationUnavailable):
        Retrying(patience).run(_failing(99, DestinationUnavailable("away"), []))

    longest = [1, 2, 4, 5, 5]
    assert len(pauses) == len(longest)
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, longest, strict=True))


def test_stop_ends_the_waiting() -> None:
    """Once stopped, a failure is raised where a pause would have been."""
    retrying, seen = Retrying(Patience(first_pause_seconds=9e3, longest_pause_seconds=9e3)), list[int]()
    retrying.stop()
    with pytest.raises(DestinationUnavailable):
        retrying.run(_failing(99, DestinationUnavailable("away"), seen))

    assert seen == [0]
