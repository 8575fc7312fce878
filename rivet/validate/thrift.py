"""Decodes the compact protocol of Apache Thrift, in which Parquet footers are written.

Pure. pyarrow reads footers too, but a damaged one can end the whole process there: its accessors of row
groups and statistics let C++ exceptions pass (`terminate called after throwing parquet::ParquetException`).
Source: Apache Thrift, "Thrift Compact protocol".
"""

from __future__ import annotations

from typing import Any

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET = range(1, 11)
_STRUCT = 12
_MAX_VARINT_BITS = 64


def decode_struct(data: bytes) -> dict[int, Any]:
    """Decode one struct into its values by their field ids.

    Raises:
        ValueError, IndexError, RecursionError: The bytes are no struct.

    >>> decode_struct(bytes([0x15, 0x02, 0x19, 0x18, 0x02, 0x68, 0x69, 0x00]))
    {1: 1, 2: [b'hi']}
    """
    return _Decoder(data).struct()


class _Decoder:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def struct(self) -> dict[int, Any]:
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
            return self.struct()
        if kind in (_LIST, _SET):
            return self._list()
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind == _DOUBLE:
            return self._bytes(8)
        raise ValueError(f"unknown type {kind} at byte {self._position}")

    def _list(self) -> list[Any]:
        header = self._byte()
        size, kind = header >> 4, header & 0x0F
        if size == 0x0F:
            size = self._varint()
        # Each element takes a byte at least, so a size that lies runs out of bytes.
        return [self._value(kind) for _ in range(size)]

    def _integer(self) -> int:
        zigzag = self._varint()
        return (zigzag >> 1) ^ -(zigzag & 1)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > _MAX_VARINT_BITS:
                raise ValueError(f"an integer without end at byte {self._position}")

    def _byte(self) -> int:
        byte = self._data[self._position]
        self._position += 1
        return byte

    def _bytes(self, size: int) -> bytes:
        start, self._position = self._position, self._position + size
        if self._position > len(self._data):
            raise IndexError(f"{size} bytes at byte {start} of {len(self._data)}")
        return self._data[start : self._position]
