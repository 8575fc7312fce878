"""The text of what is asked of some windows alone, and of what has changed since a watermark. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rivet.plan.calendar import END_DAY, FIRST_DAY
from rivet.plan.cursor import Cursor, CursorValue, cursor_text
from rivet.plan.schema import Column, Kind
from rivet.plan.selection import Selection
from rivet.plan.windows import units_per_day
from rivet.source.mysql.statements import MysqlRelation, fits, literal, named, piece_number
from rivet.source.query import ALIAS

_FIRST_SECOND = 1_000_000  # the least TIMESTAMP but zero is a second after 1970 began
_NOW = {
    Kind.DATE: "UTC_DATE()",
    Kind.TIMESTAMP: "UTC_TIMESTAMP(6)",
    Kind.INSTANT: "UTC_TIMESTAMP(6)",  # the session's zone is UTC
}


def narrowed(relation: MysqlRelation, column: Column, selection: Selection) -> MysqlRelation:
    """Give the rows of some windows as a relation of their own."""
    name, is_nulled = named(column), column.name in relation.nulled
    conditions = [_range(column, start, end) for start, end in selection.ranges]
    if is_nulled:
        conditions = [f"{condition} AND {fits(relation, column)}" for condition in conditions]
    if selection.nulls:
        conditions.append(f"({fits(relation, column)}) IS NOT TRUE" if is_nulled else f"{name} <=> NULL")
    return _where(relation, " OR ".join(f"({c})" for c in conditions) or "FALSE")


def changed(relation: MysqlRelation, cursor: Cursor, since: CursorValue) -> MysqlRelation:
    """Give the rows past a bound as a relation of their own."""
    return _where(relation, _is_past(cursor, since))


def _where(relation: MysqlRelation, condition: str) -> MysqlRelation:
    return replace(relation, from_item=f"(SELECT * FROM {relation.from_item} WHERE {condition}) AS {ALIAS}")


def census_statement(relation: MysqlRelation, column: Column, day_edges: Sequence[int]) -> str:
    """Ask for the rows of each piece of a day, and of none, in order, the last one first."""
    number = _number_or_null(relation, column, day_edges)
    return f"SELECT {number}, COUNT(*) FROM {relation.from_item} GROUP BY 1 ORDER BY 1"


def span_statement(relation: MysqlRelation, column: Column) -> str:
    """Ask for the least and the greatest value that fits the calendar, so that an index gives them."""
    name, first = named(column), literal(_first(column.type.kind), column.type.kind)
    return (
        f"SELECT CAST(MIN({name}) AS CHAR), CAST(MAX({name}) AS CHAR) FROM {relation.from_item} "
        f"WHERE {name} >= {first}"
    )


def highest_statement(relation: MysqlRelation, cursor: Cursor) -> str:
    """Ask for the highest value of a cursor that is not in the future."""
    value = _value(cursor)
    return (
        f"SELECT CAST(MAX({value}) AS CHAR) FROM {relation.from_item} WHERE {_is_valid(value, cursor.kind)}"
    )


def touched_statement(
    relation: MysqlRelation, column: Column, day_edges: Sequence[int], cursor: Cursor, since: CursorValue
) -> str:
    """Ask for the pieces of days with rows past a bound, how many, and their highest value."""
    value = _value(cursor)
    highest = f"CAST(MAX(IF({_is_valid(value, cursor.kind)}, {value}, NULL)) AS CHAR)"
    return (
        f"SELECT {_number_or_null(relation, column, day_edges)}, COUNT(*), {highest} "
        f"FROM {relation.from_item} WHERE {_is_past(cursor, since)} GROUP BY 1 ORDER BY 1"
    )


def now_statement(kind: Kind) -> str:
    """Ask for the present as a column of a kind has it."""
    return f"SELECT CAST({_NOW[kind]} AS CHAR)"


def _range(column: Column, start: int | None, end: int | None) -> str:
    name, kind = named(column), column.type.kind
    first, beyond = (day * units_per_day(kind) for day in (FIRST_DAY, END_DAY))
    conditions = [f"{name} >= {literal(first if start is None else max(first, start), kind)}"]
    if end is not None and end < beyond:  # no literal can say what lies beyond
        conditions.append(f"{name} < {literal(max(first, end), kind)}")
    return " AND ".join(conditions)


def _number_or_null(relation: MysqlRelation, column: Column, day_edges: Sequence[int]) -> str:
    return f"IF({fits(relation, column)}, {piece_number(column, day_edges)}, NULL)"


def _value(cursor: Cursor) -> str:
    name = named(cursor.column)
    if cursor.fallback is None:
        return name
    return f"IF({_is_none(cursor.column)}, {named(cursor.fallback)}, {name})"


def _is_past(cursor: Cursor, since: CursorValue) -> str:
    """Write that a row has changed since, or may have, since nothing says when it did."""
    bound = (
        literal(int(since), cursor.kind)
        if cursor.kind.is_temporal
        else f"({cursor_text(since, cursor.kind)})"
    )
    column, fallback = cursor.column, cursor.fallback
    if fallback is None:
        return f"({named(column)} >= {bound} OR {_is_none(column)})"
    may_be = f"{named(fallback)} >= {bound} OR {_is_none(fallback)}"
    return f"({named(column)} >= {bound} OR ({_is_none(column)} AND ({may_be})))"


def _is_none(column: Column) -> str:
    """Write that a cursor holds no value, or a zero date."""
    name, kind = named(column), column.type.kind
    zero = f" OR {name} < {literal(_first(kind), kind)}" if kind.is_temporal else ""
    return f"({name} <=> NULL{zero})"


def _is_valid(value: str, kind: Kind) -> str:
    if not kind.is_temporal:
        return f"{value} IS NOT NULL"
    return f"{value} >= {literal(_first(kind), kind)} AND {value} <= {_NOW[kind]}"


def _first(kind: Kind) -> int:
    return _FIRST_SECOND if kind is Kind.INSTANT else FIRST_DAY * units_per_day(kind)
