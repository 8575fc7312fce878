"""What a column becomes: by its declared type, or, where it has none, by the values it holds. Pure.

SQLite keeps a declared type as the words the user wrote and derives only an affinity from it (SQLite manual,
"Datatypes In SQLite", 3.1); names that say more than an affinity come first here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rivet.errors import ColumnError
from rivet.plan.schema import ColumnType, Kind, decimal_type
from rivet.source.sqlite.statements import quoted

# SQLite's storage classes, as typeof() names them.
STORAGE_CLASSES = ("integer", "real", "text", "blob")
# Beside their counts: the integers that no double equals.
INEXACT = "inexact"

_BY_NAME = {
    **dict.fromkeys(("BOOL", "BOOLEAN"), Kind.BOOL),
    "DATE": Kind.DATE,
    **dict.fromkeys(("DATETIME", "TIMESTAMP", "TIMESTAMP WITHOUT TIME ZONE"), Kind.TIMESTAMP),
    **dict.fromkeys(
        ("TIME", "INTERVAL", "UUID", "GUID", "UNIQUEIDENTIFIER", "JSON", "XML", "STRING", "ENUM"), Kind.STRING
    ),
}
_DECIMALS = frozenset({"DECIMAL", "NUMERIC", "DEC", "NUMBER", "FIXED", "MONEY"})
_INSTANTS = frozenset({"TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", "DATETIMEOFFSET"})
_BY_AFFINITY = (
    (("INT",), Kind.INT64),
    (("CHAR", "CLOB", "TEXT"), Kind.STRING),
    (("BLOB",), Kind.BINARY),
    (("REAL", "FLOA", "DOUB"), Kind.FLOAT64),
)
_DECLARED = re.compile(
    r"(?P<name>[^()]*)(?:\(\s*(?P<p>\d+)\s*(?:,\s*(?P<s>[+-]?\d+)\s*)?\)|.*)\s*", re.DOTALL
)


def declared_type(name: str, declared: str) -> ColumnType | None:
    """Give what a declared type becomes, or None where the values must decide.

    A decimal without a precision that Arrow can hold is a float64, as SQLite keeps it.

    Args:
        name: The column's, for the message.

    Raises:
        ColumnError: It is a type that is not handled.

    >>> str(declared_type("a", "decimal(10,2)")), str(declared_type("a", "VARCHAR(20)"))
    ('decimal128(10,2)', 'string')
    """
    match = _DECLARED.fullmatch(declared)
    assert match is not None  # noqa: S101 - the pattern fits any text
    words = " ".join(match["name"].upper().split())
    if words in _INSTANTS:
        raise ColumnError(
            f"column {name!r} is {declared}, a type that is not handled yet",
            hint=f"{cast_hint(name)}, or leave it out with `exclude`",
        )
    if words in _DECIMALS:
        precision, scale = int(match["p"] or 0), int(match["s"] or 0)
        return (decimal_type(precision, scale) if precision else None) or ColumnType(Kind.FLOAT64)
    if words in _BY_NAME:
        return ColumnType(_BY_NAME[words])
    for parts, kind in _BY_AFFINITY:
        if any(part in declared.upper() for part in parts):
            return ColumnType(kind)
    return None


def type_of_values(name: str, counts: Mapping[str, int], declared: str) -> ColumnType:
    """Give what a column becomes that says nothing of its type, from its values' storage classes.

    Args:
        counts: Values of each storage class, NULLs in none, and the integers that are `INEXACT`.
        declared: What SQLite says of it all the same: `BLOB` also where nothing was declared.

    Raises:
        ColumnError: It holds values that have no type in common.
    """
    held = {c for c in STORAGE_CLASSES if counts[c]}
    if not held:
        return ColumnType(Kind.BINARY if declared.upper() == "BLOB" else Kind.STRING)
    if held == {"integer"}:
        return ColumnType(Kind.INT64)
    if held <= {"integer", "real"} and not counts[INEXACT]:
        return ColumnType(Kind.FLOAT64)
    if held == {"text"}:
        return ColumnType(Kind.STRING)
    if held == {"blob"}:
        return ColumnType(Kind.BINARY)
    raise ColumnError(
        f"column {name!r} is of no declared type and holds values that have none in common: "
        f"{counted_classes(counts)}"
        + (f", {counts[INEXACT]} of them beyond 2^53" if counts[INEXACT] else ""),
        hint=cast_hint(name),
    )


def counted_classes(counts: Mapping[str, int]) -> str:
    """Write storage classes with their counts, for people.

    >>> counted_classes({"integer": 2, "real": 0, "text": 1, "blob": 0})
    '2 integer, 1 text'
    """
    return ", ".join(f"{counts[c]} {c}" for c in STORAGE_CLASSES if counts[c])


def cast_hint(name: str) -> str:
    """Say which cast mends a column."""
    return f"cast it in a query: SELECT …, CAST({quoted(name)} AS TEXT) AS {quoted(name)} FROM …"
