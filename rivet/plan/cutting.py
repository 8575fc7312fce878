"""Cuts partitions into chunks: by the width of a range, by their number, or by the rows of a page.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise

from rivet.errors import PlanError
from rivet.plan.chunks import Extent, Line, Piece
from rivet.plan.schema import Column, Kind

MAX_CHUNKS = 10_000
PAGE_ROWS = 100_000
# How much finer than the chunks the rows are counted where chunks of about equal rows are to be found.
_FINENESS = 8
# A decimal of more digits than Arrow holds, or of any number of them, becomes text; its order is a number's.
_DECIMAL = re.compile(r"numeric|decimal")
_DECIMAL_PLACES = re.compile(r"\(\d+,\s*(\d+)\)")


def line_of(column: Column, where: str, *, size: Decimal | timedelta | None, whole: bool = False) -> Line:
    """Say how a column is cut into ranges.

    Args:
        whole: Ranges of decimals begin at whole numbers.

    Raises:
        PlanError: Its values are not ordered as numbers or dates are.
    """
    kind = column.type.kind
    if kind.is_integer or kind.is_temporal:
        return Line(column)
    if kind is not Kind.DECIMAL and not _DECIMAL.match(column.source_type.lower()):
        raise PlanError(
            f"{where}: column {column.name!r} is {column.source_type}, expected an integer, a decimal, a "
            "date or a timestamp",
            hint="write chunk_by_key: [columns of an index], which takes every type that has an order",
        )
    places = _DECIMAL_PLACES.search(column.source_type)
    scale = column.type.scale or (int(places[1]) if places else 0)
    if isinstance(size, Decimal):
        scale = max(scale, -int(size.as_tuple().exponent))
    return Line(column, 0 if whole else scale)


def width_of(size: Decimal | timedelta, line: Line, where: str) -> int:
    """Give a chunk's width in steps.

    Raises:
        PlanError: A width of this kind makes no sense for the column.

    >>> from rivet.plan.schema import ColumnType
    >>> width_of(Decimal("0.5"), Line(Column("a", ColumnType(Kind.DECIMAL, 9, 2), "numeric(9,2)"), 2), "$")
    50
    >>> width_of(timedelta(hours=1), Line(Column("t", ColumnType(Kind.TIMESTAMP), "timestamp")), "$")
    3600000000
    """
    column, kind = line.column, line.column.type.kind
    shown = f"{where}: column {column.name!r} is {column.source_type}"
    if not kind.is_temporal:
        if isinstance(size, timedelta):
            raise PlanError(f"{shown}, and a time is no width of numbers", hint="write a number")
        width = size.scaleb(line.scale)
        if width != int(width):
            raise PlanError(f"{shown}, which has no {size}", hint="write a whole number")
        return int(width)
    step = timedelta(days=1) if kind is Kind.DATE else timedelta(microseconds=1)
    if isinstance(size, timedelta) and not size % step:
        return size // step
    if kind is Kind.DATE and isinstance(size, Decimal) and size == int(size):
        return int(size)
    raise PlanError(
        f"{shown}, and {size} is no width of it",
        hint="write whole days, such as 7 days" if kind is Kind.DATE else "write a time, such as 6 hours",
    )


def nominal_count(extent: Extent, width: int) -> int:
    """Count the ranges of a width, each from a multiple of it on, empty ones included."""
    if extent.minimum is None or extent.maximum is None:
        return 0
    return extent.maximum // width - extent.minimum // width + 1


def require_count(count: int, what: str, hint: str) -> None:
    """Refuse more chunks of one partition than there may be.

    Raises:
        PlanError: With what to use instead.
    """
    if count > MAX_CHUNKS:
        raise PlanError(f"{what}: {count:,} chunks, and at most {MAX_CHUNKS:,} are allowed", hint=hint)


def count_width(extent: Extent, count: int) -> int:
    """Give the width by which rows are counted to find a number of chunks: a power of two, to be often equal.

    >>> count_width(Extent(9, 9, 0, 999), 10), count_width(Extent(9, 9, -(2**63), 2**64), 1)
    (8, 2305843009213693952)
    """
    if extent.minimum is None or extent.maximum is None:
        return 1
    fine = (extent.maximum - extent.minimum + 1) // (count * _FINENESS)
    return 1 << max(0, fine.bit_length() - 1)


def cells_of(counted_rows: Sequence[tuple[int, int]], width: int, extent: Extent) -> list[Piece]:
    """Give the ranges of a width that hold rows as pieces.

    The first and the last end where the values do: no piece reaches beyond what its column can hold.

    Args:
        counted_rows: The number of each range that holds rows, ascending, and its rows.
        width: Range n holds the steps from n * width to (n + 1) * width.

    >>> cells_of([(0, 3), (7, 1)], 10, Extent(4, 4, 4, 75))
    [Piece(start=4, end=10, rows=3), Piece(start=70, end=76, rows=1)]
    """
    if extent.minimum is None or extent.maximum is None:
        return []
    first, last = extent.minimum, extent.maximum
    return [
        Piece(max(number * width, first), min((number + 1) * width, last + 1), rows)
        for number, rows in counted_rows
    ]


def together(cells: Sequence[Piece], most_rows: int) -> list[Piece]:
    """Put pieces together, in order, to pieces of at most so many rows; one that holds more stays by itself.

    What lies between two pieces holds nothing.

    >>> together([Piece(4, 10, 3), Piece(10, 20, 2), Piece(70, 76, 1)], 5)
    [Piece(start=4, end=20, rows=5), Piece(start=70, end=76, rows=1)]
    """
    pieces: list[Piece] = []
    for cell in cells:
        if pieces and pieces[-1].rows + cell.rows <= most_rows:
            pieces[-1] = Piece(pieces[-1].start, cell.end, pieces[-1].rows + cell.rows)
        else:
            pieces.append(cell)
    return pieces


def equal_pieces(cells: Sequence[Piece], count: int) -> list[Piece]:
    """Put pieces together, in order, to a number of pieces of about equal rows, or to fewer.

    >>> [p.rows for p in equal_pieces([Piece(n, n + 1, 1) for n in range(10)], 4)]
    [3, 2, 3, 2]
    """
    total = sum(cell.rows for cell in cells)
    edges, passed = [0], 0
    for place, cell in enumerate(cells, 1):
        # The piece ends with the cell in which its share is reached.
        if (passed + cell.rows) * count // total > passed * count // total:
            edges.append(place)
        passed += cell.rows
    return [piece for a, b in pairwise(edges) for piece in together(cells[a:b], total)]


def page_sizes(rows: int, page_rows: int) -> list[int]:
    """Give the rows of each page.

    >>> page_sizes(25, 10), page_sizes(0, 10)
    ([10, 10, 5], [])
    """
    whole, rest = divmod(rows, page_rows)
    return [page_rows] * whole + [rest] * bool(rest)


def overlap(extents: Sequence[Extent]) -> float:
    """Tell how many times over the values of several partitions cover all that any of them holds.

    1 where each has values of its own, as many as there are partitions where all have the same.

    >>> overlap([Extent(1, 1, 0, 9), Extent(1, 1, 10, 19)]), overlap([Extent(1, 1, 0, 9), Extent(1, 1, 0, 9)])
    (1.0, 2.0)
    """
    spans = [(e.minimum, e.maximum) for e in extents if e.minimum is not None and e.maximum is not None]
    if not spans:
        return 1.0
    union = max(most for _, most in spans) - min(least for least, _ in spans) + 1
    return max(1.0, sum(most - least + 1 for least, most in spans) / union)
