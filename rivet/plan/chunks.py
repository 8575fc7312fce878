"""Chunks: the pieces of one partition in `mode: chunked`, each read by a query of its own.

Pure. A chunk is a range of a second column, a page of a key, or the rows that have NULL there. The values of
a chunk column are whole steps on its own line: of numbers the unit of their last digit, of dates a day, of
timestamps a microsecond. Steps are Python's integers, which cannot overflow.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from rivet.plan.calendar import format_day, format_timestamp
from rivet.plan.schema import Column, Kind


@dataclass(frozen=True, slots=True)
class Line:
    """The values of a column that can be cut into ranges, as whole steps.

    Attributes:
        scale: Digits behind the point of a step; 0 but for decimals.
    """

    column: Column
    scale: int = 0

    @property
    def is_decimal(self) -> bool:
        """Tell whether steps are parts of a decimal number, and values may lie between two of them."""
        return not (self.column.type.kind.is_integer or self.column.type.kind.is_temporal)

    def number(self, step: int) -> str:
        """Write a step of a column of numbers as digits.

        >>> from rivet.plan.schema import ColumnType
        >>> Line(Column("a", ColumnType(Kind.DECIMAL, 5, 2), "numeric(5,2)"), 2).number(-5)
        '-0.05'
        """
        digits = f"{abs(step):0{self.scale + 1}d}"
        point = len(digits) - self.scale
        fraction = f".{digits[point:]}" if self.scale else ""
        return f"{'-' if step < 0 else ''}{digits[:point]}{fraction}"

    def step_below(self, text: str) -> int:
        """Give the last step that is not above a number, which is written with digits.

        >>> from rivet.plan.schema import ColumnType
        >>> line = Line(Column("a", ColumnType(Kind.STRING), "numeric"), 1)
        >>> line.step_below("-0.01"), line.step_below("7")
        (-1, 70)
        """
        sign, digits, exponent = Decimal(text).as_tuple()
        shift = int(exponent) + self.scale
        whole = int("".join(map(str, digits))) * (-1 if sign else 1)
        step: int = whole * 10**shift if shift >= 0 else whole // 10**-shift
        return step

    def format(self, step: int) -> str:
        """Write a step for people."""
        kind = self.column.type.kind
        if kind is Kind.DATE:
            return format_day(step)
        if kind.is_temporal:
            return format_timestamp(step, utc=kind is Kind.INSTANT)
        return self.number(step)


@dataclass(frozen=True, slots=True)
class ChunkRange:
    """The rows whose value is in the steps `[start, end)` of a line."""

    line: Line
    start: int
    end: int

    @property
    def columns(self) -> tuple[Column, ...]:
        """Give the column by which it is cut."""
        return (self.line.column,)


@dataclass(frozen=True, slots=True)
class ChunkPage:
    """The next rows in the order of a key, none of whose columns is NULL in them.

    Attributes:
        key: The columns, in the order of an index.
        rows: How many there are.
        nullable: Those of the columns that may hold NULL.
        after: The key of the row before the page, as the session's `page_end` gives it; None: the first page.
        follows: The page goes on where the one before has ended, whose end is known once it has been read.
        is_last: No row follows it, which is asked for as well.
        within: Where the key's first column lies in the partition, if that is known.
        index: The index that gives these rows in order and no others between them, or None where none does.
    """

    key: tuple[Column, ...]
    rows: int
    nullable: tuple[Column, ...] = ()
    after: tuple[str, ...] | None = None
    follows: bool = False
    is_last: bool = False
    within: ChunkRange | None = None
    index: str | None = None

    @property
    def limit(self) -> int:
        """Count the rows to ask for: of the last page one more than there are, as too many would show."""
        return self.rows + self.is_last


@dataclass(frozen=True, slots=True)
class ChunkNulls:
    """The rows in which any of some columns is NULL."""

    columns: tuple[Column, ...]


Chunk = ChunkRange | ChunkPage | ChunkNulls


@dataclass(frozen=True, slots=True)
class Extent:
    """What some rows hold in the columns by which they are cut.

    Attributes:
        rows: All of them.
        valued: Those with a value in each of the columns.
        minimum: The least step on the line, or None where there is no value, or no line.
        maximum: The greatest step, closed, or None likewise.
    """

    rows: int
    valued: int
    minimum: int | None = None
    maximum: int | None = None

    @property
    def nulls(self) -> int:
        """Count the rows without a value in one of the columns."""
        return self.rows - self.valued

    def __add__(self, other: Extent) -> Extent:
        """Give the extent of the rows of both."""
        least = [m for m in (self.minimum, other.minimum) if m is not None]
        most = [m for m in (self.maximum, other.maximum) if m is not None]
        return Extent(
            self.rows + other.rows,
            self.valued + other.valued,
            min(least, default=None),
            max(most, default=None),
        )


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of steps, half-open, and the rows that it holds: at least one."""

    start: int
    end: int
    rows: int
