"""The text of what is asked of some windows alone, and of what has changed since a watermark. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rivet.plan.calendar import FIRST_DAY, MICROSECONDS_PER_DAY
from rivet.plan.cursor import Cursor, CursorValue
from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import Column, Kind
from rivet.plan.selection import Selection
from rivet.plan.windows import units_per_day
from rivet.source.query import ALIAS
from rivet.source.sqlite import iso, moments
from rivet.source.sqlite.identifiers import quoted, text
from rivet.source.sqlite.readings import Reading
from rivet.source.sqlite.relation import SqliteRelation
from rivet.source.sqlite.statements import scan_conditions

_TIE = "rivet tie"
_NOW = {Kind.DATE: "unixepoch('now') / 86400"}
_NOW_MICROSECONDS = "unixepoch('now') * 1000000"


def narrowed(relation: SqliteRelation, column: Column, selection: Selection) -> SqliteRelation:
    """Give the rows of some windows as a relation of their own."""
    (by,) = relation.readings([column])
    conditions = []
    for start, end in selection.ranges:
        ends = scan_conditions(by, Scan(Reach.RANGE, start, end), None)
        conditions.append(" AND ".join(ends) or f"{by.name} IS NOT NULL")
    if selection.nulls:
        conditions += scan_conditions(by, Scan(Reach.NULLS), None)
    return _where(relation, " OR ".join(f"({c})" for c in conditions) or "0")


def changed(relation: SqliteRelation, cursor: Cursor, since: CursorValue) -> SqliteRelation:
    """Give the rows past a bound as a relation of their own."""
    return _where(relation, _is_past(relation, cursor, int(since)))


def _where(relation: SqliteRelation, condition: str) -> SqliteRelation:
    """Narrow a relation; a row's own number has no name in a subquery, so that it is given one."""
    numbers = [tie for tie in relation.ties if not tie.startswith(f'{ALIAS}."')]
    asked = ", ".join(["*", *(f"{tie} AS {quoted(_TIE)}" for tie in numbers)])
    return replace(
        relation,
        from_item=f"(SELECT {asked} FROM {relation.from_item} WHERE {condition}) AS {ALIAS}",
        ties=(f"{ALIAS}.{quoted(_TIE)}",) if numbers else relation.ties,
        rowid=None,
    )


def census_statement(relation: SqliteRelation, column: Column, day_edges: Sequence[int]) -> str:
    """Ask for the rows of each piece of a day, and of none, in order, the last one first."""
    (by,) = relation.readings([column])
    keys = f"SELECT {by.key} AS k FROM {relation.from_item}"
    return f"SELECT {piece_number(by.kind, day_edges)}, count(*) FROM ({keys}) GROUP BY 1 ORDER BY 1"


def span_statement(relation: SqliteRelation, column: Column) -> str:
    """Ask for the least and the greatest value on the axis."""
    (by,) = relation.readings([column])
    return f"SELECT min({by.key}), max({by.key}) FROM {relation.from_item}"


def highest_statement(relation: SqliteRelation, cursor: Cursor) -> str:
    """Ask for the highest value of a cursor that is not in the future."""
    values = f"SELECT {_value(relation, cursor)} AS v FROM {relation.from_item}"
    return f"SELECT max(v) FROM ({values}) WHERE {_is_valid(cursor.kind)}"


def touched_statement(
    relation: SqliteRelation, column: Column, day_edges: Sequence[int], cursor: Cursor, since: CursorValue
) -> str:
    """Ask for the pieces of days with rows past a bound, how many, and their highest value."""
    (by,) = relation.readings([column])
    keys = (
        f"SELECT {by.key} AS k, {_value(relation, cursor)} AS v FROM {relation.from_item} "
        f"WHERE {_is_past(relation, cursor, int(since))}"
    )
    highest = f"max(CASE WHEN {_is_valid(cursor.kind)} THEN v END)"
    return (
        f"SELECT {piece_number(by.kind, day_edges)}, count(*), {highest} FROM ({keys}) GROUP BY 1 ORDER BY 1"
    )


def now_statement(kind: Kind) -> str:
    """Ask for the present, in whole seconds, on the axis of a kind."""
    return f"SELECT {_NOW.get(kind, _NOW_MICROSECONDS)}"


def piece_number(kind: Kind, day_edges: Sequence[int]) -> str:
    """Write the number of the piece of a day in which the value `k` lies; SQLite divides towards zero."""
    if kind is Kind.DATE:
        return "k"
    day = MICROSECONDS_PER_DAY
    pieces = []
    for edge in day_edges:
        value = f"(k - {edge * 1_000_000})" if edge else "k"
        pieces.append(f"({value} - ({value} % {day} + {day}) % {day}) / {day}")
    return " + ".join(pieces)


def _value(relation: SqliteRelation, cursor: Cursor) -> str:
    first, *others = _readings(relation, cursor)
    if not others:
        return _key(first)
    return f"CASE WHEN {' OR '.join(_is_none(first))} THEN {_key(others[0])} ELSE {_key(first)} END"


def _is_past(relation: SqliteRelation, cursor: Cursor, since: int) -> str:
    """Write that a row has changed since, or may have, since nothing says when it did.

    Each alternative begins with what an index on the cursor may serve.
    """
    first, *others = _readings(relation, cursor)
    may_be = ""
    for other in others:
        may_be = f" AND ({' OR '.join((_is_not_before(other, since), *_is_none(other)))})"
    return f"({' OR '.join((_is_not_before(first, since), *(none + may_be for none in _is_none(first))))})"


def _is_none(reading: Reading) -> tuple[str, ...]:
    """Write that a cursor holds no value, and that it holds one before all calendars."""
    if not reading.kind.is_temporal:
        return (f"{reading.name} IS NULL",)
    first = FIRST_DAY * units_per_day(reading.kind)
    if reading.unit is not None:
        early = f"{reading.name} < {moments.epoch_bound(first, reading.kind, reading.unit)}"
    else:
        early = f"{text(reading.column.name)} < '{iso.bound(first, reading.kind, ' ')}'"
    return f"{reading.name} IS NULL", early


def _is_not_before(reading: Reading, since: int) -> str:
    """Write that a value is not below a bound, at first by what an index may serve."""
    if not reading.kind.is_temporal:
        return f"{reading.name} >= {since}"
    if reading.unit is not None:
        return f"{reading.name} >= {moments.epoch_bound(since, reading.kind, reading.unit)}"
    day, units = since // units_per_day(reading.kind), units_per_day(reading.kind)
    # The local date of an instant may be a day behind that of UTC.
    coarse = iso.bound((day - 1 if reading.kind is Kind.INSTANT else day) * units, reading.kind, " ")
    # Text that is no moment tells nothing of when its row has changed.
    return f"({text(reading.column.name)} >= '{coarse}' AND ifnull({reading.key} >= {since}, 1))"


def _is_valid(kind: Kind) -> str:
    return f"v <= {_NOW.get(kind, _NOW_MICROSECONDS)}" if kind.is_temporal else "v IS NOT NULL"


def _key(reading: Reading) -> str:
    return reading.key if reading.kind.is_temporal else reading.name


def _readings(relation: SqliteRelation, cursor: Cursor) -> list[Reading]:
    columns = [cursor.column] if cursor.fallback is None else [cursor.column, cursor.fallback]
    return relation.readings(columns)
