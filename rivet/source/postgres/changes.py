"""The text of what is asked of some windows alone, and of what has changed since a watermark. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rivet.plan.cursor import Cursor, CursorValue, cursor_text
from rivet.plan.schema import Column, Kind
from rivet.plan.selection import Selection
from rivet.source.postgres.statements import (
    PostgresRelation,
    calendar,
    fits,
    literal,
    named,
    piece_number,
    unfit,
)
from rivet.source.query import ALIAS

# The moment of the transaction, which is that of its snapshot, as each kind has it.
_NOW = {
    Kind.DATE: "CAST(pg_catalog.now() AT TIME ZONE 'UTC' AS date)",
    Kind.TIMESTAMP: "(pg_catalog.now() AT TIME ZONE 'UTC')",
    Kind.INSTANT: "pg_catalog.now()",
}


def narrowed(relation: PostgresRelation, column: Column, selection: Selection) -> PostgresRelation:
    """Give the rows of some windows as a relation of their own."""
    name, kind = named(column), column.type.kind
    first, beyond = calendar(kind)
    conditions = []
    for start, end in selection.ranges:
        least = first if start is None else max(first, start)
        limit = beyond if end is None else min(beyond, end)
        if least < limit:
            conditions.append(f"{name} >= {literal(least, kind)} AND {name} < {literal(limit, kind)}")
    if selection.nulls:
        conditions.append(f"{name} IS NULL")
        conditions += [unfit(relation, column)] if column.name in relation.nulled else []
    return _where(relation, " OR ".join(f"({c})" for c in conditions) or "FALSE")


def changed(relation: PostgresRelation, cursor: Cursor, since: CursorValue) -> PostgresRelation:
    """Give the rows past a bound as a relation of their own."""
    return _where(relation, _is_past(cursor, since))


def _where(relation: PostgresRelation, condition: str) -> PostgresRelation:
    whole = relation.from_item
    narrowed = f"(SELECT * FROM {whole} WHERE {condition}) AS {ALIAS}"
    return replace(relation, from_item=narrowed, whole=whole, condition=condition)


def census_statement(from_item: str, column: Column, day_edges: Sequence[int]) -> str:
    """Ask for the rows of each piece of a day, and of none, in order, the last one last."""
    number = _number_or_null(column, day_edges)
    return f"SELECT {number}, pg_catalog.count(*) FROM {from_item} GROUP BY 1 ORDER BY 1"


def span_statement(from_item: str, column: Column) -> str:
    """Ask for the least and the greatest value that fits the calendar, so that an index gives them."""
    name = named(column)
    return f"SELECT min({name}), max({name}) FROM {from_item} WHERE {fits(column)}"


def highest_statement(from_item: str, cursor: Cursor) -> str:
    """Ask for the highest value of a cursor that is not in the future."""
    value = _value(cursor)
    return f"SELECT max({value}) FROM {from_item} WHERE {_is_valid(value, cursor.kind)}"


def touched_statement(
    from_item: str, column: Column, day_edges: Sequence[int], cursor: Cursor, since: CursorValue
) -> str:
    """Ask for the pieces of days with rows past a bound, how many, and their highest value."""
    value = _value(cursor)
    highest = f"max({value}) FILTER (WHERE {_is_valid(value, cursor.kind)})"
    return (
        f"SELECT {_number_or_null(column, day_edges)}, count(*), {highest} FROM {from_item} "
        f"WHERE {_is_past(cursor, since)} GROUP BY 1 ORDER BY 1"
    )


def now_statement(kind: Kind) -> str:
    """Ask for the present as a column of a kind has it."""
    return f"SELECT {_NOW[kind]}"


def _number_or_null(column: Column, day_edges: Sequence[int]) -> str:
    return f"CASE WHEN {fits(column)} THEN {piece_number(column, day_edges)} END"


def _value(cursor: Cursor) -> str:
    name = named(cursor.column)
    if cursor.fallback is None:
        return name
    return f"CASE WHEN {_is_none(cursor.column)} THEN {named(cursor.fallback)} ELSE {name} END"


def _is_past(cursor: Cursor, since: CursorValue) -> str:
    """Write that a row has changed since, or may have, since nothing says when it did."""
    bound = _bound(since, cursor.kind)
    column, fallback = cursor.column, cursor.fallback
    if fallback is None:
        return f"({named(column)} >= {bound} OR {_is_none(column)})"
    may_be = f"{named(fallback)} >= {bound} OR {_is_none(fallback)}"
    return f"({named(column)} >= {bound} OR ({_is_none(column)} AND ({may_be})))"


def _is_none(column: Column) -> str:
    """Write that a cursor holds no value, or one before all calendars."""
    name, kind = named(column), column.type.kind
    early = f" OR {name} < {literal(calendar(kind)[0], kind)}" if kind.is_temporal else ""
    return f"({name} IS NULL{early})"


def _is_valid(value: str, kind: Kind) -> str:
    if kind.is_temporal:
        return f"{value} >= {literal(calendar(kind)[0], kind)} AND {value} <= {_NOW[kind]}"
    return f"{value} <> 'NaN'" if kind is Kind.DECIMAL else f"{value} IS NOT NULL"


def _bound(since: CursorValue, kind: Kind) -> str:
    if kind.is_temporal:
        return literal(int(since), kind)
    return f"({cursor_text(since, kind)})"
