"""What the questions asked before planning found.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Probe:
    """What one statement found in the snapshot.

    Attributes:
        rows: All rows of the relation.
        null_rows: Rows whose partition column is NULL; 0 without one.
        unrepresentable_rows: Rows whose partition column holds a value that fits no calendar. They are
            not NULL rows, and minimum and maximum leave them out.
        unrepresentable: Rows that hold a value which its type cannot represent, by column, the partition
            column among them; only columns that hold one.
        minimum: Smallest value on the axis, or None where no row has one.
        maximum: Largest value on the axis, closed, or None where no row has one.
    """

    rows: int
    null_rows: int = 0
    unrepresentable_rows: int = 0
    minimum: int | None = None
    maximum: int | None = None
    unrepresentable: tuple[tuple[str, int], ...] = ()

    @property
    def null_partition_rows(self) -> int:
        """Count the rows of the NULL partition, into which unrepresentable values go, if they may."""
        return self.null_rows + self.unrepresentable_rows

    @property
    def span(self) -> tuple[int, int] | None:
        """Give minimum and maximum, both closed, or None where no row has a value."""
        return None if self.minimum is None or self.maximum is None else (self.minimum, self.maximum)
