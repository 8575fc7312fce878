"""The types of MySQL and MariaDB in Arrow's terms. Pure.

The source is the description that the server sends with every result (MySQL source documentation,
"Column Definition"): a code of the type, a character set, flags, a length in bytes and decimals.
"""

from __future__ import annotations

from dataclasses import dataclass

from rivet.plan.schema import ColumnType, Kind, decimal_type

_BINARY_CHARSET = 63
_UNSIGNED, _ZEROFILL, _ENUM, _SET = 32, 64, 256, 2048
_BYTES_PER_CHARACTER = 4  # lengths of text are for the connection's utf8mb4
_BIT, _JSON, _GEOMETRY, _VECTOR, _NULL = 16, 245, 255, 242, 6
_BLOBS = frozenset({249, 250, 251, 252})
_FIXED = 254
_STRINGS = _BLOBS | {15, 247, 248, 253, _FIXED}
_DECIMALS = frozenset({0, 246})

# Code: signed kind, unsigned kind, name.
_INTEGERS: dict[int, tuple[Kind, Kind, str]] = {
    1: (Kind.INT8, Kind.UINT8, "tinyint"),
    2: (Kind.INT16, Kind.UINT16, "smallint"),
    9: (Kind.INT32, Kind.UINT32, "mediumint"),
    3: (Kind.INT32, Kind.UINT32, "int"),
    8: (Kind.INT64, Kind.UINT64, "bigint"),
    13: (Kind.INT16, Kind.INT16, "year"),
}
_OTHERS: dict[int, tuple[Kind, str]] = {
    4: (Kind.FLOAT32, "float"),
    5: (Kind.FLOAT64, "double"),
    10: (Kind.DATE, "date"),
    14: (Kind.DATE, "date"),
    12: (Kind.TIMESTAMP, "datetime"),
    7: (Kind.INSTANT, "timestamp"),
    11: (Kind.STRING, "time"),  # a duration of up to 838 hours, as text
    _JSON: (Kind.STRING, "json"),
    _NULL: (Kind.STRING, "null"),
}
_FRACTIONAL = frozenset({"datetime", "timestamp", "time"})
_BLOB_SIZES = ((255, "tiny"), (65_535, ""), (16_777_215, "medium"))


@dataclass(frozen=True, slots=True)
class Described:
    """What the server says of one output column."""

    code: int
    charset: int
    flags: int
    length: int
    decimals: int

    @property
    def is_binary(self) -> bool:
        """Tell whether a string column holds bytes and not text."""
        return self.charset == _BINARY_CHARSET and not self.flags & (_ENUM | _SET)


def column_type(described: Described) -> ColumnType | None:
    """Give the type of a column, or None where it is not handled.

    >>> str(column_type(Described(code=246, charset=63, flags=0, length=14, decimals=2)))
    'decimal128(12,2)'
    """
    code = described.code
    if code in _INTEGERS:
        signed, unsigned, _ = _INTEGERS[code]
        return ColumnType(unsigned if described.flags & _UNSIGNED else signed)
    if code in _DECIMALS:
        return decimal_type(_precision(described), described.decimals) or ColumnType(Kind.STRING)
    if code == _BIT:
        return ColumnType(Kind.BOOL if described.length == 1 else Kind.UINT64)
    if code in _STRINGS:
        return ColumnType(Kind.BINARY if described.is_binary else Kind.STRING)
    return ColumnType(_OTHERS[code][0]) if code in _OTHERS else None


def type_name(described: Described) -> str:
    """Write a type as the database's own language does, for columns that no catalogue knows.

    >>> type_name(Described(code=253, charset=45, flags=0, length=240, decimals=0))
    'varchar(60)'
    """
    code = described.code
    unsigned = " unsigned" if described.flags & _UNSIGNED else ""
    zerofill = " zerofill" if described.flags & _ZEROFILL else ""
    if code in _INTEGERS:
        name = _INTEGERS[code][2]
        return name if name == "year" else f"{name}{unsigned}{zerofill}"
    if code in _DECIMALS:
        return f"decimal({_precision(described)},{described.decimals}){unsigned}{zerofill}"
    if code == _BIT:
        return f"bit({described.length})"
    if code in _STRINGS:
        return _string_name(described)
    if code in _OTHERS:
        name = _OTHERS[code][1]
        fraction = name in _FRACTIONAL and 1 <= described.decimals <= 6
        return f"{name}({described.decimals})" if fraction else name
    return {_GEOMETRY: "geometry", _VECTOR: "vector"}.get(code, f"of type number {code}")


def _string_name(described: Described) -> str:
    if described.flags & _ENUM:
        return "enum"
    if described.flags & _SET:
        return "set"
    length = described.length if described.is_binary else described.length // _BYTES_PER_CHARACTER
    if described.code in _BLOBS:
        size = next((name for limit, name in _BLOB_SIZES if length <= limit), "long")
        return f"{size}{'blob' if described.is_binary else 'text'}"
    words = ("varbinary", "binary") if described.is_binary else ("varchar", "char")
    return f"{words[described.code == _FIXED]}({length})"


def _precision(described: Described) -> int:
    """Count digits: the length also holds a place for the sign and one for the point."""
    sign = 0 if described.flags & _UNSIGNED else 1
    return described.length - (1 if described.decimals else 0) - sign
