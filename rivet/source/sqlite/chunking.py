"""The text of what is asked of chunks: how the rows lie in them, and the rows of one. Pure.

A key is compared as it is stored, by its class, text byte by byte: as an index of binary order holds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rivet.plan.chunks import ChunkNulls, ChunkPage, ChunkRange, Line
from rivet.plan.measured import Grid, Rows
from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import Column
from rivet.source.sqlite.changes import piece_number
from rivet.source.sqlite.identifiers import text
from rivet.source.sqlite.readings import Reading
from rivet.source.sqlite.relation import SqliteRelation
from rivet.source.sqlite.statements import framed, scan_conditions, scan_order, selection

MAX_INTEGER = 2**63 - 1
_INTEGER = re.compile(r"-?[0-9]+")
_REAL = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")

SeparatorOf = Callable[[Column], str | None]
"""Tells what stands between date and time in a column of dates; see `read_statement`."""


def chunk_statement(
    relation: SqliteRelation,
    columns: Sequence[Column],
    column: Column | None,
    scan: Scan,
    separator_of: SeparatorOf,
) -> str:
    """Ask for a chunk, in the order of the columns by which it is cut, ties as elsewhere."""
    readings, chunk = relation.readings(columns), scan.chunk
    rows = selection(relation.from_item, readings) + _where(relation, column, scan, separator_of)
    if isinstance(chunk, ChunkPage):
        order, limit = [text(c.name) for c in chunk.key], f" LIMIT {chunk.limit}"
    else:
        limit = ""
        by = chunk.columns if chunk is not None else ()
        order = [*(_order(r, separator_of) for r in relation.readings(by)), *relation.ties]
    return framed(readings, f"{rows} ORDER BY {', '.join(order)}{limit}")


def page_end_statement(
    relation: SqliteRelation, column: Column | None, scan: Scan, separator_of: SeparatorOf
) -> str:
    """Ask for the class and the value of each column of the key in a page's last row; see `key_literal`."""
    chunk = scan.chunk
    assert isinstance(chunk, ChunkPage)  # noqa: S101 - for mypy: nothing else has an end
    asked = []
    for reading in relation.readings(chunk.key):
        name = reading.name
        asked.append(
            f"typeof({name}) || ':' || CASE typeof({name}) WHEN 'integer' THEN {name} "
            f"WHEN 'real' THEN quote({name}) ELSE hex(CAST({name} AS BLOB)) END"
        )
    order = ", ".join(text(c.name) for c in chunk.key)
    held = _where(relation, column, scan, separator_of)
    return (
        f"SELECT {', '.join(asked)} FROM {relation.from_item}{held} "
        f"ORDER BY {order} LIMIT 1 OFFSET {chunk.rows - 1}"
    )


def key_literal(told: str) -> str:
    """Write a value of a key from its class and itself, text and blobs in hex.

    >>> key_literal("integer:-5"), key_literal("text:6F")
    ('-5', "CAST(X'6f' AS TEXT)")
    """
    kind, _, value = told.partition(":")
    if kind == "integer" and _INTEGER.fullmatch(value):
        return value
    if kind == "real" and _REAL.fullmatch(value):
        return value
    if kind in ("text", "blob"):
        blob = f"X'{bytes.fromhex(value).hex()}'"
        return blob if kind == "blob" else f"CAST({blob} AS TEXT)"
    raise ValueError(f"no value of a key: {told!r}")


def extents_statement(
    relation: SqliteRelation, rows: Rows, of: Sequence[Column], line: Line | None, separator_of: SeparatorOf
) -> str:
    """Ask for rows, rows with a value in each column, and the least and greatest on the line.

    By window it is asked by pieces of a day, whose number then stands first.
    """
    valued = " AND ".join(f"{r.name} IS NOT NULL" for r in relation.readings(of))
    position = "NULL" if line is None else _value(relation, line)
    inner = [f"{position} AS p", f"{valued} AS h"]
    return _counted(
        relation, rows, inner, [], ["count(*)", "total(h)", "min(p)", "max(p)"], separator_of=separator_of
    )


def densities_statement(relation: SqliteRelation, rows: Rows, grid: Grid, separator_of: SeparatorOf) -> str:
    """Ask for the rows of each range of a grid that holds any, by its number, by window after the piece's.

    A number is counted from zero on; decimals are cut at whole numbers, of which a double is a neighbour.
    """
    value, width = _value(relation, grid.line), grid.width
    if grid.line.is_decimal:
        value = f"(CAST({value} AS INTEGER) - ({value} < CAST({value} AS INTEGER)))"
    number = f"(p / {width} - (p % {width} < 0))"
    inner = [f"{value} AS p"]
    return _counted(
        relation, rows, inner, [number], ["count(*)"], separator_of=separator_of, held="p IS NOT NULL"
    )


def _counted(
    relation: SqliteRelation,
    rows: Rows,
    inner: Sequence[str],
    by: Sequence[str],
    asked: Sequence[str],
    *,
    separator_of: SeparatorOf,
    held: str = "1",
) -> str:
    inner, by = list(inner), list(by)
    if rows.day_edges is not None and rows.column is not None:
        (reading,) = relation.readings([rows.column])
        inner.append(f"{reading.key} AS k")
        by.insert(0, piece_number(reading.kind, rows.day_edges))
        held += " AND k IS NOT NULL"
    source = f"SELECT {', '.join(inner)} FROM {relation.from_item}"
    source += _where(relation, rows.column, rows.scan, separator_of)
    places = ", ".join(map(str, range(1, len(by) + 1)))
    groups = f" GROUP BY {places} ORDER BY {places}" if by else ""
    return f"SELECT {', '.join([*by, *asked])} FROM ({source}) WHERE {held}{groups}"


def _where(relation: SqliteRelation, column: Column | None, scan: Scan, separator_of: SeparatorOf) -> str:
    conditions, chunk = [], scan.chunk
    if column is not None:
        (by,) = relation.readings([column])
        conditions += scan_conditions(by, scan, separator_of(column))
    if isinstance(chunk, ChunkRange):
        conditions += _in_range(relation, chunk, separator_of)
    elif isinstance(chunk, ChunkNulls):
        nulls = " OR ".join(f"{r.name} IS NULL" for r in relation.readings(chunk.columns))
        conditions.append(f"({nulls})")
    elif isinstance(chunk, ChunkPage):
        conditions += [f"{r.name} IS NOT NULL" for r in relation.readings(chunk.nullable)]
        conditions += [] if chunk.within is None else _in_range(relation, chunk.within, separator_of)
        if chunk.after is not None:
            names = ", ".join(text(c.name) for c in chunk.key)
            conditions.append(f"({names}) > ({', '.join(map(key_literal, chunk.after))})")
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _in_range(relation: SqliteRelation, chunk: ChunkRange, separator_of: SeparatorOf) -> list[str]:
    (by,) = relation.readings([chunk.line.column])
    if by.kind.is_temporal:
        scan = Scan(Reach.RANGE, chunk.start, chunk.end)
        return scan_conditions(by, scan, separator_of(by.column))
    conditions = [f"{by.name} >= {chunk.start}"]
    if chunk.end <= MAX_INTEGER:  # else no value is beyond
        conditions.append(f"{by.name} < {chunk.end}")
    return conditions


def _order(reading: Reading, separator_of: SeparatorOf) -> str:
    if not reading.kind.is_temporal:
        return reading.name
    return scan_order(reading, Scan(Reach.RANGE), separator_of(reading.column))


def _value(relation: SqliteRelation, line: Line) -> str:
    (reading,) = relation.readings([line.column])
    return reading.key if reading.kind.is_temporal else reading.name
