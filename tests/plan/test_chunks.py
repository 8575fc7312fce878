"""Chunks of a partition: contiguous and disjoint in order, none beyond what a column can hold, none empty."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet.errors import PlanError
from rivet.plan.chunks import Extent, Line, Piece
from rivet.plan.cutting import (
    MAX_CHUNKS,
    cells_of,
    count_width,
    equal_pieces,
    line_of,
    nominal_count,
    page_sizes,
    require_count,
    together,
    width_of,
)
from rivet.plan.keys import TableIndex, leading, require_index
from rivet.plan.schema import Column, ColumnType, Kind

# All that a column of 64 bits holds, signed or not, and its ends.
STEPS = st.integers(-(2**63), 2**64 - 1) | st.sampled_from([-(2**63), -1, 0, 2**63 - 1, 2**64 - 1])
WIDTHS = st.integers(1, 2**64) | st.sampled_from([1, 2**62, 2**63, 2**64])


def _column(kind: Kind, source_type: str, precision: int = 0, scale: int = 0) -> Column:
    return Column("c", ColumnType(kind, precision, scale), source_type)


def _counted(values: list[int], width: int) -> tuple[list[tuple[int, int]], Extent]:
    counts = sorted(Counter(value // width for value in values).items())
    return counts, Extent(len(values), len(values), min(values), max(values))


def _holds_each_once(pieces: list[Piece], values: list[int]) -> None:
    for piece, following in pairwise(pieces):
        assert piece.end <= following.start
    for piece in pieces:
        assert piece.start < piece.end
        assert piece.rows == sum(piece.start <= value < piece.end for value in values) > 0
    assert sum(piece.rows for piece in pieces) == len(values)
    assert (pieces[0].start, pieces[-1].end) == (min(values), max(values) + 1)


@given(st.lists(STEPS, min_size=1, max_size=60), WIDTHS, st.integers(1, 100))
def test_ranges_of_a_width_hold_each_value_once(values: list[int], width: int, most_rows: int) -> None:
    """Whatever the values and the width: in order, apart, none empty, and none reaches beyond a value."""
    counts, extent = _counted(values, width)

    pieces = together(cells_of(counts, width, extent), most_rows)

    _holds_each_once(pieces, values)
    assert len(pieces) <= len(counts) <= nominal_count(extent, width)
    fullest = max(rows for _, rows in counts)
    assert all(piece.rows <= max(most_rows, fullest) for piece in pieces)


@given(st.lists(STEPS, min_size=1, max_size=60), st.integers(1, 20))
def test_a_number_of_ranges_holds_each_value_once(values: list[int], count: int) -> None:
    """There are no more of them than asked for, and the rows are counted in no more steps than a few each."""
    extent = Extent(len(values), len(values), min(values), max(values))
    width = count_width(extent, count)
    counts, _ = _counted(values, width)

    pieces = equal_pieces(cells_of(counts, width, extent), count)

    _holds_each_once(pieces, values)
    assert len(pieces) <= count
    assert nominal_count(extent, width) <= 16 * count + 2


@given(st.integers(0, 10**6), st.integers(1, 10**5))
def test_pages_hold_all_rows(rows: int, page_rows: int) -> None:
    """All pages but the last are full, and none is empty."""
    sizes = page_sizes(rows, page_rows)

    assert sum(sizes) == rows
    assert all(size == page_rows for size in sizes[:-1])
    assert all(0 < size <= page_rows for size in sizes)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=9), st.integers(0, 12))
def test_a_decimal_lies_between_its_step_and_the_next(value: Decimal, scale: int) -> None:
    """A step is the last one that is not above the number, below zero too."""
    line = Line(_column(Kind.DECIMAL, "numeric"), scale)
    step = line.step_below(str(value))

    assert Decimal(line.number(step)) <= value < Decimal(line.number(step + 1))


@pytest.mark.parametrize(
    ("column", "size", "scale", "width"),
    [
        (_column(Kind.UINT64, "bigint unsigned"), Decimal(5), 0, 5),
        (_column(Kind.DECIMAL, "decimal(9,2)", 9, 2), Decimal("0.5"), 2, 50),
        (_column(Kind.DECIMAL, "decimal(9,2)", 9, 2), Decimal("0.001"), 3, 1),
        (_column(Kind.STRING, "numeric"), Decimal(100), 0, 100),
        (_column(Kind.STRING, "decimal(65,4)"), Decimal(1), 4, 10_000),
        (_column(Kind.DATE, "date"), Decimal(7), 0, 7),
        (_column(Kind.DATE, "date"), timedelta(weeks=1), 0, 7),
        (_column(Kind.INSTANT, "timestamp with time zone"), timedelta(hours=6), 0, 21_600_000_000),
    ],
)
def test_a_width_is_counted_in_steps_of_the_column(
    column: Column, size: Decimal | timedelta, scale: int, width: int
) -> None:
    """Numbers are counted in their last digit, dates in days, timestamps in microseconds."""
    line = line_of(column, "$", size=size)

    assert (line.scale, width_of(size, line, "$")) == (scale, width)


@pytest.mark.parametrize(
    ("column", "size"),
    [
        (_column(Kind.INT32, "integer"), timedelta(days=1)),
        (_column(Kind.INT32, "integer"), Decimal("0.5")),
        (_column(Kind.DATE, "date"), timedelta(hours=6)),
        (_column(Kind.DATE, "date"), Decimal("0.5")),
        (_column(Kind.TIMESTAMP, "timestamp"), Decimal(6)),
    ],
)
def test_a_width_that_is_none_of_the_column_is_refused(column: Column, size: Decimal | timedelta) -> None:
    """The mend says what to write."""
    with pytest.raises(PlanError) as refused:
        width_of(size, line_of(column, "$", size=None), "$.exports[0].chunk_size")

    assert "$.exports[0].chunk_size: column 'c' is" in str(refused.value)
    assert "write" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("kind", "source_type"),
    [(Kind.STRING, "text"), (Kind.FLOAT64, "double"), (Kind.BINARY, "bytea"), (Kind.BOOL, "boolean")],
)
def test_a_column_without_ranges_is_refused(kind: Kind, source_type: str) -> None:
    """A column of another kind is told to be read by its key."""
    with pytest.raises(PlanError, match=f"column 'c' is {source_type}, expected an integer") as refused:
        line_of(_column(kind, source_type), "$", size=None)

    assert "chunk_by_key" in (refused.value.hint or "")


def test_more_chunks_than_there_may_be_are_refused() -> None:
    """Ten thousand are fine, and one more is not."""
    require_count(MAX_CHUNKS, "$", "use another")

    with pytest.raises(PlanError, match="10,001 chunks, and at most 10,000 are allowed"):
        require_count(MAX_CHUNKS + 1, "$", "use another")


PRIMARY = TableIndex("pk", ("id",), 1)
BY_DAY = TableIndex("by_day", ("day", "id"))
BY_NAME = TableIndex("by_name", ("tenant", "name", "id"), 2)


@pytest.mark.parametrize(
    "key", [("id",), ("tenant", "name"), ("tenant", "name", "id"), ("day", "id")], ids=", ".join
)
def test_a_key_is_served_by_an_index_that_begins_with_it(key: tuple[str, ...]) -> None:
    """It is unique if a unique index lies within it, which may be another one."""
    require_index(key, None, [PRIMARY, BY_DAY, BY_NAME], "t", "$")


@pytest.mark.parametrize(
    ("key", "message", "hint"),
    [
        (
            ("name",),
            "no index of table 't' leads with name",
            "create one on (name, id) and name these columns",
        ),
        (("name", "id"), "leads with name, id in this order, but: ", "create one on (name, id), or name"),
        (
            ("name", "tenant"),
            "leads with name, tenant in this order",
            "create one on (name, tenant), or name",
        ),
        (("day",), "several rows of table 't' may have the same day", "write [day, id]"),
        (("tenant",), "may have the same tenant", "write [tenant, id]"),
    ],
)
def test_a_key_that_no_index_serves_is_refused(key: tuple[str, ...], message: str, hint: str) -> None:
    """What is said names the index to create, or the columns to add."""
    with pytest.raises(PlanError) as refused:
        require_index(key, None, [PRIMARY, BY_DAY, BY_NAME], "t", "$.exports[0].chunk_by_key")

    assert message in str(refused.value)
    assert hint in (refused.value.hint or "")


def test_a_key_of_a_table_without_indexes_wants_a_unique_one() -> None:
    """The index to create is one that serves at once."""
    with pytest.raises(PlanError) as refused:
        require_index(("name",), None, [], "t", "$")

    assert refused.value.hint == "create a unique one on (name)"


def test_an_index_may_begin_with_a_column_of_one_value() -> None:
    """Where each partition has one value of it, the rest of the index is in the key's order."""
    assert leading(["id"], "day", [BY_DAY, PRIMARY]) == [BY_DAY, PRIMARY]
    assert leading(["id"], None, [BY_DAY, PRIMARY]) == [PRIMARY]
