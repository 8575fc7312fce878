"""What is known of an export before it is read: its description, the probe and the planned scans."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

from rivet.manifest.chunk_note import KeptChunk
from rivet.manifest.model import PartitionEntry
from rivet.plan.cursor import CursorValue
from rivet.plan.scans import Reach, Scan, WindowCount
from rivet.plan.selection import EVERYTHING, Selection
from rivet.plan.ways import ONE_SCAN, Choice
from rivet.preparing.described import Described
from rivet.source.protocol import Probe


@dataclass(frozen=True, slots=True)
class Prepared:
    """An export that is ready to be read.

    Attributes:
        described: With the columns in its relation whose unrepresentable values are to be NULL.
        counts: Rows of each window that holds any, selected or not, where they were counted.
        sort_bytes: The source's estimate of the largest sort, whoever does it.
        selection: The windows that are read and published.
        advice: What people should know of the queries, each a line.
        is_narrowed: Whether its relation has the rows of these windows alone; the probe is then of them, too.
        source_span: Then, smallest and largest value of the whole source, both closed, where they matter.
        adds_from: Bound of the cursor, closed, past which alone rows are read, and added to what stands; or
            None.
        taken: The chunks among the scans that an earlier run has finished, and this one does not read.
        left_by: Runs that have left such chunks, taken over or not.
        why: What the selection comes from, for people; empty where all is read as a matter of course.
        at_once: Scans that are read at once, each on a connection of its own.
        block_ranges: Connections that share the blocks of the one scan.
        choice: In what queries it is read, and why.
    """

    described: Described
    probe: Probe
    counts: tuple[WindowCount, ...] | None
    scans: tuple[Scan, ...]
    sort_bytes: int
    selection: Selection = EVERYTHING
    advice: tuple[str, ...] = ()
    is_narrowed: bool = False
    source_span: tuple[int, int] | None = None
    adds_from: CursorValue | None = None
    why: str = ""
    taken: Mapping[Scan, KeptChunk] = field(default_factory=dict)
    left_by: frozenset[str] = frozenset()
    at_once: int = 1
    block_ranges: int = 1
    choice: Choice = ONE_SCAN

    @property
    def scan_rows(self) -> tuple[int, int] | None:
        """Give the rows of the smallest and the largest scan; None where those of one are not known."""
        rows = [scan.expected_rows for scan in self.scans if scan.expected_rows is not None]
        return (min(rows), max(rows)) if rows and len(rows) == len(self.scans) else None

    @property
    def queries(self) -> tuple[Scan, ...]:
        """Give the scans that ask the source for rows."""
        return tuple(scan for scan in self.scans if scan not in self.taken)

    @property
    def reads_everything(self) -> bool:
        """Tell whether the scans give every row of the source, selected or not."""
        return self.selection.is_everything or any(s.reach is Reach.EVERYTHING for s in self.scans)

    @property
    def counts_read(self) -> tuple[WindowCount, ...] | None:
        """Give the counts of the windows that the scans reach, where windows were counted."""
        if self.counts is None or self.reads_everything:
            return self.counts
        ranges = [(s.start, s.end) for s in self.scans if s.start is not None and s.end is not None]
        starts = [start for start, _ in ranges]

        def is_read(count: WindowCount) -> bool:
            number = bisect_right(starts, count.start) - 1
            return number >= 0 and count.start < ranges[number][1]

        return tuple(c for c in self.counts if is_read(c))

    def span_of_source(self, came_through: tuple[int, int] | None) -> tuple[int, int] | None:
        """Give the smallest and largest value of the source, both closed; None where they are not known.

        Args:
            came_through: Those of the rows that were read.
        """
        if self.is_narrowed:
            return self.source_span
        return came_through if self.reads_everything else self.probe.span

    def is_selected(self, entry: PartitionEntry) -> bool:
        """Tell whether this run reads a live partition's window."""
        return self.selection.holds_value(entry.value, self.described.axis)
