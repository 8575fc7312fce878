"""An export whose source fails in a way that may pass is begun anew, for a bounded number of times."""

from __future__ import annotations

import pytest

from rivet.errors import ColumnError, SourceDenied, SourceError, SourceStopped, SourceUnavailable
from rivet.outcome import ExportOutcome
from rivet.retrying import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, begun_anew, pause_seconds

DONE = ExportOutcome("events", "complete", 0, "/srv/", warnings=("no index",))


class Attempts:
    """Attempts that end as they are told to."""

    def __init__(self, *endings: Exception) -> None:
        self._endings = list(endings)
        self.numbers: list[int] = []
        self.told: list[str] = []
        self.slept: list[float] = []

    def run(self, retries: int) -> ExportOutcome:
        """Begin, with so many retries."""
        return begun_anew(self._attempt, retries=retries, tell=self.told.append, sleep=self.slept.append)

    def _attempt(self, number: int) -> ExportOutcome:
        self.numbers.append(number)
        if self._endings:
            raise self._endings.pop(0)
        return DONE


def test_what_may_pass_is_tried_again() -> None:
    """Each failure is told before the pause and stands among the warnings; attempts are numbered."""
    attempts = Attempts(SourceUnavailable("gone"), SourceUnavailable("going up"))

    outcome = attempts.run(3)

    assert attempts.numbers == [1, 2, 3]
    assert [line.partition(";")[0] for line in attempts.told] == ["gone", "going up"]
    assert outcome.warnings == (
        "gone; begun anew from a new snapshot, attempt 2 of 4",
        "going up; begun anew from a new snapshot, attempt 3 of 4",
        "no index",
    )
    assert len(attempts.slept) == 2


def test_the_last_failure_is_the_exports() -> None:
    """With no retries left the error is the last one, says how often it was tried, and keeps its mend."""
    attempts = Attempts(*(SourceUnavailable(f"down {n}", hint="start it") for n in range(9)))

    with pytest.raises(SourceUnavailable, match=r"^down 2 \(in each of 3 attempts\)$") as raised:
        attempts.run(2)

    assert (raised.value.hint, raised.value.exit_code) == ("start it", 3)
    assert attempts.numbers == [1, 2, 3]
    assert len(attempts.slept) == 2


@pytest.mark.parametrize("kind", [SourceStopped, SourceDenied, SourceError, ColumnError, ZeroDivisionError])
def test_what_would_come_again_is_not_tried(kind: type[Exception]) -> None:
    """A statement that was stopped, a refusal and a bug end the export at once."""
    attempts = Attempts(kind("no"))

    with pytest.raises(kind, match=r"^no$"):
        attempts.run(3)

    assert (attempts.numbers, attempts.slept) == ([1], [])


def test_no_retries_are_wanted() -> None:
    """With `retries: 0` the error is as it came."""
    attempts = Attempts(SourceUnavailable("gone"))

    with pytest.raises(SourceUnavailable, match=r"^gone$"):
        attempts.run(0)

    assert attempts.slept == []


def test_pauses_grow_and_are_bounded() -> None:
    """The first is of seconds, each may be four times as long, and none is longer than a minute."""
    for number, most in enumerate((2, 8, 32, 60, 60, 60, 60, 60, 60, 60), start=1):
        assert all(most / 2 <= pause_seconds(number) <= most for _ in range(20))
    assert (FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS) == (2, 60)
