"""Says of the scans of a plan what each partition must give, and how one is read by itself.

Composition: a view of what was prepared.
"""

from __future__ import annotations

from collections.abc import Collection

from rivet.plan.scans import Reach, Scan
from rivet.prepared import Prepared


def rows_expected(prepared: Prepared, failed: Collection[str]) -> dict[str, int] | None:
    """Give the rows that the probe counted in each partition that is read, by path, where it did.

    Args:
        failed: Paths of the partitions that could not be read.
    """
    counts, layout = prepared.counts_read, prepared.described.layout
    if counts is None:
        # Of chunks that are of several moments the number alone is compared.
        return {layout.partition(None).path: prepared.probe.rows} if prepared.taken else None
    expected = {layout.partition(c.window).path: c.rows for c in counts}
    if (failed or prepared.taken or not prepared.reads_everything) and prepared.selection.nulls:
        expected[layout.partition(None).path] = prepared.probe.null_partition_rows
    return {path: rows for path, rows in expected.items() if path not in failed}


def scans_alone(prepared: Prepared, scan: Scan, *, per_partition: bool) -> dict[str, Scan] | None:
    """Give by path, in order, a scan of each partition that a scan reads; None where there is none.

    There is one where every window was counted in the snapshot, and no further pass over the table is needed.

    Args:
        per_partition: Whether the user wants one scan for each partition.
    """
    counts, described = prepared.counts, prepared.described
    if scan.reach is Reach.EVERYTHING or scan.chunk is not None or counts is None or not described.is_steady:
        return None
    if scan.start is None or scan.end is None:
        return {described.layout.partition(None).path: scan}
    if not (described.is_indexed or per_partition):
        return None
    return {
        described.layout.partition(c.window).path: Scan(Reach.RANGE, c.start, c.end, c.rows)
        for c in counts
        if scan.start <= c.start < scan.end and prepared.selection.holds(c.window)
    }
