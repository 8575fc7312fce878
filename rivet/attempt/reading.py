"""Says of the scans of a plan what each partition must give, how one is read alone, and how all were read.

Composition: a view of what was prepared.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from rivet.config.settings import ExportSettings
from rivet.export.intake import Intake
from rivet.manifest.model import ExportFile
from rivet.outcome import Reading
from rivet.plan.pace import KEY, reading_facts
from rivet.plan.scans import Reach, Scan, Sorter
from rivet.preparing.prepared import Prepared


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


def reading_of(prepared: Prepared, rows: int, seconds: float, intake: Intake) -> Reading:
    """Sum up how the rows of all scans were read.

    Args:
        rows: All that came.
        seconds: From the first query to the last row.
    """
    sorters = {scan.sorter for scan in prepared.scans} if prepared.sort_bytes else set()
    sorter = Sorter.RIVET if Sorter.RIVET in sorters else next(iter(sorters), None)
    return Reading(prepared.choice, sorter, rows, seconds, intake.bytes_read, intake.temporary_bytes)


def with_pace(export: ExportSettings, reading: Reading | None, finished: ExportFile) -> ExportFile:
    """Write into an export file how long the reading took, where the next run will want to know."""
    if reading is None or export.max_scan_seconds is None:
        return finished
    return replace(finished, extra={**finished.extra, KEY: reading_facts(reading.rows, reading.seconds)})
