"""The text of every statement that asks for rows. Pure.

Whatever `sql_mode` says, every literal is in single quotes, and none is empty, since '' may mean NULL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rivet.plan.calendar import END_DAY, format_day, format_timestamp
from rivet.plan.scans import Reach, Scan, Sorter
from rivet.plan.schema import Column, Kind
from rivet.plan.windows import units_per_day
from rivet.source.mysql.rendering import Rendering
from rivet.source.query import ALIAS
from rivet.source.relation import Relation

_ALL_ROWS = 2**64 - 1
_UNIX_EPOCH = 719_528  # TO_DAYS('1970-01-01')


@dataclass(frozen=True, slots=True)
class MysqlRelation(Relation):
    """A relation, and what must be known to render its columns.

    Attributes:
        renderings: How each column is rendered, by name.
        row_bytes: A guess at the size of a row, for sorts.
    """

    renderings: Mapping[str, Rendering] = field(default_factory=dict)
    row_bytes: int = 0


def own_relation(relation: Relation) -> MysqlRelation:
    """Take a relation for what a session of this engine has described.

    Raises:
        TypeError: It is another's.
    """
    if not isinstance(relation, MysqlRelation):
        raise TypeError(f"expected a relation that this session described, got {type(relation)!r}")
    return relation


@dataclass(frozen=True, slots=True)
class Reading:
    """A statement that reads a scan.

    Attributes:
        columns: In the order in which the values of a row come.
        nulled: Columns whose markers follow, by name.
        checks: Columns of text in another character set, each with a statement that converts them alone.
    """

    statement: str
    columns: tuple[Column, ...]
    nulled: tuple[str, ...] = ()
    checks: tuple[tuple[Column, str], ...] = ()


def quoted(name: str) -> str:
    """Quote an identifier.

    >>> print(quoted("a`b"))
    `a``b`
    """
    return "`" + name.replace("`", "``") + "`"


def table_item(schema: str, table: str) -> str:
    """Write a table as it stands after FROM."""
    return f"{quoted(schema)}.{quoted(table)} AS {ALIAS}"


def made_once(from_item: str) -> str:
    """Write a relation whose rows are made before anything looks at their values: what has a LIMIT is.

    Otherwise the server puts an expression wherever its column is named, and RAND() or SYSDATE() would be
    NULL to one look and a value to the next.
    """
    return f"(SELECT * FROM {from_item} LIMIT {_ALL_ROWS}) AS {ALIAS}"


def counted_columns(relation: MysqlRelation, column: Column | None) -> list[Column]:
    """List the columns, but for the partition column, that can hold what fits no calendar."""
    return [c for c in relation.columns if c != column and relation.renderings[c.name].fits]


def probe_statement(relation: MysqlRelation, column: Column | None) -> str:
    """Ask for the counts of a probe, and for least and greatest.

    First stand all rows; then, of the partition column, rows with a value, rows with one that fits the
    calendar, least and greatest; last, for each of `counted_columns`, rows with a value that fits none.

    Least and greatest are of those that fit where the others are read as NULL, and else of all: to test each
    value takes its time, and where some do not fit, the run ends.

    `COUNT(column)` and not `column IS NULL` tells NULL rows: the latter also holds for zero dates in a
    column that is declared NOT NULL (MySQL manual, "Comparison Functions and Operators").
    """
    asked = ["COUNT(*)"]
    if column is not None:
        name = named(column)
        asked += [f"COUNT({name})", _count_fitting(relation, column)]
        value = _ordered(column, relation)
        asked += [f"CAST(MIN({value}) AS CHAR)", f"CAST(MAX({value}) AS CHAR)"]
    asked += [f"COUNT({named(c)}) - {_count_fitting(relation, c)}" for c in counted_columns(relation, column)]
    return f"SELECT {', '.join(asked)} FROM {relation.from_item}"


def count_statement(relation: MysqlRelation, column: Column, day_edges: Sequence[int]) -> str:
    """Ask for the rows of each piece of a day, in order, by its number (see `counts_of_pieces`)."""
    number = piece_number(column, day_edges)
    is_told = fits(relation, column)
    return f"SELECT {number}, COUNT(*) FROM {relation.from_item} WHERE {is_told} GROUP BY 1 ORDER BY 1"


def piece_number(column: Column, day_edges: Sequence[int]) -> str:
    """Write the number of the piece of a day in which a value that fits the calendar lies."""
    days = (f"(TO_DAYS({_less(column, edge)}) - {_UNIX_EPOCH})" for edge in day_edges)
    return " + ".join(days)


def scan_count_statement(relation: MysqlRelation, column: Column | None, scan: Scan) -> str:
    """Ask for the number of a scan's rows."""
    conditions = [] if column is None else window_conditions(column, scan, relation)
    return f"SELECT COUNT(*) FROM {relation.from_item}{where(conditions)}"


def read_statement(
    relation: MysqlRelation, columns: Sequence[Column], column: Column | None, scan: Scan
) -> Reading:
    """Ask for a scan, ordered by the partition column, ties by the primary key."""
    reading = selection(relation, columns)
    if column is None:
        return reading
    statement = reading.statement + where(window_conditions(column, scan, relation))
    if scan.sorter is Sorter.SOURCE:
        ties = [f"{ALIAS}.{quoted(tie)}" for tie in relation.primary_key if tie != column.name]
        statement += f" ORDER BY {', '.join([_ordered(column, relation), *ties])}"
    return replace(reading, statement=statement)


def selection(relation: MysqlRelation, columns: Sequence[Column]) -> Reading:
    """Ask for columns of all rows, in no order."""
    nulled = [c for c in columns if c.name in relation.nulled]
    values = [*(_cell(c, relation) for c in columns), *(_marker(c, relation) for c in nulled)]
    statement = f"SELECT {', '.join(values)} FROM {relation.from_item}"
    checks = [(c, _check_statement(c, relation)) for c in columns if relation.renderings[c.name].is_recoded]
    return Reading(statement, tuple(columns), tuple(c.name for c in nulled), tuple(checks))


def where(conditions: Sequence[str]) -> str:
    """Write the clause of conditions that all hold; nothing where there is none."""
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def window_conditions(column: Column, scan: Scan, relation: MysqlRelation) -> list[str]:
    """Write which rows a scan reaches by the partition column."""
    name, is_nulled = named(column), column.name in relation.nulled
    if scan.reach is Reach.NULLS:
        # And not IS NULL, which may take zero dates for NULL.
        return [f"({fits(relation, column)}) IS NOT TRUE" if is_nulled else f"{name} <=> NULL"]
    if scan.start is None or scan.end is None:
        return []
    return between(column, scan.start, scan.end) + ([fits(relation, column)] if is_nulled else [])


def between(column: Column, start: int, end: int) -> list[str]:
    """Write that a date or a timestamp lies in `[start, end)`."""
    name, kind = named(column), column.type.kind
    conditions = [f"{name} >= {literal(start, kind)}"]
    if end < END_DAY * units_per_day(kind):  # no literal can say what lies beyond
        conditions.append(f"{name} < {literal(end, kind)}")
    return conditions


def _ordered(column: Column, relation: MysqlRelation) -> str:
    name = named(column)
    return f"IF({fits(relation, column)}, {name}, NULL)" if column.name in relation.nulled else name


def named(column: Column) -> str:
    """Write a column's value."""
    return f"{ALIAS}.{quoted(column.name)}"


def _less(column: Column, seconds: int) -> str:
    return f"({named(column)} - INTERVAL {seconds} SECOND)" if seconds else named(column)


def _cell(column: Column, relation: MysqlRelation) -> str:
    value = _value(column, relation)
    return f"IF({fits(relation, column)}, {value}, NULL)" if column.name in relation.nulled else value


def _marker(column: Column, relation: MysqlRelation) -> str:
    return f"IF({fits(relation, column)} OR {named(column)} <=> NULL, 0, 1)"


def _value(column: Column, relation: MysqlRelation) -> str:
    return _on(column, relation.renderings[column.name].value)


def _check_statement(column: Column, relation: MysqlRelation) -> str:
    return f"SELECT MAX(LENGTH({_value(column, relation)})) FROM {relation.from_item}"


def _count_fitting(relation: MysqlRelation, column: Column) -> str:
    return f"COUNT({fits(relation, column)} OR NULL)"


def fits(relation: MysqlRelation, column: Column) -> str:
    """Write the condition that a value has a place in the calendar."""
    return _on(column, relation.renderings[column.name].fits)


def _on(column: Column, template: str) -> str:
    return template.replace("{v}", named(column))


def literal(value: int, kind: Kind) -> str:
    """Write a value on the axis as a literal, which an index serves."""
    if kind is Kind.DATE:
        return f"DATE '{format_day(value)}'"
    return f"TIMESTAMP '{format_timestamp(value, utc=False, separator=' ')}'"
