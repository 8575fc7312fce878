"""Shares an export's rows among several workers, each with a connection of its own.

Pure. A partition is read by one worker, so that its files do not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rivet.plan.scans import Scan, WindowCount, plan_scans
from rivet.plan.selection import EVERYTHING, Selection

# A statement for fewer rows costs more than another worker gains.
LEAST_ROWS = 10_000
# So many scans for each worker: one that is done takes the next, and none waits long for the last.
_SCANS_EACH = 4
# All scans together may read as much as so many passes over the table.
MOST_PASSES = 2.5


def shared_scans(
    counts: Sequence[WindowCount],
    null_rows: int,
    *,
    parallel: int,
    max_scan_rows: int,
    selection: Selection = EVERYTHING,
) -> tuple[Scan, ...]:
    """Cut selected windows into scans of about equal rows, several for each worker.

    >>> counts = [WindowCount(day, day + 1, "", 30_000) for day in range(8)]
    >>> [(s.start, s.end, s.expected_rows) for s in shared_scans(counts, 0, parallel=1, max_scan_rows=10**6)]
    [(0, 2, 60000), (2, 4, 60000), (4, 6, 60000), (6, 8, 60000)]
    """
    rows = sum(c.rows for c in counts if selection.holds(c.window)) + null_rows
    share = max(LEAST_ROWS, -(-rows // (parallel * _SCANS_EACH)))
    return plan_scans(counts, null_rows, max_scan_rows=min(max_scan_rows, share), selection=selection)


def jobs_of(scans: Sequence[Scan]) -> tuple[tuple[Scan, ...], ...]:
    """Give what one worker reads by itself, the most rows first: a scan, or all chunks of one partition.

    >>> from rivet.plan.scans import Reach
    >>> scans = [Scan(Reach.RANGE, day, day + 1, rows) for day, rows in enumerate((5, 9, 7))]
    >>> [scan.start for scan, in jobs_of(scans)]
    [1, 2, 0]
    """
    jobs: list[tuple[Scan, ...]] = []
    for is_chunk, group in groupby(scans, lambda scan: scan.chunk is not None):
        if is_chunk:
            jobs += (tuple(chunks) for _, chunks in groupby(group, lambda scan: (scan.reach, scan.start)))
        else:
            jobs += ((scan,) for scan in group)
    return tuple(sorted(jobs, key=_rows, reverse=True))


def at_once(scans: Sequence[Scan], parallel: int) -> int:
    """Count the scans that are read at once, each by a worker."""
    return max(1, min(parallel, len(jobs_of(scans))))


def heavy_share(scans: Sequence[Scan], workers: int) -> int | None:
    """Give the share, in percent, of the job that keeps one worker busy while the others have none left.

    None where the jobs can be dealt out.

    >>> from rivet.plan.scans import Reach
    >>> heavy_share([Scan(Reach.RANGE, 0, 1, 990), Scan(Reach.RANGE, 1, 2, 10)], 2)
    99
    >>> heavy_share([Scan(Reach.RANGE, 0, 1, 50), Scan(Reach.RANGE, 1, 2, 60)], 2)
    """
    rows = [_rows(job) for job in jobs_of(scans)]
    total = sum(rows)
    return rows[0] * 100 // total if total and rows[0] * workers > 1.5 * total else None


def _rows(job: Sequence[Scan]) -> int:
    return sum(scan.expected_rows or 0 for scan in job)
