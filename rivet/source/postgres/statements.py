"""The text of every statement that asks for rows. Pure.

A relation stands in brackets under one alias, so that a name of the user's can never mean anything else.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet.plan.calendar import days_from_civil, format_day, format_timestamp
from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import Column, Kind
from rivet.plan.windows import units_per_day

ALIAS = "rivet"
# The calendar that a value must fit: year 1 up to, and not with, year 10000.
_FIRST_DAY, _END_DAY = days_from_civil(1, 1), days_from_civil(10_000, 1)


def quoted(name: str) -> str:
    """Quote an identifier.

    >>> print(quoted('a"b'))
    "a""b"
    """
    return '"' + name.replace('"', '""') + '"'


def table_item(schema: str, table: str) -> str:
    """Write a table as it stands after FROM."""
    return f"{quoted(schema)}.{quoted(table)} AS {ALIAS}"


def query_item(query: str) -> str:
    """Write a query as it stands after FROM; a comment in its last line ends with the line."""
    return f"(\n{query}\n) AS {ALIAS}"


def probe_statement(from_item: str, column: Column | None) -> str:
    """Ask for rows, rows with a value, rows with one that fits the calendar, and their least and greatest."""
    if column is None:
        return f"SELECT count(*) FROM {from_item}"
    name, fits = _name(column), _fits(column)
    return (
        f"SELECT count(*), count({name}), count(*) FILTER (WHERE {fits}), "
        f"min({name}) FILTER (WHERE {fits}), max({name}) FILTER (WHERE {fits}) FROM {from_item}"
    )


def count_statement(from_item: str, column: Column, day_edges: Sequence[int]) -> str:
    """Ask for the rows of each piece of a day, in order, by its number (see `counts_of_pieces`)."""
    days = (f"(CAST({_less(column, edge)} AS date) - DATE '1970-01-01')" for edge in day_edges)
    number = " + ".join(days)
    return f"SELECT {number}, count(*) FROM {from_item} WHERE {_fits(column)} GROUP BY 1 ORDER BY 1"


def read_statement(
    from_item: str, columns: Sequence[Column], column: Column | None, scan: Scan, ties: Sequence[str]
) -> str:
    """Ask for a scan, ordered by the partition column, ties by further columns."""
    selected = ", ".join(_rendered(c) for c in columns)
    statement = f"SELECT {selected} FROM {from_item}"
    if column is None:
        return statement
    name = _name(column)
    if scan.reach is Reach.NULLS:
        statement += f" WHERE {name} IS NULL"
    elif scan.start is not None and scan.end is not None:
        # In a zone the first and the last window may reach beyond the calendar, where no row of theirs is.
        first, beyond = _calendar(column.type.kind)
        bounds = (max(scan.start, first), min(scan.end, beyond))
        start, end = (_literal(bound, column.type.kind) for bound in bounds)
        statement += f" WHERE {name} >= {start} AND {name} < {end}"
    order = [name, *(f"{ALIAS}.{quoted(tie)}" for tie in ties if tie != column.name)]
    return f"{statement} ORDER BY {', '.join(order)}"


def _name(column: Column) -> str:
    return f"{ALIAS}.{quoted(column.name)}"


def _less(column: Column, seconds: int) -> str:
    """Write a value less some seconds, an instant as UTC shows it; only from instants any are taken."""
    name = _name(column)
    if seconds:
        name = f"({name} - INTERVAL '{seconds} seconds')"
    return f"({name} AT TIME ZONE 'UTC')" if column.type.kind is Kind.INSTANT else name


def _rendered(column: Column) -> str:
    """Write a column as it is read; what COPY renders well by itself stays as it is."""
    return f"encode({_name(column)}, 'hex')" if column.type.kind is Kind.BINARY else _name(column)


def _fits(column: Column) -> str:
    kind = column.type.kind
    first, end = (_literal(bound, kind) for bound in _calendar(kind))
    return f"{_name(column)} >= {first} AND {_name(column)} < {end}"


def _calendar(kind: Kind) -> tuple[int, int]:
    """Give the first value that fits the calendar, and the first one beyond it."""
    return _FIRST_DAY * units_per_day(kind), _END_DAY * units_per_day(kind)


def _literal(value: int, kind: Kind) -> str:
    """Write a value on the axis as a literal of the column's own type, so that an index serves it."""
    if kind is Kind.DATE:
        return f"DATE '{format_day(value).lstrip('+')}'"
    text = format_timestamp(value, utc=False, separator=" ").lstrip("+")
    return f"TIMESTAMPTZ '{text}+00'" if kind is Kind.INSTANT else f"TIMESTAMP '{text}'"
