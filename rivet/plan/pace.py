"""How fast a source is read, and how many rows a scan may have to take no longer than the user wants.

Pure.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from rivet.wording import counted

KEY = "reading"

# Shorter ones say nothing of a rate.
_LEAST_SECONDS = 0.05
_MOST = 10**15  # of rows or seconds: beyond it somebody has written nonsense
# To count rows takes a server a small part of what it takes to render, sort and send them: a fifteenth to a
# seventeenth with the table that benchmarks/ reads.
_COUNTED_FOR_ONE_READ = 20


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a source is read.

    Attributes:
        learned_from: Where that is known from, for people.
    """

    rows_per_second: float
    learned_from: str


def pace_of_reading(rows: int, seconds: float, run_id: str) -> Pace | None:
    """Learn from the scans of a run; None where they were too short to say anything."""
    if not (seconds >= _LEAST_SECONDS and rows > 0):  # nor is it where somebody wrote NaN
        return None
    return Pace(rows / seconds, f"run {run_id!r}, which read {counted(rows, 'row')} in {seconds:.1f} s")


def pace_of_probe(rows: int, seconds: float) -> Pace | None:
    """Guess from the time that a probe took to count rows; None where it was too short.

    >>> pace_of_probe(3_000_000, 0.3).rows_per_second
    500000.0
    """
    if not (seconds >= _LEAST_SECONDS and rows > 0):  # nor is it where somebody wrote NaN
        return None
    told = f"a guess by the probe, which counted {counted(rows, 'row')} in {seconds:.1f} s"
    return Pace(rows / seconds / _COUNTED_FOR_ONE_READ, told)


def rows_within(max_scan_rows: int, max_scan_seconds: float | None, pace: Pace | None) -> tuple[int, str]:
    """Give the most rows of a scan, and where that number comes from, for people.

    >>> rows_within(50_000_000, 60, Pace(1000.0, "run 'r'"))
    (60000, "max_scan_seconds (60 s at 1,000 rows/s, by run 'r')")
    >>> rows_within(50_000_000, 60, None)
    (50000000, 'max_scan_rows (max_scan_seconds: how fast this source is read is not known yet)')
    """
    if max_scan_seconds is None:
        return max_scan_rows, "max_scan_rows"
    if pace is None:
        reason = "max_scan_seconds: how fast this source is read is not known yet"
        return max_scan_rows, f"max_scan_rows ({reason})"
    rows = max(1, int(pace.rows_per_second * max_scan_seconds))
    rate = f"{pace.rows_per_second:,.0f} rows/s, by {pace.learned_from}"
    if rows >= max_scan_rows:
        return max_scan_rows, f"max_scan_rows (max_scan_seconds would allow {rows:,}, at {rate})"
    return rows, f"max_scan_seconds ({max_scan_seconds:g} s at {rate})"


def too_long(
    rows: int, max_scan_seconds: float | None, pace: Pace | None, *, where: str, mend: str
) -> str | None:
    """Warn of a scan that will take longer than the user wants; None where none is known to.

    Args:
        rows: Of the largest scan.
        where: The export's place in the config.
        mend: What would make it shorter.
    """
    if max_scan_seconds is None or pace is None:
        return None
    seconds = rows / pace.rows_per_second
    if seconds <= max_scan_seconds:
        return None
    return (
        f"{where}.max_scan_seconds: the largest scan, {counted(rows, 'row')}, takes about {seconds:,.0f} s "
        f"at {pace.rows_per_second:,.0f} rows/s, by {pace.learned_from}: {mend}"
    )


def pace_of_whole_run(rows: int, started_at: str, finished_at: str, run_id: str) -> Pace | None:
    """Learn from how long a run took, which has also waited and published: rather too slow than too fast.

    Args:
        started_at: RFC 3339, as `finished_at`.

    >>> pace_of_whole_run(600, "2023-01-01T00:00:00.000000Z", "2023-01-01T00:01:00.000000Z", "r")
    Pace(rows_per_second=10.0, learned_from="run 'r', which read 600 rows in 60.0 s")
    """
    try:
        took = dt.datetime.fromisoformat(finished_at) - dt.datetime.fromisoformat(started_at)
    except (ValueError, TypeError):  # somebody has written something else into the file
        return None
    return pace_of_reading(rows, took.total_seconds(), run_id)


def reading_facts(rows: int, seconds: float) -> dict[str, object]:
    """Write down, for the export file, what a run has read in what time."""
    return {"rows": rows, "seconds": round(seconds, 3)}


def pace_of_last_run(extra: Mapping[str, object], run_id: str) -> Pace | None:
    """Learn from what the last run has written down; None where it says nothing that is of use.

    Args:
        extra: The further keys of the export file.

    >>> pace_of_last_run({"reading": {"rows": 1000, "seconds": 2.0}}, "r").rows_per_second
    500.0
    >>> pace_of_last_run({"reading": {"rows": "many"}}, "r") is None
    True
    """
    found = extra.get(KEY)
    if not isinstance(found, Mapping):
        return None
    rows, seconds = found.get("rows"), found.get("seconds")
    if isinstance(rows, bool) or not isinstance(rows, int) or abs(rows) > _MOST:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or abs(seconds) > _MOST:
        return None
    return pace_of_reading(rows, float(seconds), run_id)
