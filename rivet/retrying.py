"""Begins an export anew, from a new snapshot, where its source failed in a way that may pass."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from rivet.errors import SourceStopped, SourceUnavailable
from rivet.outcome import ExportOutcome
from rivet.wording import counted

# Each pause is four times the one before: long enough for a server to come up again, and bounded.
FIRST_PAUSE_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 60.0


def begun_anew(
    attempt: Callable[[int], ExportOutcome],
    *,
    retries: int,
    tell: Callable[[str], None],
    sleep: Callable[[float], None],
) -> ExportOutcome:
    """Run an export, and again from its beginning, until its source serves it or the retries are used up.

    Nothing of a failed attempt is used by the next, unless with `resume: reuse` what it has published: its
    staged files are gone.
    The outcome has a warning for each attempt that failed.

    Args:
        attempt: Takes the number of the attempt, from 1.
        tell: Hears of each attempt that failed, before the pause.

    Raises:
        SourceUnavailable: The last attempt failed too, or waiting would not help.
    """
    warnings: list[str] = []
    for number in range(1, retries + 2):
        try:
            outcome = attempt(number)
        except SourceStopped:
            raise
        except SourceUnavailable as error:
            if number > retries:
                raise _with_attempts(error, number) from error
            pause = pause_seconds(number)
            attempts = f"attempt {number + 1} of {retries + 1}"
            warnings.append(f"{error}; begun anew from a new snapshot, {attempts}")
            tell(f"{error}; begins anew from a new snapshot in {pause:.0f} s, {attempts}")
            sleep(pause)
        else:
            return replace(outcome, warnings=(*warnings, *outcome.warnings))
    raise AssertionError("an attempt neither ended nor failed")


def pause_seconds(number: int) -> float:
    """Give the pause after an attempt: a share at random, so that several runs do not come all at once."""
    longest = min(FIRST_PAUSE_SECONDS * 4.0 ** (number - 1), LONGEST_PAUSE_SECONDS)
    return longest * random.uniform(0.5, 1)  # noqa: S311 - it only keeps runs apart


def _with_attempts(error: SourceUnavailable, number: int) -> SourceUnavailable:
    if number == 1:
        return error
    return type(error)(f"{error} (in each of {counted(number, 'attempt')})", hint=error.hint)
