"""Says how rows are sorted, and what the sorted ones hold. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a date, timestamp or instant column, ties by the columns of the primary key."""

    column: str
    ties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extent:
    """What rows hold in the column: NULL rows, the least value and the greatest, or None without any.

    >>> Extent(1) + Extent(0, 3, 5) + Extent(2, -1, 4)
    Extent(null_rows=3, minimum=-1, maximum=5)
    """

    null_rows: int = 0
    minimum: int | None = None
    maximum: int | None = None

    def __add__(self, other: Extent) -> Extent:
        ends = [e for each in (self, other) for e in (each.minimum, each.maximum) if e is not None]
        return Extent(self.null_rows + other.null_rows, min(ends, default=None), max(ends, default=None))
