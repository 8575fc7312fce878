"""The text of every statement that asks for rows. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rivet.plan.scans import Reach, Scan, Sorter
from rivet.plan.schema import Kind
from rivet.source.sqlite import iso, moments
from rivet.source.sqlite.identifiers import text
from rivet.source.sqlite.readings import Reading

_DAY_CHARACTERS = len("YYYY-MM-DD")


def read_statement(
    from_item: str,
    readings: Sequence[Reading],
    by: Reading | None,
    scan: Scan,
    ties: Sequence[str],
    *,
    separator: str | None,
) -> str:
    """Ask for a scan, ordered by the partition column, ties by further columns, after a stream's first row.

    SQLite runs the arms of a UNION ALL in turn and keeps the order of a subquery that is all that an arm
    reads. After the columns come the markers of those that are nulled.

    Args:
        by: The partition column's reading.
        ties: SQL of what orders rows with equal dates.
        separator: What stands between date and time in the partition column; None: a `T` and a space both do.
    """
    rows = selection(from_item, readings)
    if by is not None:
        conditions, order = _range(by, scan, separator)
        if conditions:
            rows += f" WHERE {' AND '.join(conditions)}"
        if scan.sorter is Sorter.SOURCE:
            rows += f" ORDER BY {', '.join([order, *ties])}"
    return framed(readings, rows)


def selection(from_item: str, readings: Sequence[Reading]) -> str:
    """Ask for columns of all rows, in no order, then for the markers of those that are nulled."""
    nulled = [r for r in readings if r.nulled]
    asked = ", ".join([*(r.projection for r in readings), *(r.marker for r in nulled)])
    return f"SELECT {asked} FROM {from_item}"


def framed(readings: Sequence[Reading], rows: str) -> str:
    """Put a stream's first row before the rows of a statement, which keep their order."""
    first = ", ".join([*(r.first for r in readings), *("0" for r in readings if r.nulled)])
    return f"SELECT {first} UNION ALL SELECT * FROM ({rows})"


def text_statement(from_item: str, reading: Reading) -> str:
    """Ask for all values of a column alone, after a stream's first row."""
    return f"SELECT {reading.first} UNION ALL SELECT {reading.projection} FROM {from_item}"


def scan_conditions(by: Reading, scan: Scan, separator: str | None) -> list[str]:
    """Write the conditions that a scan's rows fulfil together; none where it reaches everything."""
    return _range(by, scan, separator)[0]


def scan_order(by: Reading, scan: Scan, separator: str | None) -> str:
    """Write what orders a scan's rows."""
    return _range(by, scan, separator)[1]


def _range(by: Reading, scan: Scan, separator: str | None) -> tuple[list[str], str]:
    """Give the conditions of a scan's rows, and what orders them.

    Text without offsets, and numbers, sort as time does where nothing unrepresentable is among them, and an
    index may serve them.
    """
    if scan.reach is Reach.NULLS:
        return [f"{by.key if by.nulled else by.name} IS NULL"], by.name
    if by.unit is None and by.kind is Kind.INSTANT:
        ends = [f"{by.key} {sign} {end}" for sign, end in _ends(scan)]
        return ends, by.key
    if by.unit is not None:
        order = by.name
        conditions = [f"{order} {s} {moments.epoch_bound(e, by.kind, by.unit)}" for s, e in _ends(scan)]
    else:
        order = f"replace({by.name}, 'T', ' ')" if separator is None else text(by.column.name)
        conditions = []
        for sign, end in _ends(scan):
            limit = iso.bound(end, by.kind, separator or " ")
            if limit is not None:
                # A whole day is compared before any separator is reached, and so an index can serve it.
                compared = text(by.column.name) if len(limit) == _DAY_CHARACTERS else order
                conditions.append(f"{compared} {sign} '{limit}'")
    if by.nulled:
        return (
            ([], by.key)
            if scan.reach is Reach.EVERYTHING
            else ([*conditions, f"{by.key} IS NOT NULL"], order)
        )
    return conditions, order


def _ends(scan: Scan) -> list[tuple[str, int]]:
    return [(sign, end) for sign, end in ((">=", scan.start), ("<", scan.end)) if end is not None]
