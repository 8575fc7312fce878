"""Which windows of an export a run reads: all of them, or some; the rest of the tree is left as it is.

Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from rivet.plan.windows import NULL_VALUE, Axis, Window

Range = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Selection:
    """Whole windows of one axis, and whether the NULL rows are with them.

    Attributes:
        ranges: Half-open, in order, none touching the next, and each made of whole windows; None: that end
            has no bound.
        nulls: Whether the NULL partition is read too.
    """

    ranges: tuple[Range, ...] = ((None, None),)
    nulls: bool = True

    @property
    def is_everything(self) -> bool:
        """Tell whether nothing is left out."""
        return self.nulls and self.ranges == ((None, None),)

    def range_of(self, window: Window) -> int | None:
        """Give the number of the range that a window lies in, or None.

        >>> Selection(((0, 2), (5, None))).range_of(Window(6, 7, ""))
        1
        """
        starts = [float("-inf") if start is None else start for start, _ in self.ranges]
        number = bisect_right(starts, window.start) - 1
        if number < 0:
            return None
        end = self.ranges[number][1]
        return number if end is None or window.end <= end else None

    def holds(self, window: Window | None) -> bool:
        """Tell whether a window is selected; None is the NULL partition, or the only one there is."""
        return self.nulls if window is None else self.range_of(window) is not None

    def holds_value(self, value: str | None, axis: Axis | None) -> bool:
        """Tell whether the partition of a value is selected, as `PartitionEntry` has it.

        A value that is no label of the axis is selected where everything is.
        """
        if value is None or value == NULL_VALUE or axis is None:
            return self.nulls
        window = axis.window_of_label(value)
        return self.is_everything if window is None else self.holds(window)

    def without(self, windows: Iterable[Window], *, nulls: bool = False) -> Selection:
        """Leave windows out, and the NULL partition where `nulls` says so.

        >>> Selection().without([Window(3, 4, ""), Window(4, 5, "")], nulls=True)
        Selection(ranges=((None, 3), (5, None)), nulls=False)
        """
        ranges = list(self.ranges)
        for window in sorted(windows, key=lambda w: w.start):
            number = Selection(tuple(ranges)).range_of(window)
            if number is not None:
                start, end = ranges[number]
                ranges[number : number + 1] = _not_empty((start, window.start), (window.end, end))
        return replace(self, ranges=tuple(ranges), nulls=self.nulls and not nulls)

    def window_count(self, axis: Axis, minimum: int, maximum: int) -> int:
        """Count the selected windows, empty ones too, between two values, both closed."""
        count = 0
        for start, end in self.ranges:
            first = minimum if start is None else max(start, minimum)
            last = maximum if end is None else min(end - 1, maximum)
            count += axis.window_count(first, last) if first <= last else 0
        return count


EVERYTHING = Selection()


def selected(windows: Iterable[Window], *, nulls: bool = False) -> Selection:
    """Select some windows.

    >>> selected([Window(3, 4, ""), Window(1, 2, ""), Window(4, 5, "")])
    Selection(ranges=((1, 2), (3, 5)), nulls=False)
    """
    return of_ranges(((window.start, window.end) for window in windows), nulls=nulls)


def of_ranges(ranges: Iterable[Range], *, nulls: bool = False) -> Selection:
    """Select ranges of windows, in any order; those that touch or overlap become one.

    >>> of_ranges([(5, None), (None, 1), (7, 9), (1, 1), (1, 2)]).ranges
    ((None, 2), (5, None))
    """
    merged: list[Range] = []
    for start, end in sorted(ranges, key=lambda r: (r[0] is not None, r[0] or 0)):
        last_start, last_end = merged[-1] if merged else (None, None)
        if start is not None and end is not None and start >= end:
            continue
        if merged and (last_end is None or start is None or start <= last_end):
            merged[-1] = (last_start, None if last_end is None or end is None else max(last_end, end))
        else:
            merged.append((start, end))
    return Selection(tuple(merged), nulls)


def joined(selections: Iterable[Selection]) -> Selection:
    """Select what any of several selects.

    >>> joined([Selection(((0, 1),), nulls=False), Selection(((1, 2),), nulls=True)])
    Selection(ranges=((0, 2),), nulls=True)
    """
    every = list(selections)
    return of_ranges([r for s in every for r in s.ranges], nulls=any(s.nulls for s in every))


def in_few_ranges(selection: Selection, limit: int) -> Selection:
    """Give a selection of at most so many ranges that holds all of another, over the narrowest gaps.

    >>> in_few_ranges(Selection(((0, 1), (2, 3), (9, None)), nulls=False), 2).ranges
    ((0, 3), (9, None))
    """
    ranges = list(selection.ranges)
    gaps = sorted(((after[0] or 0) - (before[1] or 0), before[1]) for before, after in pairwise(ranges))
    closed = {end for _, end in gaps[: max(0, len(ranges) - limit)]}
    kept: list[Range] = []
    for start, end in ranges:
        if kept and kept[-1][1] in closed:
            kept[-1] = (kept[-1][0], end)
        else:
            kept.append((start, end))
    return Selection(tuple(kept), selection.nulls)


def _not_empty(*ranges: Range) -> list[Range]:
    return [(start, end) for start, end in ranges if start is None or end is None or start < end]
