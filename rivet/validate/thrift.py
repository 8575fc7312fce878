"""Reads the compact protocol of Apache Thrift, in which Parquet footers are written.

Pure. pyarrow reads footers too, but a damaged one can end the whole process there: its accessors of row
groups and statistics let C++ exceptions pass (`terminate called after throwing parquet::ParquetException`).
Source: Apache Thrift, "Thrift Compact protocol".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET = range(1, 11)
_STRUCT = 12
_MAX_VARINT_BITS = 64
# What a value of other types takes.
_BYTES = {_TRUE: 1, _FALSE: 1, _BYTE: 1, _DOUBLE: 8}


class Reader:
    """Walks once through a struct: what is not asked for is skipped, several times as fast as it is read.

    A method that reads raises ValueError, IndexError or RecursionError where the bytes are no struct.

    Args:
        data: A struct, which other bytes may follow.

    >>> Reader(bytes([0x15, 0x02, 0x19, 0x18, 0x02, 0x68, 0x69, 0x00])).value()
    {1: 1, 2: [b'hi']}
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0
        self._kind: int | None = _STRUCT  # of the value that begins here; None once it is taken

    def fields(self) -> Iterator[int]:
        """Take the struct that begins here: give its field ids; what stands there can be taken."""
        self._take(_STRUCT)
        number = 0
        while header := self._byte():
            delta, kind = header >> 4, header & 0x0F
            number = number + delta if delta else self._integer()
            self._kind = kind if kind not in (_TRUE, _FALSE) else None
            yield number
            if self._kind is not None:
                self._position = _after(self._data, self._position, self._kind)
        self._kind = None

    def elements(self) -> Iterator[int]:
        """Take the list that begins here: give the numbers of its elements, each of which can be taken."""
        self._take(_LIST)
        size, kind = self._size_and_kind()
        # Each element takes a byte at least, so a size that lies runs out of bytes.
        for number in range(size):
            self._kind = kind
            yield number
            if self._kind is not None:
                self._position = _after(self._data, self._position, self._kind)
        self._kind = None

    def value(self) -> Any:
        """Take what begins here: a struct as its values by their field ids, a list, bytes or an integer.

        A field that is a truth value cannot be taken by itself: its type is all there is of it.
        """
        kind, self._kind = self._kind, None
        if kind is None:
            raise ValueError(f"nothing begins at byte {self._position}")
        return self._value(kind)

    def _take(self, kind: int) -> None:
        if self._kind != kind:
            raise ValueError(f"type {self._kind} at byte {self._position}, expected {kind}")
        self._kind = None

    def _struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            delta, kind = header >> 4, header & 0x0F
            number = number + delta if delta else self._integer()
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (_I16, _I32, _I64):
            return self._integer()
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind == _STRUCT:
            return self._struct()
        if kind in (_LIST, _SET):
            size, inner = self._size_and_kind()
            return [self._value(inner) for _ in range(size)]
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind == _DOUBLE:
            return self._bytes(8)
        raise ValueError(f"unknown type {kind} at byte {self._position}")

    def _size_and_kind(self) -> tuple[int, int]:
        header = self._byte()
        size, kind = header >> 4, header & 0x0F
        return self._varint() if size == 0x0F else size, kind

    def _integer(self) -> int:
        zigzag = self._varint()
        return (zigzag >> 1) ^ -(zigzag & 1)

    def _varint(self) -> int:
        value, self._position = _varint(self._data, self._position)
        return value

    def _byte(self) -> int:
        byte = self._data[self._position]
        self._position += 1
        return byte

    def _bytes(self, size: int) -> bytes:
        start, self._position = self._position, self._position + size
        if self._position > len(self._data):
            raise IndexError(f"{size} bytes at byte {start} of {len(self._data)}")
        return self._data[start : self._position]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Read an unsigned integer, and give it with where it ends."""
    value = shift = 0
    while (byte := data[at]) > 0x7F:
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if shift > _MAX_VARINT_BITS:
            raise ValueError(f"an integer without end at byte {at}")
    return value | byte << shift, at + 1


def _after_struct(data: bytes, at: int) -> int:
    """Give where a struct ends; nearly all of a footer is skipped, so a field costs as little as it can."""
    while header := data[at]:
        at += 1
        kind = header & 0x0F
        if header < 0x10:
            at = _after(data, at, _I16)
        if _I16 <= kind <= _I64:
            while data[at] > 0x7F:
                at += 1
            at += 1
        elif kind > _FALSE:
            at = _after(data, at, kind)
    return at + 1


def _after(data: bytes, at: int, kind: int) -> int:
    """Give where a value ends, which is behind the end of the data where it is cut and nothing follows."""
    if kind == _STRUCT:
        return _after_struct(data, at)
    if _I16 <= kind <= _I64:
        while data[at] > 0x7F:
            at += 1
        return at + 1
    if kind == _BINARY:
        size, at = _varint(data, at)
        return at + size
    if kind in (_LIST, _SET):
        size, inner = data[at] >> 4, data[at] & 0x0F
        at += 1
        if size == 0x0F:
            size, at = _varint(data, at)
        for _ in range(size):
            at = _after(data, at, inner)
        return at
    if kind not in _BYTES:
        raise ValueError(f"unknown type {kind} at byte {at}")
    if at >= len(data):  # or a list that lies about its size would be gone through to its end
        raise IndexError(f"a value at byte {at} of {len(data)}")
    return at + _BYTES[kind]
