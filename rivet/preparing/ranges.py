"""Finds the ranges of a chunk column that hold rows, by asking the source how densely they lie.

Composition: the decisions are in `rivet.plan`, the questions go to the source's session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from itertools import groupby

from rivet.config.read_settings import ChunkSettings
from rivet.errors import PlanError
from rivet.plan.chunks import ChunkRange, Extent, Line, Piece
from rivet.plan.cutting import (
    MAX_CHUNKS,
    PAGE_ROWS,
    cells_of,
    count_width,
    equal_pieces,
    nominal_count,
    require_count,
    together,
    width_of,
)
from rivet.plan.measured import Grid, Rows
from rivet.plan.scans import Reach, Scan
from rivet.plan.windows import NULL_LABEL, Window
from rivet.preparing.described import Described
from rivet.source.protocol import Session
from rivet.wording import counted

# Ranges of a plan that are counted at the source: each is a row of an answer that is held in memory.
_MAX_COUNTED = 1_000_000
# Cells that are looked into where rows lie much denser than elsewhere, each by two statements.
_MAX_LOOKS = 100
_MAX_WIDTH = 2**62  # so that a number of this width and a range's number stay within 64 bits


@dataclass(frozen=True, slots=True)
class Stretch:
    """A partition before it is cut.

    Attributes:
        scan: What would read it whole.
        window: None for the NULL partition, and for the only one there is.
    """

    scan: Scan
    window: Window | None
    extent: Extent

    @property
    def label(self) -> str:
        """Name the partition for people."""
        if self.scan.reach is Reach.EVERYTHING:
            return "the export"
        return f"partition {NULL_LABEL if self.window is None else repr(self.window.label)}"


class Ranges:
    """The cutting of partitions by the ranges of a column.

    Args:
        span: Smallest and largest value of the partition column, both closed, or None.
        where: The export's place in the config.
    """

    def __init__(
        self,
        session: Session,
        described: Described,
        stretches: Sequence[Stretch],
        line: Line,
        *,
        span: tuple[int, int] | None,
        where: str,
    ) -> None:
        self._session = session
        self._described = described
        self._stretches = stretches
        self._line = line
        self._span = span
        self._where = where
        self._looks = _MAX_LOOKS

    def pieces(self, chunks: ChunkSettings) -> list[list[Piece]]:
        """Cut each partition into the ranges that hold its rows.

        Raises:
            PlanError: There would be too many, with what to use instead.
        """
        return self._of_count(chunks.count or 1) if chunks.size is None else self._of_size(chunks.size)

    def _of_size(self, size: Decimal | timedelta) -> list[list[Piece]]:
        width = width_of(size, self._line, f"{self._where}.chunk_size")
        kind = self._line.column.type.kind
        # Of whole numbers that are a key a range holds at most as many as it is wide: where they lie thin,
        # several are read together.
        most_rows = 0 if self._line.is_decimal or kind.is_temporal else min(width, PAGE_ROWS)
        width = width if self._line.is_decimal else min(width, _MAX_WIDTH)
        # Where ranges of that width would be too many, rows are looked for where they lie.
        widths = [
            width
            if not most_rows or nominal_count(s.extent, width) <= MAX_CHUNKS
            else count_width(s.extent, _needed(s.extent.valued, most_rows))
            for s in self._stretches
        ]
        for stretch, wide in zip(self._stretches, widths, strict=True):
            least = nominal_count(stretch.extent, width) if wide == width else 0
            self._require_count(max(least, _needed(stretch.extent.valued, most_rows)), stretch)
        pieces = []
        for stretch, cells, wide in zip(self._stretches, self._cells(widths), widths, strict=True):
            finer = cells if wide == width else self._refined(stretch, cells, most_rows)
            pieces.append(together(finer, max(most_rows, max((cell.rows for cell in finer), default=0))))
            self._require_count(len(pieces[-1]), stretch)
        return pieces

    def _of_count(self, count: int) -> list[list[Piece]]:
        widths = [count_width(stretch.extent, count) for stretch in self._stretches]
        return [
            equal_pieces(self._refined(stretch, cells, _needed(stretch.extent.valued, count)), count)
            for stretch, cells in zip(self._stretches, self._cells(widths), strict=True)
        ]

    def _require_count(self, count: int, stretch: Stretch) -> None:
        require_count(
            count,
            f"{self._where}.chunk_size: {stretch.label} of {counted(stretch.extent.rows, 'row')}",
            "write chunk_by_key: [columns of an index], which reads rows whatever lies between them, or "
            "chunk_count, or a larger chunk_size",
        )

    def _refined(self, stretch: Stretch, cells: Sequence[Piece], most_rows: int) -> list[Piece]:
        """Look into the cells in which more rows lie than in a chunk, as long as there are few of these."""
        refined: list[Piece] = []
        for cell in cells:
            if cell.rows <= most_rows or cell.end - cell.start == 1 or not self._looks:
                refined.append(cell)
                continue
            self._looks -= 1
            relation, column, line = self._described.relation, self._described.column, self._line
            scan = replace(stretch.scan, chunk=ChunkRange(line, cell.start, cell.end))
            chunking, rows = self._session.chunking, Rows(column, scan)
            ((_, extent),) = chunking.extents(relation, rows, (line.column,), line)
            width = count_width(extent, _needed(extent.valued, most_rows))
            grid = Grid(line, width, (extent.minimum or 0) // width * width)
            found = [(number, count) for _, number, count in chunking.densities(relation, rows, grid)]
            refined += self._refined(stretch, cells_of(found, width, extent), most_rows)
        return refined

    def _cells(self, widths: Sequence[int]) -> list[list[Piece]]:
        found = zip(self._stretches, self._densities(widths), widths, strict=True)
        return [cells_of(ranges, width, stretch.extent) for stretch, ranges, width in found]

    def _densities(self, widths: Sequence[int]) -> list[list[tuple[int, int]]]:
        """Count the rows of each range of each partition, neighbours of one width in one statement.

        What lies in one range needs no question.
        """
        found: list[list[tuple[int, int]]] = []
        numbered = list(enumerate(self._stretches))
        asked = 0
        for (width, reach), group in groupby(numbered, lambda n: (widths[n[0]], n[1].scan.reach)):
            neighbours = [stretch for _, stretch in group]
            sizes = [nominal_count(stretch.extent, width) for stretch in neighbours]
            asked += sum(
                min(n, s.extent.valued) for n, s in zip(sizes, neighbours, strict=True) if max(sizes) > 1
            )
            if asked > _MAX_COUNTED:
                raise PlanError(
                    f"{self._where}.mode: more than {_MAX_COUNTED:,} ranges would have to be counted",
                    hint="write chunk_by_key: [columns of an index], or larger chunks",
                )
            if max(sizes) > 1:
                found += self._counted(neighbours, width, by_window=reach is Reach.RANGE)
            else:
                found += [
                    [(s.extent.minimum // width, s.extent.valued)] if s.extent.minimum is not None else []
                    for s in neighbours
                ]
        return found

    def _counted(
        self, stretches: Sequence[Stretch], width: int, *, by_window: bool
    ) -> list[list[tuple[int, int]]]:
        least = [s.extent.minimum for s in stretches if s.extent.minimum is not None]
        if not least:
            return [[] for _ in stretches]
        relation, column, axis = self._described.relation, self._described.column, self._described.axis
        grid = Grid(self._line, width, min(least) // width * width)
        first, last = stretches[0].scan, stretches[-1].scan
        if not by_window or axis is None:
            found = self._session.chunking.densities(relation, Rows(column, first), grid)
            return [[(number, rows) for _, number, rows in found]]
        scan = Scan(Reach.RANGE, first.start, last.end)
        counts: dict[int, dict[int, int]] = {}
        for value, number, rows in self._session.chunking.densities(
            relation, Rows(column, scan, axis, self._span), grid
        ):
            ranges = counts.setdefault(axis.window_of(value).start if value is not None else 0, {})
            ranges[number] = ranges.get(number, 0) + rows
        return [sorted(counts.get(s.scan.start or 0, {}).items()) for s in stretches]


def _needed(rows: int, most_rows: int) -> int:
    """Count the chunks of at most so many rows; one where there is no such limit."""
    return max(1, -(-rows // most_rows)) if most_rows else 1
