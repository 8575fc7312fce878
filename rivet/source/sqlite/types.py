"""What a column becomes: by its declared type, or, where it has none, by the values it holds. Pure.

SQLite keeps a declared type as the words the user wrote and derives only an affinity from it (SQLite manual,
"Datatypes In SQLite", 3.1); names that say more than an affinity come first here.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping

from rivet import wording
from rivet.errors import ColumnError
from rivet.plan.schema import ColumnType, Kind, decimal_type
from rivet.source.sqlite.identifiers import quoted

# SQLite's storage classes, as typeof() names them.
STORAGE_CLASSES = ("integer", "real", "text", "blob")
# Beside their counts: the integers that no double equals.
INEXACT = "inexact"
HINTED_COLUMNS = 20

_BY_NAME = {
    **dict.fromkeys(("BOOL", "BOOLEAN"), Kind.BOOL),
    "DATE": Kind.DATE,
    **dict.fromkeys(("DATETIME", "TIMESTAMP", "TIMESTAMP WITHOUT TIME ZONE"), Kind.TIMESTAMP),
    **dict.fromkeys(("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", "DATETIMEOFFSET"), Kind.INSTANT),
    **dict.fromkeys(
        ("TIME", "INTERVAL", "UUID", "GUID", "UNIQUEIDENTIFIER", "JSON", "XML", "STRING", "ENUM"), Kind.STRING
    ),
}
_DECIMALS = frozenset({"DECIMAL", "NUMERIC", "DEC", "NUMBER", "FIXED", "MONEY"})
_BY_AFFINITY = (
    (("INT",), Kind.INT64),
    (("CHAR", "CLOB", "TEXT"), Kind.STRING),
    (("BLOB",), Kind.BINARY),
    (("REAL", "FLOA", "DOUB"), Kind.FLOAT64),
)
_BRACKETS = re.compile(r"\([^)]*(?:\)|$)")
_DIGITS = re.compile(r"\(\s*(?P<p>\d+)\s*(?:,\s*(?P<s>[+-]?\d+)\s*)?\)")


def declared_type(declared: str) -> ColumnType | None:
    """Give what a declared type becomes, or None where the values must decide.

    A decimal without a precision that Arrow can hold is a float64, as SQLite keeps it.

    >>> str(declared_type("decimal(10,2)")), str(declared_type("TIMESTAMP(6) WITH TIME ZONE"))
    ('decimal128(10,2)', 'timestamp[us, UTC]')
    """
    words = " ".join(_BRACKETS.sub(" ", declared).upper().split())
    if words in _DECIMALS:
        digits = _DIGITS.search(declared)
        decimal = None if digits is None else decimal_type(int(digits["p"]), int(digits["s"] or 0))
        return decimal if decimal is not None and decimal.precision else ColumnType(Kind.FLOAT64)
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
        hint=f"write {override_hint(name, 'string')}, or {cast_hint(name)}",
    )


def counted_classes(counts: Mapping[str, int]) -> str:
    """Write storage classes with their counts, for people.

    >>> counted_classes({"integer": 2, "real": 0, "text": 1, "blob": 0})
    '2 integer, 1 text'
    """
    return ", ".join(f"{counts[c]} {c}" for c in STORAGE_CLASSES if counts[c])


def misfit_hint(name: str, asked: str = "string") -> str:
    """Say what to do with values that do not fit their column.

    Args:
        asked: The type that can hold them all.
    """
    override = override_hint(name, asked)
    return f"write {override} for all its values, {cast_hint(name)}, or leave it out with `exclude`"


def misfits_hint(mends: Mapping[str, str]) -> str:
    """Say what to do with values that do not fit several columns; of many, the first are written out.

    Args:
        mends: By column, the type that can hold all its values.
    """
    types = ", ".join(
        f"{json.dumps(name, ensure_ascii=False)}: {asked}"
        for name, asked in itertools.islice(mends.items(), HINTED_COLUMNS)
    )
    more = len(mends) - HINTED_COLUMNS
    others = f", and so on for {wording.counted(more, 'more column')}," if more > 0 else ""
    return (
        f"write `columns: {{{types}}}`{others} for all their values, cast them as text in a query, or leave "
        "them out with `exclude`"
    )


def override_hint(name: str, *asked: str) -> str:
    """Write an override as it stands in a config; of several words, a type and its unit."""
    value = asked[0] if len(asked) == 1 else f"{{type: {asked[0]}, unit: {asked[1]}}}"
    return f"`columns: {{{json.dumps(name, ensure_ascii=False)}: {value}}}`"


def cast_hint(name: str) -> str:
    """Say which cast mends a column."""
    return f"cast it in a query: SELECT …, CAST({quoted(name)} AS TEXT) AS {quoted(name)} FROM …"
