"""The types of MySQL and MariaDB in Arrow's terms. Pure.

The source is the description that the server sends with every result (MySQL source documentation,
"Column Definition"): a code of the type, a character set, flags, a length in bytes and decimals. A table's
catalogue knows more of the types that MariaDB describes as others: uuid, inet4, inet6, vector.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from rivet.plan.schema import ColumnType, Fidelity, Kind, decimal_type

_BINARY_CHARSET = 63
_UNSIGNED, _ZEROFILL, _ENUM, _SET = 32, 64, 256, 2048
_BYTES_PER_CHARACTER = 4  # lengths of text are for the connection's utf8mb4
_BIT, _JSON, _GEOMETRY, _VECTOR, _NULL = 16, 245, 255, 242, 6
_BLOBS = frozenset({249, 250, 251, 252})
_FIXED = 254
_STRINGS = _BLOBS | {15, 247, 248, 253, _FIXED}
_DECIMALS = frozenset({0, 246})
_ONE_DIGIT = (1, 1)  # code and length of what stands for a truth value
_BOOLEAN = "tinyint(1)"
_SHOWN_WIDTH = re.compile(r"^((?:tiny|small|medium|big)?int|year)\(\d+\)")
_ANY_SCALE = 31  # NOT_FIXED_DEC: digits as they come
_TEXT_ALONE = frozenset({"uuid", "inet4", "inet6"})  # described as text, but none to the database


class Family(StrEnum):
    """What a column holds, as far as its rendering goes."""

    NUMBER = "number"
    FLOAT = "float"
    BITS = "bits"
    DAY = "day"
    INSTANT = "instant"
    TIME = "time"
    TEXT = "text"
    JSON = "json"
    BYTES = "bytes"
    GEOMETRY = "geometry"
    VECTOR = "vector"


# Code: signed kind, unsigned kind, name.
_INTEGERS: dict[int, tuple[Kind, Kind, str]] = {
    1: (Kind.INT8, Kind.UINT8, "tinyint"),
    2: (Kind.INT16, Kind.UINT16, "smallint"),
    9: (Kind.INT32, Kind.UINT32, "mediumint"),
    3: (Kind.INT32, Kind.UINT32, "int"),
    8: (Kind.INT64, Kind.UINT64, "bigint"),
    13: (Kind.INT16, Kind.INT16, "year"),
}
_OTHERS: dict[int, tuple[Kind, Family, str]] = {
    4: (Kind.FLOAT32, Family.FLOAT, "float"),
    5: (Kind.FLOAT64, Family.FLOAT, "double"),
    10: (Kind.DATE, Family.DAY, "date"),
    14: (Kind.DATE, Family.DAY, "date"),
    12: (Kind.TIMESTAMP, Family.DAY, "datetime"),
    7: (Kind.INSTANT, Family.INSTANT, "timestamp"),
    11: (Kind.STRING, Family.TIME, "time"),  # a duration of up to 838 hours, as text
    _JSON: (Kind.STRING, Family.JSON, "json"),
    _GEOMETRY: (Kind.BINARY, Family.GEOMETRY, "geometry"),
    _VECTOR: (Kind.BINARY, Family.VECTOR, "vector"),
    _NULL: (Kind.STRING, Family.TEXT, "null"),
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


@dataclass(frozen=True, slots=True)
class SourceType:
    """A column's type in the database, and what it becomes without an override.

    Attributes:
        shown: The type as the database's language writes it.
        charset: That in which text lies in a table, by its name; empty where it is not known.
    """

    shown: str
    family: Family
    becomes: ColumnType
    charset: str = ""

    @property
    def fidelity(self) -> Fidelity:
        """Say how values arrive without an override."""
        is_text = self.family is Family.TEXT and self.shown not in _TEXT_ALONE
        as_text = self.becomes.kind is Kind.STRING and not is_text
        return Fidelity.TEXT if as_text else Fidelity.EXACT


def source_type(described: Described, shown: str, charset: str = "") -> SourceType | None:
    """Give the type of a column, or None for one that came after this was written.

    Args:
        shown: The `short_name` of the catalogue's, where the column is a table's; else its `type_name`.

    >>> found = source_type(Described(code=246, charset=63, flags=0, length=14, decimals=2), "decimal(12,2)")
    >>> found and str(found.becomes)
    'decimal128(12,2)'
    """
    meaning = _meaning(described)
    if meaning is None:
        return None
    family, becomes = meaning
    if shown.startswith("vector"):  # MariaDB describes it as varbinary
        family = Family.VECTOR
    return SourceType(shown, family, becomes, charset)


def _meaning(described: Described) -> tuple[Family, ColumnType] | None:
    code = described.code
    if code in _INTEGERS:
        signed, unsigned, _ = _INTEGERS[code]
        return Family.NUMBER, ColumnType(unsigned if described.flags & _UNSIGNED else signed)
    if code in _DECIMALS:
        decimal = decimal_type(_precision(described), described.decimals)
        return Family.NUMBER, decimal or ColumnType(Kind.STRING)
    if code == _BIT:
        return Family.BITS, ColumnType(Kind.BOOL if described.length == 1 else Kind.UINT64)
    if code in _OTHERS:
        kind, family, _ = _OTHERS[code]
        return family, ColumnType(kind)
    if code in _STRINGS:
        is_binary = described.is_binary
        family = Family.BYTES if is_binary else Family.TEXT
        return family, ColumnType(Kind.BINARY if is_binary else Kind.STRING)
    return None


def short_name(catalogued: str) -> str:
    """Write a type of the catalogue as `type_name` does one that no catalogue knows.

    What it leaves out says nothing of values: the width in which integers are shown, and a list of members,
    to which more may be added any day.

    >>> [short_name(name) for name in ("int(10) unsigned", "tinyint(1)", "year(4)", "enum('a','b')")]
    ['int unsigned', 'tinyint(1)', 'year', 'enum']
    """
    if catalogued.startswith(("enum(", "set(")):
        return catalogued.partition("(")[0]
    return catalogued if catalogued.startswith(_BOOLEAN) else _SHOWN_WIDTH.sub(r"\1", catalogued)


def type_name(described: Described) -> str:
    """Write a type as the database's own language does, for columns that no catalogue knows.

    >>> type_name(Described(code=253, charset=45, flags=0, length=240, decimals=0))
    'varchar(60)'
    """
    code = described.code
    unsigned = " unsigned" if described.flags & _UNSIGNED else ""
    zerofill = " zerofill" if described.flags & _ZEROFILL else ""
    if code in _INTEGERS:
        name = _BOOLEAN if (code, described.length) == _ONE_DIGIT else _INTEGERS[code][2]
        return name if name == "year" else f"{name}{unsigned}{zerofill}"
    if code in _DECIMALS:
        return f"decimal({_precision(described)},{described.decimals}){unsigned}{zerofill}"
    if code == _BIT:
        return f"bit({described.length})"
    if code in _STRINGS:
        return _string_name(described)
    if code in _OTHERS:
        _, family, name = _OTHERS[code]
        sign = f"{unsigned}{zerofill}" if family is Family.FLOAT else ""
        return f"{name}{_digits(described)}{sign}"
    return f"of type number {code}"


def _digits(described: Described) -> str:
    """Write the digits that a float is held to, or those of a second's fraction; empty where none are."""
    _, family, name = _OTHERS[described.code]
    if family is Family.FLOAT and described.decimals < _ANY_SCALE:
        return f"({described.length},{described.decimals})"
    return f"({described.decimals})" if name in _FRACTIONAL and 1 <= described.decimals <= 6 else ""


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
