"""The compact protocol of Thrift, as far as Parquet footers go."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet.validate.footer import _span_of_statistics
from rivet.validate.thrift import Reader


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
    assert Reader(encode(struct)).value() == struct


@given(_structs, st.data())
def test_any_part(struct: dict[int, Any], data: st.DataObject) -> None:
    """Whatever is read of a struct is what it holds, whether or not that before it was read too."""
    path = data.draw(st.lists(st.sampled_from([*struct, 0]), max_size=3))
    seen: dict[int, Any] = {}
    reader = Reader(encode(struct))

    for number in reader.fields():
        if number in path and not isinstance(struct[number], bool):
            seen[number] = _walked(reader, struct[number], data)

    assert seen == {n: v for n, v in struct.items() if n in path and not isinstance(v, bool)}


def _walked(reader: Reader, value: Any, data: st.DataObject) -> Any:
    """Take a value at once or piece by piece, and give it with the pieces that were left out."""
    if isinstance(value, list) and data.draw(st.booleans()):
        return [
            _walked(reader, value[n], data) if data.draw(st.booleans()) else value[n]
            for n in reader.elements()
        ]
    if isinstance(value, dict) and data.draw(st.booleans()):
        walked = dict(value)
        for number in reader.fields():
            if not isinstance(value[number], bool) and data.draw(st.booleans()):
                walked[number] = _walked(reader, value[number], data)
        return walked
    return reader.value()


@given(_structs, st.data())
def test_cut(struct: dict[int, Any], data: st.DataObject) -> None:
    """A struct that breaks off is an error at any place."""
    whole = encode(struct)
    with pytest.raises(IndexError):
        Reader(whole[: data.draw(st.integers(0, len(whole) - 1))]).value()


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
    """Bytes that are no struct are an error, soon, whatever sizes they claim, read or skipped."""
    with pytest.raises(error):
        Reader(data).value()
    with pytest.raises((ValueError, IndexError, RecursionError)):
        list(Reader(data).fields())


@pytest.mark.parametrize(
    ("statistics", "span"),
    [
        ({3: 0, 5: b"\x02" + b"\0" * 7, 6: b"\xff" * 8}, (0, -1, 2)),
        ({3: 2}, (2, None, None)),
        ({3: 1}, None),
        ({5: b"\0" * 8, 6: b"\0" * 8}, None),
        ({}, None),
    ],
)
def test_statistics(statistics: dict[int, Any], span: tuple[int, int | None, int | None] | None) -> None:
    """A span follows from statistics that are there, or from rows that are all NULL, not from less."""
    assert _span_of_statistics(_footer(statistics), 1, "at", 8) == span


def test_statistics_of_another_width() -> None:
    """Statistics of another width than the column's are damage."""
    with pytest.raises(ValueError, match="not of 8 bytes"):
        _span_of_statistics(_footer({3: 0, 5: b"\0" * 4, 6: b"\0" * 4}), 1, "at", 8)


def test_statistics_of_a_column_that_is_not_everywhere() -> None:
    """A row group without the column is damage, and so is one that is not there."""
    with pytest.raises(ValueError, match="'at' is in 1 of 2 row groups"):
        _span_of_statistics(_footer({3: 2}), 2, "at", 8)
    with pytest.raises(ValueError, match="'of' is in 0 of 1 row groups"):
        _span_of_statistics(_footer({3: 2}), 1, "of", 8)


def _footer(statistics: dict[int, Any]) -> bytes:
    """Write a footer of one row group of two rows, with two columns."""
    other, chunk = {3: {3: [b"id"], 5: 2}}, {2: 4, 3: {1: 2, 3: [b"at"], 5: 2, 12: statistics}}
    return encode({1: 2, 4: [{1: [other, chunk], 3: 2}], 5: [{1: b"key"}]})


@pytest.mark.parametrize("inner", [1, 2, 3, 7])
@pytest.mark.parametrize("kind", [9, 10])
def test_a_list_that_is_skipped_cannot_lie_about_its_size(kind: int, inner: int) -> None:
    """Of more elements than there are bytes it runs out of bytes: nobody waits for all of them."""
    data = bytes([0x10 | kind, 0xF0 | inner]) + varint(2**63) + bytes(20)

    with pytest.raises(IndexError):
        list(Reader(data).fields())
