"""Decides which windows a user selects: by dates and labels on the command line, or the last ones of a tree.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rivet.errors import PlanError
from rivet.plan.calendar import Granularity, format_day, parse_day
from rivet.plan.selection import Range, Selection, of_ranges
from rivet.plan.windows import NULL_LABEL, NULL_VALUE, Axis, Window

_NULL_WORDS = (NULL_LABEL, NULL_VALUE)


def selection_asked(
    axis: Axis, *, since: str | None = None, until: str | None = None, partitions: Sequence[str] = ()
) -> Selection:
    """Give the windows that the command line selects.

    Args:
        since: The date at which the first window begins, or its label.
        until: The date at which the last window ends, or the label of the window behind it.
        partitions: Labels of windows, and `NULL`.

    Raises:
        PlanError: A date is none or lies inside a window, nothing lies between two of them, or a label is not
            one of the axis; with the mend.
    """
    ranges: list[Range] = []
    if since is not None or until is not None:
        ranges.append(_between(since, until, axis))
    labels = [label for label in partitions if label not in _NULL_WORDS]
    windows = [_window(label, axis) for label in labels]
    ranges += [(window.start, window.end) for window in windows]
    return of_ranges(ranges, nulls=len(labels) < len(partitions))


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
    day = parse_day(text)
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
        day = parse_day(label)
        holding = None if day is None else axis.window_of(axis.start_of_day(day)).label
        near = "" if holding in (None, label) else f"; {label} is in {holding}"
        raise PlanError(
            f"--partition: {label!r} is no label of a window by {axis.granularity}",
            hint=f"write one as {axis.value_format}, or NULL for the NULL partition{near}",
        )
    return window


def _or_label(granularity: Granularity) -> str:
    form = {Granularity.MONTH: "YYYY-MM", Granularity.YEAR: "YYYY"}.get(granularity)
    return "" if form is None else f", or as {form}"
