"""The text of what is asked of chunks: how the rows lie in them, and the rows of one. Pure.

The values of a key are told as text of no type, which the server reads as the column's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet.plan.chunks import ChunkNulls, ChunkPage, ChunkRange, Line
from rivet.plan.measured import Grid, Rows
from rivet.plan.scans import Scan
from rivet.plan.schema import Column, Kind
from rivet.source.postgres.statements import (
    PostgresRelation,
    between,
    fits,
    literal,
    named,
    piece_number,
    quoted,
    selection,
    where,
    window_conditions,
)
from rivet.source.query import ALIAS

_MAX_INTEGER = 2**63 - 1
_DAY_MICROSECONDS = 86_400_000_000


def chunk_statement(
    relation: PostgresRelation, columns: Sequence[Column], column: Column | None, scan: Scan
) -> str:
    """Ask for a chunk, in the order of the columns by which it is cut, ties by the primary key."""
    chunk = scan.chunk
    statement = selection(relation, columns) + where(_conditions(relation, column, scan))
    if isinstance(chunk, ChunkPage):
        return f"{statement} ORDER BY {', '.join(map(named, chunk.key))} LIMIT {chunk.limit}"
    by = chunk.columns if chunk is not None else ()
    names = {c.name for c in by}
    ties = [f"{ALIAS}.{quoted(tie)}" for tie in relation.primary_key if tie not in names]
    return f"{statement} ORDER BY {', '.join([*map(named, by), *ties])}"


def extents_statement(relation: PostgresRelation, rows: Rows, of: Sequence[Column], line: Line | None) -> str:
    """Ask for rows, rows with a value in each column, and the least and greatest on the line.

    By window it is asked by pieces of a day, whose number then stands first.
    """
    valued = " AND ".join(f"{named(c)} IS NOT NULL" for c in of)
    ends = ["NULL", "NULL"] if line is None else [f"{f}({named(line.column)})" for f in ("min", "max")]
    return _counted(relation, rows, [], ["count(*)", f"count(*) FILTER (WHERE {valued})", *ends], [])


def densities_statement(relation: PostgresRelation, rows: Rows, grid: Grid) -> str:
    """Ask for the rows of each range of a grid that holds any, by its number, by window after the piece's.

    Of decimals the number is counted from the grid's first range on, of all else from zero.
    """
    line, name = grid.line, named(grid.line.column)
    if line.is_decimal:
        number = f"pg_catalog.div({name} - ({line.number(grid.first)}), {line.number(grid.width)})"
    else:
        value = _position(line)
        number = f"({value} / {grid.width} - CAST({value} % {grid.width} < 0 AS pg_catalog.int4))"
    return _counted(relation, rows, [number], ["count(*)"], [f"{name} IS NOT NULL"])


def _counted(
    relation: PostgresRelation, rows: Rows, by: Sequence[str], asked: Sequence[str], conditions: Sequence[str]
) -> str:
    conditions = [*_conditions(relation, rows.column, rows.scan), *conditions]
    if rows.day_edges is not None and rows.column is not None:
        by = [piece_number(rows.column, rows.day_edges), *by]
        conditions = [fits(rows.column), *conditions]
    places = ", ".join(map(str, range(1, len(by) + 1)))
    groups = f" GROUP BY {places} ORDER BY {places}" if by else ""
    return f"SELECT {', '.join([*by, *asked])} FROM {relation.from_item}{where(conditions)}{groups}"


def _conditions(relation: PostgresRelation, column: Column | None, scan: Scan) -> list[str]:
    conditions, chunk = _window(relation, column, scan), scan.chunk
    if isinstance(chunk, ChunkRange):
        return conditions + _in_range(chunk)
    if isinstance(chunk, ChunkNulls):
        return [*conditions, f"({' OR '.join(f'{named(c)} IS NULL' for c in chunk.columns)})"]
    if isinstance(chunk, ChunkPage):
        conditions += [f"{named(c)} IS NOT NULL" for c in chunk.nullable]
        if chunk.within is not None:
            conditions += _in_range(chunk.within)
        if chunk.after is not None:
            names = ", ".join(map(named, chunk.key))
            values = ", ".join(_literal(c, t) for c, t in zip(chunk.key, chunk.after, strict=True))
            conditions.append(f"({names}) > ({values})")
    return conditions


def _window(relation: PostgresRelation, column: Column | None, scan: Scan) -> list[str]:
    if column is None:
        return []
    kind, is_page = column.type.kind, isinstance(scan.chunk, ChunkPage)
    if is_page and kind is Kind.DATE and scan.start is not None and scan.end == scan.start + 1:
        # Of one value, an index goes on in the order of its next columns.
        return [f"{named(column)} = {literal(scan.start, kind)}"]
    return window_conditions(relation, column, scan)


def _in_range(chunk: ChunkRange) -> list[str]:
    line, column = chunk.line, chunk.line.column
    if column.type.kind.is_temporal:
        return between(column, chunk.start, chunk.end)
    conditions = [f"{named(column)} >= {line.number(chunk.start)}"]
    if line.is_decimal or chunk.end <= _MAX_INTEGER:  # else no value is beyond
        conditions.append(f"{named(column)} < {line.number(chunk.end)}")
    return conditions


def _position(line: Line) -> str:
    """Write a value as a whole number of its unit, exactly; extract() of a whole moment may be a double."""
    name, kind = named(line.column), line.column.type.kind
    if not kind.is_temporal:
        return f"CAST({name} AS pg_catalog.int8)"
    if kind is Kind.INSTANT:
        name = f"({name} AT TIME ZONE 'UTC')"
    days = f"CAST(CAST({name} AS date) - DATE '1970-01-01' AS pg_catalog.int8)"
    if kind is Kind.DATE:
        return days
    since = f"CAST(pg_catalog.date_part('epoch', CAST({name} AS time)) * 1000000 AS pg_catalog.int8)"
    return f"({days} * {_DAY_MICROSECONDS} + {since})"


def _literal(column: Column, text: str) -> str:
    """Write a value of a key, as `key_texts` gives it."""
    if column.type.kind is Kind.BINARY:
        text = rf"\x{text}"
    if column.type.kind is Kind.INSTANT:
        text += "+00"
    return "'" + text.replace("'", "''") + "'"
