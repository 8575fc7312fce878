"""Rows of COPY's binary form are cut where they begin and end, whatever their values look like."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet.errors import SourceUnavailable
from rivet.source.postgres.tuples import SIGNATURE, TupleReader

HEADER = SIGNATURE + bytes(8)
END = b"\xff\xff"
Row = Sequence[bytes | None]


def written(rows: Sequence[Row]) -> bytes:
    """Write rows as the server's manual says, without header and end."""
    fields = (
        struct.pack(">h", len(row))
        + b"".join(b"\xff\xff\xff\xff" if v is None else struct.pack(">i", len(v)) + v for v in row)
        for row in rows
    )
    return b"".join(fields)


def read(widths: Sequence[int | None], *blocks: bytes) -> list[Row]:
    """Read blocks, and list the rows."""
    reader = TupleReader(widths)
    rows: list[Row] = []
    for block in blocks:
        columns = reader.cells(block)
        rows += [[c.value(row) for c in columns] for row in range(len(columns[0].starts))]
    assert reader.has_ended
    return rows


# Values of which many look like the beginning of a row of two fields.
TRICKY = st.one_of(
    st.none(),
    st.binary(max_size=12),
    st.lists(
        st.sampled_from([b"\x00\x02", b"\x00\x00\x00\x04", b"\xff\xff\xff\xff", b"\x00", b"\x02"]),
        max_size=12,
    ).map(b"".join),
)


@given(st.lists(st.tuples(TRICKY, st.one_of(st.none(), st.binary(min_size=4, max_size=4))), max_size=40))
def test_rows_are_found_whatever_they_hold(rows: list[Row]) -> None:
    """Values that look like the beginning of a row are values, first and second field alike."""
    swapped = [row[::-1] for row in rows]

    assert read([None, 4], HEADER + written(rows), END) == [list(row) for row in rows]
    assert read([4, None], HEADER + written(swapped) + END) == [list(row) for row in swapped]


@given(st.lists(st.sampled_from([0, 1, 5, 40_000]), min_size=1, max_size=40), st.data())
def test_rows_of_any_size_are_found_in_blocks_cut_anywhere(sizes: list[int], data: st.DataObject) -> None:
    """Large rows and small ones, however the rows are spread over the blocks."""
    rows = [[bytes(size), b"\x00\x02" * (size // 3)] for size in sizes]
    cut = data.draw(st.integers(0, len(rows)))

    blocks = [HEADER + written(rows[:cut]), written(rows[cut:]) + END]

    assert read([None, None], *blocks) == rows


def test_many_false_beginnings_cost_no_row() -> None:
    """A block in which almost every pair of bytes looks like a row's beginning is read right."""
    rows = [[b"\x00\x01" * 50] for _ in range(20_000)]

    assert read([None], HEADER + written(rows) + END) == rows


def test_a_large_row_of_false_beginnings_costs_no_memory() -> None:
    """A large row behind small ones is read in less memory than its own size, whatever it holds."""
    block = HEADER + written([[b"small"]] * 1000 + [[b"\x00\x01" * 2**22]])
    reader = TupleReader([None])

    tracemalloc.start()
    (column,) = reader.cells(block)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (column.value(999), len(column.value(1000) or b"")) == (b"small", 2**23)
    assert peak < 2**22


def test_data_without_rows() -> None:
    """The header and the end may stand alone, together or apart."""
    assert read([4], HEADER + END) == []
    assert read([4], HEADER, END) == []


@given(st.lists(st.tuples(TRICKY, TRICKY), min_size=1, max_size=10), st.data())
def test_a_block_that_ends_inside_a_row_is_refused(rows: list[Row], data: st.DataObject) -> None:
    """Of a block cut anywhere, whole rows are taken only where whole rows are left."""
    block = HEADER + written(rows)
    wholes = {len(HEADER + written(rows[:count])) for count in range(len(rows) + 1)}
    cut = data.draw(st.integers(0, len(block) - 1).filter(lambda place: place not in wholes))
    reader = TupleReader([None, None])

    with pytest.raises(SourceUnavailable, match="the server's data"):
        reader.cells(block[:cut])
