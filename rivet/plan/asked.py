"""Decides which windows a user selects: by dates and labels on the command line, or the last ones of a tree.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from rivet.errors import PlanError
from rivet.plan.calendar import Granularity, civil_from_days, days_from_civil, format_day
from rivet.plan.selection import Range, Selection
from rivet.plan.windows import NULL_VALUE, Axis, Window

_DATE = re.compile(r"([+-]?\d{4,})-(\d\d)-(\d\d)")
_NULL_WORDS = ("NULL", NULL_VALUE)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line selects, in the user's own words.

    Attributes:
        since: The date at which the first window begins, or its label.
        until: The date at which the last window ends, or the label of the window behind it.
        partitions: Labels of windows, and `NULL`.
    """

    since: str | None = None
    until: str | None = None
    partitions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether anything is selected, and so not everything is read."""
        return self != Asked()


def selection_asked(asked: Asked, axis: Axis) -> Selection:
    """Give the windows that the words select.

    Raises:
        PlanError: A date is none or lies inside a window, nothing lies between two of them, or a label is not
            one of the axis; with the mend.
    """
    ranges: list[Range] = []
    if asked.since is not None or asked.until is not None:
        ranges.append(_between(asked.since, asked.until, axis))
    labels = [label for label in asked.partitions if label not in _NULL_WORDS]
    windows = [_window(label, axis) for label in labels]
    ranges += [(window.start, window.end) for window in windows]
    return together(ranges, nulls=len(labels) < len(asked.partitions))


def together(ranges: Iterable[Range], *, nulls: bool = False) -> Selection:
    """Select ranges of windows, in any order; those that touch or overlap become one.

    >>> together([(5, None), (None, 1), (7, 9), (1, 1), (1, 2)]).ranges
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
    return together([r for s in every for r in s.ranges], nulls=any(s.nulls for s in every))


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


def last_windows(labels: Iterable[str | None], count: int, axis: Axis, now: int) -> Selection | None:
    """Select the last windows of a tree and all that lies behind them; None where it has none.

    Windows that begin in the future are selected, and not counted: rows of a wrong date hide nothing.

    Args:
        labels: Of the partitions of the tree.
        now: The present on the axis.
    """
    found = (axis.window_of_label(label) for label in labels if label is not None and label != NULL_VALUE)
    starts = sorted(window.start for window in found if window is not None)
    past = [start for start in starts if start <= now] or starts
    if not past:
        return None
    return Selection(((past[-count] if count <= len(past) else None, None),), nulls=False)


def _between(since: str | None, until: str | None, axis: Axis) -> Range:
    start = None if since is None else _edge("--since", since, axis)
    end = None if until is None else _edge("--until", until, axis)
    if start is not None and end is not None and start >= end:
        raise PlanError(
            f"no window lies between --since {since} and --until {until}",
            hint="--until is the date behind the last window: for one window write the date at which the "
            "next one begins",
        )
    return start, end


def _edge(option: str, text: str, axis: Axis) -> int:
    """Give the value at which a window begins."""
    by_label = axis.window_of_label(text)
    if by_label is not None:
        return by_label.start
    day = _day(text)
    if day is None:
        raise PlanError(
            f"{option}: {text!r} is no date", hint=f"write one as YYYY-MM-DD{_or_label(axis.granularity)}"
        )
    value = axis.start_of_day(day)
    window = axis.window_of(value)
    if window.start != value:
        before, behind = (format_day(axis.day_of(edge)) for edge in (window.start, window.end))
        raise PlanError(
            f"{option}: {text} lies inside the window {window.label}, which is read as a whole or not at all",
            hint=f"write {before} or {behind}",
        )
    return value


def _window(label: str, axis: Axis) -> Window:
    window = axis.window_of_label(label)
    if window is None:
        day = _day(label)
        holding = None if day is None else axis.window_of(axis.start_of_day(day)).label
        near = "" if holding in (None, label) else f"; {label} is in {holding}"
        raise PlanError(
            f"--partition: {label!r} is no label of a window by {axis.granularity}",
            hint=f"write one as {axis.value_format}, or NULL for the NULL partition{near}",
        )
    return window


def _day(text: str) -> int | None:
    """Read a date as days since 1970-01-01."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day = map(int, match.groups())
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    days = days_from_civil(year, month, day)
    return days if civil_from_days(days) == (year, month, day) else None


def _or_label(granularity: Granularity) -> str:
    form = {Granularity.MONTH: "YYYY-MM", Granularity.YEAR: "YYYY"}.get(granularity)
    return "" if form is None else f", or as {form}"
