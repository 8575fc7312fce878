"""The text of what is asked of chunks: how the rows lie in them, and the rows of one. Pure.

A key of several columns is compared column by column, since MySQL and MariaDB use no index for a comparison
of rows (MySQL manual, "Range Optimization of Row Constructor Expressions").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from rivet.plan.chunks import Chunk, ChunkNulls, ChunkPage, ChunkRange, Line
from rivet.plan.measured import Grid, Rows
from rivet.plan.scans import Scan
from rivet.plan.schema import Column, Kind
from rivet.source.mysql.statements import (
    MysqlRelation,
    Reading,
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
from rivet.source.numbers import FLOATS
from rivet.source.query import ALIAS

_MAX_INTEGER = 2**64 - 1
_MAX_DIGITS = 65
_UNIX_EPOCH = "TIMESTAMP '1970-01-01 00:00:00'"
_UNIX_DAY = "DATE '1970-01-01'"
_MOMENT = re.compile(r"[-+0-9:. ]+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def chunk_reading(
    relation: MysqlRelation, columns: Sequence[Column], column: Column | None, scan: Scan
) -> Reading:
    """Ask for a chunk, in the order of the columns by which it is cut, ties by the primary key."""
    chunk = scan.chunk
    reading = selection(_by_index(relation, chunk), columns)
    conditions = _conditions(relation, column, scan)
    if isinstance(chunk, ChunkPage):
        order, limit = [named(c) for c in chunk.key], f" LIMIT {chunk.limit}"
    else:
        by = chunk.columns if isinstance(chunk, ChunkNulls | ChunkRange) else ()
        names = {c.name for c in by}
        ties = [f"{ALIAS}.{quoted(tie)}" for tie in relation.primary_key if tie not in names]
        order, limit = [*map(named, by), *ties], ""
    statement = f"{reading.statement}{where(conditions)} ORDER BY {', '.join(order)}{limit}"
    return replace(reading, statement=statement)


def _by_index(relation: MysqlRelation, chunk: Chunk | None) -> MysqlRelation:
    """Let the server read a page by the index of its key: it may think that to sort the table is faster.

    Some windows of a table stand in brackets, where no index can be named.
    """
    if not isinstance(chunk, ChunkPage) or chunk.index is None or relation.from_item.startswith("("):
        return relation
    return replace(relation, from_item=f"{relation.from_item} FORCE INDEX ({quoted(chunk.index)})")


def extents_statement(relation: MysqlRelation, rows: Rows, of: Sequence[Column], line: Line | None) -> str:
    """Ask for rows, rows with a value in each column, and the least and greatest on the line.

    By window it is asked by pieces of a day, whose number then stands first.
    """
    valued = " AND ".join(f"{named(c)} IS NOT NULL" for c in of)
    ends = ["NULL", "NULL"] if line is None else [f"{f}({named(line.column)})" for f in ("MIN", "MAX")]
    return _counted(relation, rows, [], ["COUNT(*)", f"COUNT(CASE WHEN {valued} THEN 1 END)", *ends], [])


def densities_statement(relation: MysqlRelation, rows: Rows, grid: Grid) -> str:
    """Ask for the rows of each range of a grid that holds any, by its number, by window after the piece's.

    Decimals hold every value and difference exactly, and only whole multiples of the width are divided.
    """
    line, size = grid.line, grid.line.number(grid.width)
    distance = f"({_position(line)} - ({line.number(grid.first)}))"
    number = f"(({distance} - MOD({distance}, {size})) / {size})"
    return _counted(relation, rows, [number], ["COUNT(*)"], [f"{named(line.column)} IS NOT NULL"])


def _counted(
    relation: MysqlRelation, rows: Rows, by: Sequence[str], asked: Sequence[str], conditions: Sequence[str]
) -> str:
    conditions = [*_conditions(relation, rows.column, rows.scan), *conditions]
    if rows.day_edges is not None and rows.column is not None:
        by = [piece_number(rows.column, rows.day_edges), *by]
        conditions = [fits(relation, rows.column), *conditions]
    held = where([c for c in conditions if c])
    places = ", ".join(map(str, range(1, len(by) + 1)))
    groups = f" GROUP BY {places} ORDER BY {places}" if by else ""
    return f"SELECT {', '.join([*by, *asked])} FROM {relation.from_item}{held}{groups}"


def _conditions(relation: MysqlRelation, column: Column | None, scan: Scan) -> list[str]:
    conditions, chunk = _window(relation, column, scan), scan.chunk
    if isinstance(chunk, ChunkRange):
        return conditions + _in_range(chunk)
    if isinstance(chunk, ChunkNulls):
        return [*conditions, f"({' OR '.join(f'{named(c)} <=> NULL' for c in chunk.columns)})"]
    if isinstance(chunk, ChunkPage):
        conditions += [f"{named(c)} IS NOT NULL" for c in chunk.nullable]
        if chunk.within is not None:
            conditions += _in_range(chunk.within)
        if chunk.after is not None:
            texts = [_key_literal(c, t) for c, t in zip(chunk.key, chunk.after, strict=True)]
            names = [named(c) for c in chunk.key]
            conditions.append(_behind(names, texts))
            if len(names) > 1:  # says where the index begins
                conditions.append(f"{names[0]} >= {texts[0]}")
    return conditions


def _window(relation: MysqlRelation, column: Column | None, scan: Scan) -> list[str]:
    if column is None:
        return []
    kind, is_page = column.type.kind, isinstance(scan.chunk, ChunkPage)
    if is_page and kind is Kind.DATE and scan.start is not None and scan.end == scan.start + 1:
        # Of one value, an index goes on in the order of its next columns.
        return [f"{named(column)} = {literal(scan.start, kind)}"]
    return window_conditions(column, scan, relation)


def _in_range(chunk: ChunkRange) -> list[str]:
    line, column = chunk.line, chunk.line.column
    if column.type.kind.is_temporal:
        return between(column, chunk.start, chunk.end)
    conditions = [f"{named(column)} >= {line.number(chunk.start)}"]
    largest = 10**_MAX_DIGITS - 1 if line.is_decimal else _MAX_INTEGER
    if chunk.end <= largest:  # else no value is beyond
        conditions.append(f"{named(column)} < {line.number(chunk.end)}")
    return conditions


def _behind(names: Sequence[str], texts: Sequence[str]) -> str:
    """Write that a row's key is greater than another.

    >>> _behind(["a", "b"], ["1", "2"])
    '(a > 1 OR (a = 1 AND b > 2))'
    """
    if len(names) == 1:
        return f"{names[0]} > {texts[0]}"
    return f"({names[0]} > {texts[0]} OR ({names[0]} = {texts[0]} AND {_behind(names[1:], texts[1:])}))"


def _position(line: Line) -> str:
    """Write a value as a number of its unit, exactly."""
    name, kind = named(line.column), line.column.type.kind
    if kind is Kind.DATE:
        return f"CAST(TIMESTAMPDIFF(DAY, {_UNIX_DAY}, {name}) AS DECIMAL({_MAX_DIGITS},0))"
    if kind.is_temporal:
        return f"CAST(TIMESTAMPDIFF(MICROSECOND, {_UNIX_EPOCH}, {name}) AS DECIMAL({_MAX_DIGITS},0))"
    return f"CAST({name} AS DECIMAL({_MAX_DIGITS},{line.scale}))"


def _key_literal(column: Column, text: str) -> str:
    """Write a value of a key, as `key_texts` gives it, so that the column is compared as it is."""
    kind, declared = column.type.kind, column.source_type.lower()
    if kind.is_temporal or declared.startswith("time"):
        word = {Kind.DATE: "DATE", Kind.STRING: "TIME"}.get(kind, "TIMESTAMP")
        return f"{word} '{_plain(text)}'"
    if kind is Kind.BINARY:
        return f"X'{bytes.fromhex(text).hex()}'"
    if kind is Kind.STRING and not declared.startswith("decimal"):
        # With its character set it is a literal, which goes over to the column's; a function would not.
        return f"_utf8mb4 X'{text.encode().hex()}'"
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"no number: {text!r}")
    return f"{text}e0" if kind in FLOATS and "e" not in text else text


def _plain(text: str) -> str:
    """Give a moment's text, in which nothing ends a literal."""
    if not _MOMENT.fullmatch(text):
        raise ValueError(f"no moment: {text!r}")
    return text
