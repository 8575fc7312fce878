"""Which rows are measured before they are cut into chunks, and by what.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from rivet.plan.chunks import Line
from rivet.plan.scans import Scan, piece_start
from rivet.plan.schema import Column
from rivet.plan.windows import Axis


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a scan, all together or by their windows.

    Attributes:
        column: The partition column, or None without one.
        axis: Its axis where they are measured by window, which leaves out the NULL rows; None: together.
        span: The least and the greatest value of the partition column, both closed, or None.
    """

    column: Column | None
    scan: Scan
    axis: Axis | None = None
    span: tuple[int, int] | None = None

    @property
    def day_edges(self) -> tuple[int, ...] | None:
        """Give the edges that cut a day into pieces, by which the rows are grouped; None: they are not."""
        return None if self.axis is None else self.axis.day_edges(self.span)

    def start_of(self, number: int) -> int | None:
        """Give a value in the window of a piece of a day; None where the rows are measured together."""
        if self.axis is None:
            return None
        return piece_start(number, self.axis, self.axis.day_edges(self.span), self.span)


@dataclass(frozen=True, slots=True)
class Grid:
    """Ranges of one width on a line, of which number 0 begins at `first`, a multiple of the width."""

    line: Line
    width: int
    first: int

    def number(self, range_number: int) -> int:
        """Give the number of a range as `pieces_of` counts them, from the line's own zero on."""
        return self.first // self.width + range_number
