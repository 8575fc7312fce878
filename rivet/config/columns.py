"""The types that `columns` takes, as people write them.

Pure.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from rivet.config.read_settings import ColumnSettings

WITH_UNIT = ("date", "timestamp", "timestamptz")
TYPES = (
    *("string", "text", "binary", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "double"),
    *WITH_UNIT,
    *("time", "duration", "uuid", "json"),
)
TYPE_PATTERN = rf"^({'|'.join(TYPES)}|decimal\([0-9]+, *[0-9]+\))$"
_DECIMAL = re.compile(r"decimal\(([0-9]{1,3}), *([0-9]{1,3})\)")
_MAX_DIGITS = 38
# What databases and other tools call them.
_OTHER_WORDS = {
    **dict.fromkeys(("varchar", "char", "str", "utf8", "large_string"), "string"),
    **dict.fromkeys(("bytes", "bytea", "blob"), "binary"),
    "boolean": "bool",
    "tinyint": "int8",
    "smallint": "int16",
    **dict.fromkeys(("int", "integer"), "int32"),
    **dict.fromkeys(("bigint", "long"), "int64"),
    "real": "float32",
    "float": "float64",
    "date32": "date",
    "datetime": "timestamp",
    "instant": "timestamptz",
    "interval": "duration",
    "jsonb": "json",
}


def parse_type(text: str) -> ColumnSettings | None:
    """Give the type that a text names, or None where it names none.

    >>> parse_type("decimal(20, 6)"), parse_type("jsonb")
    (ColumnSettings(type='decimal', precision=20, scale=6, unit=None), None)
    """
    match = _DECIMAL.fullmatch(text)
    if match is None:
        return ColumnSettings(text) if text in TYPES else None
    precision, scale = int(match[1]), int(match[2])
    fits = 1 <= precision <= _MAX_DIGITS and scale <= precision
    return ColumnSettings("decimal", precision, scale) if fits else None


def type_hint(text: str) -> str:
    """Say what to write for a text that names no type.

    >>> type_hint("varchar(20)"), type_hint("decimal(20"), type_hint("tex")
    ('write string', 'inside { } it wants quotes: "decimal(20,6)"', 'did you mean text?')
    """
    word, bracket, rest = text.strip().lower().partition("(")
    if word in ("decimal", "numeric"):
        if bracket and ")" not in rest:  # what YAML leaves of it
            return 'inside { } it wants quotes: "decimal(20,6)"'
        return f"write decimal(p,s), at most {_MAX_DIGITS} digits, s of them behind the point"
    meant = word if word in TYPES else _OTHER_WORDS.get(word)
    if meant is not None:
        return f"write {meant}"
    near = get_close_matches(word[:64], TYPES, 1)
    return f"did you mean {near[0]}?" if near else f"the types are: {', '.join(TYPES)}, decimal(p,s)"
