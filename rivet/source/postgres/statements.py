"""The text of every statement that asks for rows. Pure.

A relation stands in brackets under one alias, so that a name of the user's can never mean anything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rivet.plan.calendar import END_DAY, FIRST_DAY, format_day, format_timestamp
from rivet.plan.scans import Reach, Scan, Sorter
from rivet.plan.schema import Column, Kind
from rivet.plan.windows import units_per_day
from rivet.source.postgres.rendering import NOT_A_NUMBER, VALUE, Rendering
from rivet.source.query import ALIAS
from rivet.source.relation import Relation


@dataclass(frozen=True, slots=True)
class PostgresRelation(Relation):
    """A relation, and how each of its columns is rendered, by name.

    Attributes:
        whole: Of some rows of another relation, what stands after FROM for that one; else empty.
        condition: Says then which rows they are.
    """

    renderings: Mapping[str, Rendering] = field(default_factory=dict)
    whole: str = ""
    condition: str = ""

    @property
    def unsure(self) -> list[Column]:
        """List the columns that can hold unrepresentable values."""
        return [c for c in self.columns if self.renderings[c.name].unfit]


def own_relation(relation: Relation) -> PostgresRelation:
    """Take a relation for what a session of this engine has described.

    Raises:
        TypeError: It is another's.
    """
    if not isinstance(relation, PostgresRelation):
        raise TypeError(f"{relation.label} was not described by this session")
    return relation


def quoted(name: str) -> str:
    """Quote an identifier.

    >>> print(quoted('a"b'))
    "a""b"
    """
    return '"' + name.replace('"', '""') + '"'


def table_item(schema: str, table: str) -> str:
    """Write a table as it stands after FROM."""
    return f"{quoted(schema)}.{quoted(table)} AS {ALIAS}"


def probe_statement(relation: PostgresRelation, column: Column | None) -> str:
    """Ask for rows, then for those with an unrepresentable value in each column that can hold one.

    With a partition column, ask then for its values, the least and the greatest of those that fit.
    """
    asked = ["count(*)"]
    asked += [f"count(*) FILTER (WHERE {unfit(relation, c)})" for c in relation.unsure]
    if column is not None:
        name = named(column)
        asked.append(f"count({name})")
        asked += [
            f"{least_or_greatest}({name}) FILTER (WHERE {fits(column)})"
            for least_or_greatest in ("min", "max")
        ]
    return f"SELECT {', '.join(asked)} FROM {relation.from_item}"


def ends_statement(relation: PostgresRelation, column: Column | None) -> str:
    """Ask for rows, then whether any value is unrepresentable: then an end of its column's order is.

    Of a checked relation only the partition column is looked at: to look at a decimal and an instant as well
    took nearly as long as all the rest, measured.

    With a partition column, ask then for its values, the least and the greatest; NULL where any is.
    """
    sought = [c for c in relation.unsure if c == column or not relation.is_checked]
    is_any = " OR ".join(_is_unfit_end(relation, c) for c in sought) or "false"
    asked = ["count(*)", f"coalesce({is_any}, false)"]
    if column is not None:
        name = named(column)
        asked.append(f"count({name})")
        asked += [f"CASE WHEN ({is_any}) IS NOT TRUE THEN {end}({name}) END" for end in ("min", "max")]
    return f"SELECT {', '.join(asked)} FROM {relation.from_item}"


def _is_unfit_end(relation: PostgresRelation, column: Column) -> str:
    condition = relation.renderings[column.name].unfit
    ends = ("max",) if condition == NOT_A_NUMBER else ("min", "max")  # it comes after all numbers
    return " OR ".join(f"({condition.replace(VALUE, f'{end}({named(column)})')})" for end in ends)


def count_statement(from_item: str, column: Column, day_edges: Sequence[int]) -> str:
    """Ask for the rows of each piece of a day, in order, by its number (see `counts_of_pieces`)."""
    number = piece_number(column, day_edges)
    return f"SELECT {number}, count(*) FROM {from_item} WHERE {fits(column)} GROUP BY 1 ORDER BY 1"


def piece_number(column: Column, day_edges: Sequence[int]) -> str:
    """Write the number of the piece of a day in which a value that fits the calendar lies."""
    days = (f"(CAST({_less(column, edge)} AS date) - DATE '1970-01-01')" for edge in day_edges)
    return " + ".join(days)


def blocks_statement(relation: Relation) -> str | None:
    """Ask for the blocks of an ordinary table; NULL of another, or where no range of them can be read.

    The server reads ranges of blocks from version 14 on (its release notes, "TID Range Scans").
    """
    name = relation.from_item.removesuffix(f" AS {ALIAS}")
    if relation.table is None or not name.startswith('"'):  # a query, or some of the rows
        return None
    name = name.replace("'", "''")
    return (
        "SELECT CASE WHEN current_setting('server_version_num')::int >= 140000 AND c.relkind IN ('r', 'm')"
        " AND NOT c.relhassubclass AND m.amname = 'heap'"
        " THEN pg_relation_size(c.oid) / current_setting('block_size')::int END"
        " FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_am m ON m.oid = c.relam"
        f" WHERE c.oid = CAST('{name}' AS pg_catalog.regclass)"
    )


def read_statement(
    relation: PostgresRelation, columns: Sequence[Column], column: Column | None, scan: Scan
) -> str:
    """Ask for a scan, ordered by the partition column, ties by the primary key, unless Rivet sorts it."""
    if is_by_place(relation, scan):
        whole = replace(relation, from_item=relation.whole)
        return f"{selection(whole, columns)} WHERE {relation.condition} ORDER BY {ALIAS}.ctid"
    statement = selection(relation, columns)
    if column is None:
        return statement
    order = named(column)
    if column.name in relation.nulled and scan.reach is not Reach.RANGE:
        order = f"CASE WHEN {fits(column)} THEN {order} END"
    statement += where([*window_conditions(relation, column, scan), *_block_conditions(scan)])
    if scan.sorter is Sorter.RIVET:
        return statement
    ties = (f"{ALIAS}.{quoted(key)}" for key in relation.primary_key if key != column.name)
    return f"{statement} ORDER BY {', '.join([order, *ties])}"


def is_by_place(relation: PostgresRelation, scan: Scan) -> bool:
    """Tell whether the server puts a scan's few rows in the order in which they lie in the table.

    So they come from one process as from several, and several look through the table faster.
    """
    return relation.is_few and scan.sorter is Sorter.RIVET and scan.reach is Reach.EVERYTHING


def selection(relation: PostgresRelation, columns: Sequence[Column]) -> str:
    """Ask for columns of all rows, in no order.

    After the columns stands for each nulled one whether its NULL is no NULL in the database.
    """
    nulled = [c for c in columns if c.name in relation.nulled]
    selected = [_cell(relation, c) for c in columns]
    selected += [f"({unfit(relation, c)}) IS TRUE" for c in nulled]
    return f"SELECT {', '.join(selected)} FROM {relation.from_item}"


def where(conditions: Sequence[str]) -> str:
    """Write the clause of conditions that all hold; nothing where there is none."""
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def window_conditions(relation: PostgresRelation, column: Column, scan: Scan) -> list[str]:
    """Write which rows a scan reaches by the partition column."""
    name = named(column)
    if scan.reach is Reach.NULLS:
        is_nulled = column.name in relation.nulled
        return [f"({name} IS NULL OR {unfit(relation, column)})" if is_nulled else f"{name} IS NULL"]
    return [] if scan.start is None or scan.end is None else between(column, scan.start, scan.end)


def _block_conditions(scan: Scan) -> list[str]:
    """Write in which blocks of the table the rows lie."""
    if scan.blocks is None:
        return []
    conditions = [f"{ALIAS}.ctid >= '({scan.blocks.start},0)'"]
    if scan.blocks.end is not None:
        conditions.append(f"{ALIAS}.ctid < '({scan.blocks.end},0)'")
    return conditions


def between(column: Column, start: int, end: int) -> list[str]:
    """Write that a date or a timestamp lies in `[start, end)`."""
    # In a zone the first and the last window reach beyond the calendar, where none of their rows are.
    name, kind = named(column), column.type.kind
    first, beyond = calendar(kind)
    return [f"{name} >= {literal(max(start, first), kind)}", f"{name} < {literal(min(end, beyond), kind)}"]


def named(column: Column) -> str:
    """Write a column's value."""
    return f"{ALIAS}.{quoted(column.name)}"


def _less(column: Column, seconds: int) -> str:
    """Write a value less some seconds, an instant as UTC shows it; only from instants any are taken."""
    name = named(column)
    if seconds:
        name = f"({name} - INTERVAL '{seconds} seconds')"
    return f"({name} AT TIME ZONE 'UTC')" if column.type.kind is Kind.INSTANT else name


def _cell(relation: PostgresRelation, column: Column) -> str:
    """Write a column as it is read; what COPY renders well by itself stays as it is."""
    cell = relation.renderings[column.name].cell.replace(VALUE, named(column))
    return (
        f"CASE WHEN {unfit(relation, column)} THEN NULL ELSE {cell} END"
        if column.name in relation.nulled
        else cell
    )


def unfit(relation: PostgresRelation, column: Column) -> str:
    """Write the condition that a value is one which its type cannot represent."""
    return relation.renderings[column.name].unfit.replace(VALUE, named(column))


def fits(column: Column) -> str:
    """Write the condition that a date or timestamp lies in the calendar."""
    kind = column.type.kind
    first, end = (literal(bound, kind) for bound in calendar(kind))
    return f"{named(column)} >= {first} AND {named(column)} < {end}"


def calendar(kind: Kind) -> tuple[int, int]:
    """Give the first value that fits the calendar, and the first one beyond it."""
    return FIRST_DAY * units_per_day(kind), END_DAY * units_per_day(kind)


def literal(value: int, kind: Kind) -> str:
    """Write a value on the axis as a literal of the column's own type, so that an index serves it."""
    if kind is Kind.DATE:
        return f"DATE '{format_day(value).lstrip('+')}'"
    text = format_timestamp(value, utc=False, separator=" ").lstrip("+")
    return f"TIMESTAMPTZ '{text}+00'" if kind is Kind.INSTANT else f"TIMESTAMP '{text}'"
