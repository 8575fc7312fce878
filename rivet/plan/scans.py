"""Scans: which queries read an export, decided from what the probe found.

Pure. One ordered scan of everything is the rule; several, of bounded rows, where an index serves the
partition column and the table is large.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from rivet.plan.blocks import Blocks
from rivet.plan.chunks import Chunk
from rivet.plan.selection import EVERYTHING, Selection
from rivet.plan.windows import Axis, Window, units_per_day
from rivet.plan.zones import DAY_SECONDS


class Reach(StrEnum):
    """Which rows a scan reads."""

    EVERYTHING = "everything"
    RANGE = "range"
    NULLS = "nulls"


class Sorter(StrEnum):
    """Who puts the rows of a scan in order: the source's server, or Rivet after it has read them."""

    SOURCE = "source"
    RIVET = "rivet"


@dataclass(frozen=True, slots=True)
class Scan:
    """One query: everything, the rows of `[start, end)`, or the rows with a NULL partition column.

    Attributes:
        reach: Which rows.
        start: First value of the range on the axis, closed; None unless RANGE.
        end: End of the range, open; None unless RANGE.
        expected_rows: Rows that the probe counted in it, or None where it counted only a total.
        sorter: By RIVET the rows are read as they come.
        chunk: Which of those rows, in `mode: chunked`; they come in the order of its columns. None: all.
        blocks: Which of those rows, by where the table holds them, sorted by RIVET alone. None: all.
    """

    reach: Reach
    start: int | None = None
    end: int | None = None
    expected_rows: int | None = None
    sorter: Sorter = Sorter.SOURCE
    chunk: Chunk | None = None
    blocks: Blocks | None = None


def largest_of(scans: Sequence[Scan]) -> Scan:
    """Give the scan of the most rows, as far as they were counted, of at least one.

    >>> largest_of([Scan(Reach.NULLS, expected_rows=2), Scan(Reach.EVERYTHING)]).reach.value
    'nulls'
    """
    return max(scans, key=lambda scan: scan.expected_rows or 0)


@dataclass(frozen=True, slots=True)
class WindowCount:
    """How many rows the source holds in one window that is not empty."""

    start: int
    end: int
    label: str
    rows: int

    @property
    def window(self) -> Window:
        """Give the window itself."""
        return Window(self.start, self.end, self.label)


def counts_of_values(counted: Iterable[tuple[int, int]], axis: Axis) -> list[WindowCount]:
    """Add up rows that were counted by value, in order, into the windows that the values fall into.

    >>> from rivet.plan.calendar import Granularity
    >>> from rivet.plan.schema import Kind
    >>> axis = Axis(Kind.DATE, Granularity.MONTH)
    >>> [(c.label, c.rows) for c in counts_of_values([(0, 5), (30, 1), (31, 7)], axis)]
    [('1970-01', 6), ('1970-02', 7)]
    """
    counts: list[WindowCount] = []
    for value, rows in counted:
        if counts and value < counts[-1].end:
            counts[-1] = replace(counts[-1], rows=counts[-1].rows + rows)
        else:
            window = axis.window_of(value)
            counts.append(WindowCount(window.start, window.end, window.label, rows))
    return counts


def counts_of_pieces(
    counted: Iterable[tuple[int, int]],
    axis: Axis,
    edges: tuple[int, ...],
    span: tuple[int, int] | None,
) -> list[WindowCount]:
    """Add up rows that a server counted by piece of a day, in order, into the windows that the pieces lie in.

    The edges cut each day into pieces, which are numbered in order: the number of a value is the sum, over
    all edges, of the whole days from 1970-01-01 to the value less the edge. A server can reckon that without
    knowing a zone, and a day has as few pieces as the zone has offsets.

    Args:
        counted: Number and rows of each piece that holds any.
        edges: The day edges of the axis for the span.
        span: The smallest and the largest value, both closed, or None.

    >>> from rivet.plan.calendar import Granularity
    >>> from rivet.plan.schema import Kind
    >>> axis = Axis(Kind.INSTANT, Granularity.DAY, "Europe/Berlin")
    >>> [(c.label, c.rows) for c in counts_of_pieces([(19674, 5), (19675, 1)], axis, (82_800,), None)]
    [('2023-11-14', 5), ('2023-11-15', 1)]
    """
    return counts_of_values(((piece_start(n, axis, edges, span), rows) for n, rows in counted), axis)


def piece_start(number: int, axis: Axis, edges: tuple[int, ...], span: tuple[int, int] | None) -> int:
    """Give the first value of a piece of a day, as `counts_of_pieces` numbers them."""
    units = units_per_day(axis.kind)
    # The number grows by one at each edge. Before the first edge of a day goes on what the last one of the
    # day before began.
    day, edges_passed = divmod(number, len(edges))
    start = (day + (edges_passed > 0)) * units + edges[edges_passed - 1] * units // DAY_SECONDS
    return start if span is None else max(start, span[0])  # edges before the span were not asked for


def plan_scans(
    counts: Sequence[WindowCount], null_rows: int, *, max_scan_rows: int, selection: Selection = EVERYTHING
) -> tuple[Scan, ...]:
    """Group selected windows, in order, into scans of at most max_scan_rows, NULL rows in one of their own.

    A window larger than that is a scan by itself; empty windows cost nothing. No scan reaches over a window
    that is not selected.

    >>> counts = [WindowCount(0, 1, "a", 5), WindowCount(1, 2, "b", 6), WindowCount(9, 10, "c", 1)]
    >>> [(s.start, s.end, s.expected_rows) for s in plan_scans(counts, 0, max_scan_rows=11)]
    [(0, 2, 11), (9, 10, 1)]
    """
    scans: list[Scan] = []
    group: list[WindowCount] = []
    rows, before = 0, None

    def close() -> None:
        if group:
            scans.append(Scan(Reach.RANGE, group[0].start, group[-1].end, rows))
            group.clear()

    for count in counts:
        number = selection.range_of(count.window)
        if number is None:
            continue
        if group and (rows + count.rows > max_scan_rows or number != before):
            close()
        rows = count.rows + (rows if group else 0)
        before = number
        group.append(count)
    close()
    if null_rows and selection.nulls:
        scans.append(Scan(Reach.NULLS, expected_rows=null_rows))
    return tuple(scans)


def hull_scans(counts: Sequence[WindowCount], null_rows: int, selection: Selection) -> tuple[Scan, ...]:
    """Give one scan from the first selected window that holds rows to the last, and one of the NULL rows.

    So a table without an index is not passed over once for each range. What lies between is read, counted
    and not written.

    >>> from rivet.plan.selection import selected
    >>> counts = [WindowCount(day, day + 1, "", 5) for day in range(9)]
    >>> picked = selected([c.window for c in counts[2:6:2]])
    >>> [(s.start, s.end, s.expected_rows) for s in hull_scans(counts, 1, picked)]
    [(2, 5, 15)]
    """
    held = [c for c in counts if selection.holds(c.window)]
    nulls = plan_scans((), null_rows, max_scan_rows=1, selection=selection)
    if not held:
        return nulls
    start, end = held[0].start, held[-1].end
    rows = sum(c.rows for c in counts if start <= c.start < end)
    return (Scan(Reach.RANGE, start, end, rows), *nulls)
