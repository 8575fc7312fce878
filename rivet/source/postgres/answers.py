"""Turns what the driver makes of the server's answers into values of the plan. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from rivet.plan.calendar import days_from_civil
from rivet.plan.cursor import CursorValue
from rivet.plan.schema import Column, Kind
from rivet.plan.windows import units_per_day
from rivet.source.protocol import Probe


def cursor_value(value: Any, kind: Kind) -> CursorValue | None:
    """Give a value of a cursor as the plan has it."""
    if value is None or not kind.is_temporal:
        number: CursorValue | None = value
        return number
    return on_axis(value, kind)


def probe_of(column: Column | None, rows: int, ends: Sequence[Any], counts: Mapping[str, int]) -> Probe:
    """Make a probe of what its statements gave.

    Args:
        ends: With a column, its rows that are not NULL, the least value and the greatest.
    """
    unrepresentable = tuple((name, count) for name, count in counts.items() if count)
    if column is None:
        return Probe(rows, unrepresentable=unrepresentable)
    not_null, minimum, maximum = ends
    return Probe(
        rows=rows,
        null_rows=rows - not_null,
        unrepresentable_rows=counts.get(column.name, 0),
        minimum=None if minimum is None else on_axis(minimum, column.type.kind),
        maximum=None if maximum is None else on_axis(maximum, column.type.kind),
        unrepresentable=unrepresentable,
    )


def on_axis(value: dt.date, kind: Kind) -> int:
    """Count days or microseconds since 1970 of what the driver made of a date, a timestamp or an instant.

    >>> on_axis(dt.datetime(1970, 1, 2, 0, 0, 0, 1), Kind.TIMESTAMP)
    86400000001
    """
    midnight = days_from_civil(value.year, value.month, value.day) * units_per_day(kind)
    if not isinstance(value, dt.datetime):
        return midnight
    since = dt.timedelta(hours=value.hour, minutes=value.minute, seconds=value.second)
    return midnight + since // dt.timedelta(microseconds=1) + value.microsecond
