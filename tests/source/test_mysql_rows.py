"""Packets of rows are cut where they begin and end, whatever their values look like, or refused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet.errors import SourceUnavailable
from rivet.source.mysql.rows import Lengths, RowReader

JOINED = b"\xff\xff\xff"
ENCODED, MOMENT, CLOCK = Lengths.ENCODED, Lengths.MOMENT, Lengths.CLOCK
EDGES = (0, 1, 250, 251, 252, 253, 254, 255, 256, 65_535, 65_536)
Widths = Sequence[int | Lengths]
Row = Sequence[bytes | None]


def encoded(value: bytes) -> bytes:
    """Write a value behind its length, as the protocol's manual says."""
    size = len(value)
    if size < 251:
        return bytes([size]) + value
    code, width = next((c, w) for c, w in ((252, 2), (253, 3), (254, 8)) if size < 256**w)
    return bytes([code]) + size.to_bytes(width, "little") + value


def payload(row: Row, widths: Widths) -> bytes:
    """Write a row."""
    nulls = sum(1 << (i + 2) for i, value in enumerate(row) if value is None)
    values = (
        value if not isinstance(width, Lengths) else encoded(value)
        for value, width in zip(row, widths, strict=True)
        if value is not None
    )
    return b"\0" + nulls.to_bytes((len(widths) + 9) // 8, "little") + b"".join(values)


def written(rows: Sequence[Row], widths: Widths, first: int = 3) -> bytes:
    """Write packets of rows; one that needs more than a packet goes on to the end."""
    packets = []
    for number, row in enumerate(rows, first):
        body = payload(row, widths)
        length = JOINED if len(body) >= 2**24 - 1 else len(body).to_bytes(3, "little")
        packets.append(length + bytes([number % 256]) + body)
    return b"".join(packets)


def read(block: bytes, widths: Widths, reader: RowReader | None = None) -> list[Row]:
    """Cut a block, and list the rows."""
    columns = (reader or RowReader(widths)).cells(block)
    return [[c.value(row) for c in columns] for row in range(len(columns[0].starts))]


def slowly(block: bytes, widths: Widths) -> list[Row]:
    """Cut a block byte by byte; ValueError for what is no block of whole rows."""
    rows: list[Row] = []
    place = 0
    while place < len(block):
        header = block[place : place + 4]
        if len(header) < 4:
            raise ValueError("inside a header")
        length = int.from_bytes(header[:3], "little")
        end = len(block) if header[:3] == JOINED else place + 4 + length
        if end > len(block):
            raise ValueError("inside a row")
        rows.append(_row(block[place + 4 : end], widths))
        place = end
    return rows


def _row(body: bytes, widths: Widths) -> Row:
    bitmap = (len(widths) + 9) // 8
    if len(body) < 1 + bitmap or body[0]:
        raise ValueError("no row")
    nulls, rest = int.from_bytes(body[1 : 1 + bitmap], "little"), body[1 + bitmap :]
    row: list[bytes | None] = []
    for index, width in enumerate(widths):
        if nulls >> (index + 2) & 1:
            row.append(None)
            continue
        size = int(width)
        if isinstance(width, Lengths):
            size, rest = _length(rest, width)
        if len(rest) < size:
            raise ValueError("inside a value")
        row.append(rest[:size])
        rest = rest[size:]
    if rest:
        raise ValueError("more than the columns")
    return row


def _length(rest: bytes, form: Lengths) -> tuple[int, bytes]:
    if not rest:
        raise ValueError("no length")
    head, rest = rest[0], rest[1:]
    if form is not ENCODED:
        if head not in ((0, 4, 7, 11) if form is MOMENT else (0, 8, 12)):
            raise ValueError("no such length")
        return head, rest
    if head < 251:
        return head, rest
    more = {252: 2, 253: 3, 254: 8}.get(head)
    if more is None or len(rest) < more:
        raise ValueError("no length")
    return int.from_bytes(rest[:more], "little"), rest[more:]


# Values of which many look like the beginning of a row.
TRICKY = st.one_of(
    st.none(),
    st.binary(max_size=12),
    st.lists(
        st.sampled_from(
            [b"\x0a\0\0", b"\0\0\0", b"\x04\0\0\x05\0\0", b"\xfe\0\0\2\0", b"\xff\xff\xff", b"\0"]
        ),
        max_size=8,
    ).map(b"".join),
    st.sampled_from(EDGES[:9]).map(bytes),
)
FOUR = st.one_of(st.none(), st.binary(min_size=4, max_size=4), st.just(bytes(4)))
MOMENTS = st.one_of(st.none(), st.sampled_from([bytes(n) for n in (0, 4, 7, 11)]))
CLOCKS = st.one_of(st.none(), st.sampled_from([b"\1" * n for n in (0, 8, 12)]))
WIDTHS: Widths = [ENCODED, 4, MOMENT, CLOCK, ENCODED, 4, ENCODED]
ROWS = st.lists(st.tuples(TRICKY, FOUR, MOMENTS, CLOCKS, TRICKY, FOUR, TRICKY), min_size=1, max_size=60)
MANY = st.tuples(ROWS, st.integers(1, 40)).map(lambda drawn: drawn[0] * drawn[1])


def _assert_as_slowly(block: bytes, widths: Widths) -> None:
    """Assert that a block gives what the plain parser gives, or is refused with it."""
    try:
        expected = slowly(block, widths)
    except ValueError:
        with pytest.raises(SourceUnavailable):
            read(block, widths)
    else:
        assert read(block, widths) == expected


@given(MANY, st.integers(0, 255))
def test_rows_are_found_whatever_they_hold(rows: list[Row], first: int) -> None:
    """Values that look like the beginning of a row are values, few rows or many."""
    block = written(rows, WIDTHS, first)

    assert read(block, WIDTHS) == [list(row) for row in rows] == slowly(block, WIDTHS)


@given(MANY, st.data())
def test_what_is_no_block_of_whole_rows_is_refused(rows: list[Row], data: st.DataObject) -> None:
    """A block that was cut off or tampered with gives what a plain parser gives, or is refused with it."""
    block = written(rows, WIDTHS)
    place = data.draw(st.integers(0, len(block) - 1))
    if data.draw(st.booleans()):
        block = block[: place + 1]
    else:
        block = (
            block[:place] + data.draw(st.binary(max_size=9)) + block[place + data.draw(st.integers(0, 9)) :]
        )
    if block:
        _assert_as_slowly(block, WIDTHS)


@given(st.binary(min_size=1, max_size=400), st.integers(1, 12))
def test_any_bytes_end_in_rows_or_a_refusal(noise: bytes, columns: int) -> None:
    """Nothing that may come hangs, or is taken for more than it is."""
    _assert_as_slowly(noise, [ENCODED, 8, MOMENT][:columns] + [1] * (columns - 3))


def test_lengths_of_every_form() -> None:
    """Values as long as a length of one, three or four bytes can say, and one more, among many short rows."""
    widths = [4, ENCODED, ENCODED]
    reader = RowReader(widths)
    for short in (0, 50, 5000):
        rows: list[Row] = []
        for size in EDGES:
            rows += [[b"\1\0\0\0", bytes(size), b"\xfb" * size]] + [[bytes(4), b"", None]] * short
        assert read(written(rows, widths), widths, reader) == rows


@pytest.mark.parametrize("size", [2**24 + n for n in (-30, -12, -11, -10, -1, 0, 1)])
def test_a_row_that_needs_more_than_a_packet(size: int) -> None:
    """A row of 16 MiB or more comes last in its block, behind others."""
    rows: list[Row] = [*([[b"\1", b"x"]] * 100), [b"\2", bytes(size)]]
    assert read(written(rows, [1, ENCODED]), [1, ENCODED]) == rows
    assert read(written(rows[-1:], [1, ENCODED]), [1, ENCODED]) == rows[-1:]


def test_a_length_of_nine_bytes_never_leads_out_of_the_block() -> None:
    """Lengths near 2^63 and 2^64 are refused like others that are too large."""
    for size in (2**31, 2**63 - 1, 2**63, 2**64 - 1):
        body = b"\0\0" + b"\xfe" + size.to_bytes(8, "little") + b"x"
        block = (len(body).to_bytes(3, "little") + b"\1" + body) * 50
        with pytest.raises(SourceUnavailable, match="1 column"):
            read(block, [ENCODED])
