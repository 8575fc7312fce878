"""The text of every statement that asks for rows. Pure.

A relation stands under one alias and each column is qualified by it: SQLite takes a quoted name that it does
not know for text, but not one that is qualified.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import Column, ColumnType, Kind
from rivet.source.sqlite import iso

ALIAS = "rivet"
# A double holds every decimal of so many digits, and gives it back when it is written with so many.
_DOUBLE_DIGITS = 15
_MAX_INTEGER = 2**63 - 1
_FIRST_VALUES = {Kind.BOOL: "0", Kind.INT64: "0", Kind.FLOAT64: "0.0", Kind.BINARY: "x''"}


def quoted(name: str) -> str:
    """Quote an identifier.

    >>> print(quoted('a"b'))
    "a""b"
    """
    return '"' + name.replace('"', '""') + '"'


def table_item(table: str) -> str:
    """Write a table as it stands after FROM."""
    return f"main.{quoted(table)} AS {ALIAS}"


def query_item(query: str) -> str:
    """Write a query as it stands after FROM; a comment in its last line ends with the line."""
    return f"(\n{query}\n) AS {ALIAS}"


def value(name: str) -> str:
    """Write a column's value."""
    return f"{ALIAS}.{quoted(name)}"


def text(name: str) -> str:
    """Write a value that is compared as text: byte by byte, whatever collation its column has."""
    return f"{value(name)} COLLATE BINARY"


def misfit(column: Column) -> str:
    """Write the condition that a value does not fit its column, which holds no dates; else false or NULL."""
    name, kind = value(column.name), column.type.kind
    if kind is Kind.INT64:
        return f"typeof({name}) <> 'integer' AND {name} IS NOT NULL"
    if kind is Kind.FLOAT64:  # numbers sort below any text; an integer beyond 2^53 may be no double
        return f"typeof({name}) <> 'real' AND NOT ({name} < '' AND CAST({name} AS REAL) = {name})"
    if kind is Kind.BOOL:
        return f"{name} NOT IN (0, 1)"
    if kind is Kind.DECIMAL:
        return _no_decimal(name, column.type)
    if kind is Kind.BINARY:
        return f"typeof({name}) <> 'blob' AND {name} IS NOT NULL"
    return f"typeof({name}) <> 'text' AND typeof({name}) IN ('blob', 'real')"


def read_statement(
    from_item: str,
    columns: Sequence[Column],
    column: Column | None,
    scan: Scan,
    ties: Sequence[str],
    *,
    separator: str | None,
) -> str:
    """Ask for a scan, ordered by the partition column, ties by further columns, after a stream's first row.

    SQLite runs the arms of a UNION ALL in turn and keeps the order of a subquery that is all that an arm
    reads.

    Args:
        ties: SQL of what orders rows with equal dates.
        separator: What stands between date and time in the partition column; None: a `T` and a space both do.
    """
    first = ", ".join(_FIRST_VALUES.get(c.type.kind, "''") for c in columns)
    rows = f"SELECT {', '.join(_read(c) for c in columns)} FROM {from_item}"
    if column is not None:
        conditions = _conditions(column, scan, separator)
        order = [_order_key(column.name, separator), *ties]
        if conditions:
            rows += f" WHERE {' AND '.join(conditions)}"
        rows += f" ORDER BY {', '.join(order)}"
    return f"SELECT {first} UNION ALL SELECT * FROM ({rows})"


def _read(column: Column) -> str:
    name = value(column.name)
    if column.type.kind is Kind.DECIMAL:  # the driver would write a double with 17 digits
        return f"CASE typeof({name}) WHEN 'real' THEN printf('%!.{_DOUBLE_DIGITS}g', {name}) ELSE {name} END"
    return name


def _conditions(column: Column, scan: Scan, separator: str | None) -> list[str]:
    if scan.reach is Reach.NULLS:
        return [f"{value(column.name)} IS NULL"]
    conditions = []
    for sign, end in ((">=", scan.start), ("<", scan.end)):
        limit = None if end is None else iso.bound(end, column.type.kind, separator or " ")
        if limit is not None:
            # A whole day is compared before any separator is reached, and so an index can serve it.
            is_day = len(limit) == len("YYYY-MM-DD")
            conditions.append(f"{_order_key(column.name, ' ' if is_day else separator)} {sign} '{limit}'")
    return conditions


def _order_key(name: str, separator: str | None) -> str:
    return f"replace({value(name)}, 'T', ' ')" if separator is None else text(name)


def _no_decimal(name: str, decimal: ColumnType) -> str:
    """A double stands for the decimal that the user meant if it is the nearest one to it.

    Where the digits are few enough, scaling and rounding show that it is, since each step is exact or
    rounded once; else it must come back from its text.
    """
    scale, whole = decimal.scale, decimal.precision - decimal.scale
    limit = 10**whole
    integers = f"{name} NOT BETWEEN {1 - limit} AND {limit - 1}" if limit <= _MAX_INTEGER else "0"
    condition = (
        f"CASE typeof({name}) WHEN 'null' THEN 0 WHEN 'integer' THEN {integers} WHEN 'real' THEN NOT "
        f"(abs({name}) < 1e{whole} AND round({name}, {scale}) = {name} "
        f"AND CAST(printf('%!.{_DOUBLE_DIGITS}g', {name}) AS REAL) = {name}) ELSE 1 END"
    )
    if scale > _DOUBLE_DIGITS:
        return condition
    few = min(whole, _DOUBLE_DIGITS - scale)
    quick = f"{name} > -1e{few} AND {name} < 1e{few} AND round({name} * 1e{scale}) / 1e{scale} = {name}"
    return f"({quick}) IS NOT TRUE AND {condition}"
