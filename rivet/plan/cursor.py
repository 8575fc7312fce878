"""The cursor of an incremental export: which columns can be one, and how its values are told.

Pure. A value is an integer on the axis of a date, timestamp or instant, and else the number itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from rivet.errors import PlanError
from rivet.plan.calendar import (
    FIRST_DAY,
    format_day,
    format_timestamp,
    parse_day,
    parse_timestamp,
)
from rivet.plan.scans import WindowCount, counts_of_pieces
from rivet.plan.schema import Column, Fidelity, Kind
from rivet.plan.windows import Axis, units_per_day

CursorValue = int | Decimal


@dataclass(frozen=True, slots=True)
class Cursor:
    """What tells when a row was last changed.

    Attributes:
        column: A date, a timestamp, or a number that grows.
        fallback: Stands in where the column is NULL; of the same kind. None: nothing does.
    """

    column: Column
    fallback: Column | None = None

    @property
    def kind(self) -> Kind:
        """Give the kind of the values."""
        return self.column.type.kind


@dataclass(frozen=True, slots=True)
class Touched:
    """What a source holds past a bound of the cursor.

    Attributes:
        windows: The windows with such rows, and how many each has.
        null_rows: Such rows of the NULL partition.
        highest: The highest value of the cursor that is not in the future; None where there is none.
    """

    windows: tuple[WindowCount, ...] = ()
    null_rows: int = 0
    highest: CursorValue | None = None

    @property
    def rows(self) -> int:
        """Count the rows past the bound."""
        return sum(w.rows for w in self.windows) + self.null_rows


def touched_of_pieces(
    counted: Iterable[tuple[int | None, int]],
    highest: Iterable[CursorValue | None],
    axis: Axis,
    edges: tuple[int, ...],
) -> Touched:
    """Put together what a source counted by piece of a day (see `counts_of_pieces`), and apart from all.

    Args:
        counted: Number and rows of each piece; no number: of the rows that lie in no window.
        highest: Of the cursor, by piece.
        edges: The day edges of the axis, for any span.
    """
    rows = list(counted)
    pieces = [(number, count) for number, count in rows if number is not None]
    return Touched(
        tuple(counts_of_pieces(pieces, axis, edges, None)),
        sum(count for number, count in rows if number is None),
        max((value for value in highest if value is not None), default=None),
    )


def require_ordered(column: Column, engine: str, where: str) -> None:
    """Refuse a cursor whose values have no order that a source and Rivet agree on.

    Raises:
        PlanError: With the mend.
    """
    kind = column.type.kind
    is_decimal = kind is Kind.DECIMAL and engine != "sqlite"
    is_compared = engine == "sqlite" or column.fidelity is not Fidelity.LOSSY
    if (kind.is_temporal or kind.is_integer or is_decimal) and is_compared:
        return
    told = "a float, which is not exact" if kind in (Kind.FLOAT32, Kind.FLOAT64) else "neither"
    hint = (
        "name a column that every insert and update advances, such as updated_at; or cast it in a query to a "
        "timestamp or a whole number"
    )
    raise PlanError(
        f"{where}: column {column.name!r} is {column.source_type}, expected a date, a timestamp or a number "
        f"that grows, and it is {told}",
        hint=hint,
    )


def require_alike(cursor: Cursor, where: str) -> None:
    """Refuse a fallback whose values cannot be compared with the cursor's.

    Raises:
        PlanError: With the mend.
    """
    fallback = cursor.fallback
    if fallback is not None and fallback.type.kind is not cursor.kind:
        raise PlanError(
            f"{where}: column {fallback.name!r} is {fallback.source_type}, and {cursor.column.name!r} is "
            f"{cursor.column.source_type}, which cannot be compared",
            hint="name a column of the same type, or cast one of them in a query",
        )


def cursor_text(value: CursorValue, kind: Kind) -> str:
    """Write a value, with all its digits, as a watermark holds it.

    >>> cursor_text(1, Kind.INSTANT), cursor_text(Decimal("12.50"), Kind.DECIMAL)
    ('1970-01-01T00:00:00.000001Z', '12.50')
    """
    if kind is Kind.DATE:
        return format_day(int(value))
    if kind.is_temporal:
        return format_timestamp(int(value), utc=kind is Kind.INSTANT)
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def cursor_value(text: str, kind: Kind) -> CursorValue | None:
    """Read what `cursor_text` writes, or give None for any other text.

    >>> cursor_value("1970-01-02", Kind.DATE), cursor_value("-7", Kind.INT64), cursor_value("x", Kind.INT64)
    (1, -7, None)
    """
    value: CursorValue | None
    if kind is Kind.DATE:
        value = parse_day(text)
    elif kind.is_temporal:
        value = parse_timestamp(text, utc=kind is Kind.INSTANT)
    elif re.fullmatch(r"-?\d{1,80}(\.\d{1,80})?", text, re.ASCII):
        value = Decimal(text) if kind is Kind.DECIMAL else int(text) if "." not in text else None
    else:
        value = None
    return value if value is None or cursor_text(value, kind) == text else None


def lagging(value: CursorValue, lag: Decimal | timedelta | None, cursor: Cursor, where: str) -> CursorValue:
    """Give the bound, closed, from which on a run looks for changed rows: dates go back by whole days.

    Args:
        lag: How far below the value, for transactions that are committed late.

    Raises:
        PlanError: The lag is time and the cursor counts steps, or the other way round.

    >>> from rivet.plan.schema import ColumnType
    >>> column = Column("n", ColumnType(Kind.INT64), "bigint")
    >>> lagging(100, Decimal(10), Cursor(column), "$")
    90
    """
    kind = cursor.kind
    if lag is None:
        return value
    if isinstance(lag, timedelta) is not kind.is_temporal:
        other = "write a time, such as 15 minutes" if kind.is_temporal else "write a number, without a unit"
        raise PlanError(
            f"{where}: column {cursor.column.name!r} is {cursor.column.source_type}, of which that is no lag",
            hint=other,
        )
    if isinstance(lag, timedelta):
        unit = timedelta(days=1) if kind is Kind.DATE else timedelta(microseconds=1)
        return max(int(value) + -lag // unit, FIRST_DAY * units_per_day(kind))
    return value - lag if isinstance(value, Decimal) else value - math.ceil(lag)
