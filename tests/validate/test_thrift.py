"""The compact protocol of Thrift, as far as Parquet footers go."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet.validate.footer import _span_of_statistics
from rivet.validate.thrift import decode_struct


def varint(number: int) -> bytes:
    """Write an unsigned integer."""
    low, high = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(high) if high else bytes([low])


def integer(number: int) -> bytes:
    """Write a signed integer."""
    return varint(number * 2 if number >= 0 else -number * 2 - 1)


def kind_of(value: Any) -> int:
    """Give the number of a value's type; booleans have two as a field."""
    if isinstance(value, bool):
        return 1 if value else 2
    return {int: 6, bytes: 8, list: 9, dict: 12}[type(value)]


def encode(value: Any) -> bytes:
    """Write a value without its type."""
    if isinstance(value, bool):
        return bytes([value])
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, bytes):
        return varint(len(value)) + value
    if isinstance(value, list):
        kind = kind_of(value[0]) if value else 8
        size = (
            bytes([len(value) << 4 | kind]) if len(value) < 15 else bytes([0xF0 | kind]) + varint(len(value))
        )
        return size + b"".join(map(encode, value))
    written, before = b"", 0
    for number, item in value.items():
        step, kind = number - before, kind_of(item)
        written += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + integer(number)
        written += b"" if isinstance(item, bool) else encode(item)
        before = number
    return written + b"\0"


_integers = st.integers(-(2**63), 2**63 - 1)
_structs = st.recursive(
    st.dictionaries(
        st.integers(-(2**15), 2**15 - 1), _integers | st.binary(max_size=9) | st.booleans(), max_size=4
    ),
    lambda inner: st.dictionaries(
        st.integers(1, 40),
        inner
        | st.lists(inner, max_size=20)
        | st.lists(_integers, max_size=20)
        | st.lists(st.binary(), max_size=3),
        max_size=4,
    ),
    max_leaves=8,
)


@given(_structs)
def test_any_struct(struct: dict[int, Any]) -> None:
    """Any struct is read as it was written: fields near and far, long lists, negative numbers."""
    assert decode_struct(encode(struct)) == struct


@given(_structs, st.data())
def test_cut(struct: dict[int, Any], data: st.DataObject) -> None:
    """A struct that breaks off is an error at any place."""
    whole = encode(struct)
    with pytest.raises(IndexError):
        decode_struct(whole[: data.draw(st.integers(0, len(whole) - 1))])


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"\x16" + b"\xff" * 40, ValueError),  # an integer without end
        (b"\x1b\x00", ValueError),  # a map, which no footer has
        (b"\x19\xf8" + b"\xff" * 8 + b"\x0f", IndexError),  # a list longer than the data
        (b"\x18\xff\xff\xff\xff\x0f", IndexError),  # bytes longer than the data
        (b"\x1c" * 100_000, RecursionError),
    ],
)
def test_hostile(data: bytes, error: type[Exception]) -> None:
    """Bytes that are no struct are an error, soon, whatever sizes they claim."""
    with pytest.raises(error):
        decode_struct(data)


@pytest.mark.parametrize(
    ("statistics", "span"),
    [
        ({3: 0, 6: b"\xff" * 8, 5: b"\x02" + b"\0" * 7}, (0, -1, 2)),
        ({3: 2}, (2, None, None)),
        ({3: 1}, None),
        ({6: b"\0" * 8, 5: b"\0" * 8}, None),
        ({}, None),
    ],
)
def test_statistics(statistics: dict[int, Any], span: tuple[int, int | None, int | None] | None) -> None:
    """A span follows from statistics that are there, or from rows that are all NULL, not from less."""
    other, chunk = {3: {3: [b"id"]}}, {3: {3: [b"at"], 12: statistics}}

    assert _span_of_statistics({4: [{1: [other, chunk], 3: 2}]}, "at", 8) == span


def test_statistics_of_another_width() -> None:
    """Statistics of another width than the column's are damage."""
    chunk = {3: {3: [b"at"], 12: {3: 0, 6: b"\0" * 4, 5: b"\0" * 4}}}

    with pytest.raises(ValueError, match="not of 8 bytes"):
        _span_of_statistics({4: [{1: [chunk], 3: 2}]}, "at", 8)
