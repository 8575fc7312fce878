"""The text of every statement that asks for rows. Pure.

The server renders a row as one line of CSV. Four things keep that exact, whatever `sql_mode` says: every
literal is in single quotes or in hex, and the empty one in hex too, since '' may mean NULL; NULL is asked
for, since CONCAT may take it for ''; every text is turned into utf8mb4 by itself, since one argument of
bytes makes the whole row bytes; and what stands for a quote is a sign that text hardly ever holds, as
MariaDB's REPLACE takes a time that grows with the square of what it replaces (64 KiB of JSON: 0.3 s).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rivet.plan.calendar import days_from_civil, format_day, format_timestamp
from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import Column, Kind
from rivet.plan.windows import units_per_day
from rivet.source.protocol import Relation

ALIAS = "rivet"
QUOTE = b"\x14"  # the control character "device control four"

_ALL_ROWS = 2**64 - 1
_END_DAY = days_from_civil(10_000, 1)
_UNIX_EPOCH = 719_528  # TO_DAYS('1970-01-01')
_HEX_QUOTE, _HEX_DOUBLED = f"X'{QUOTE.hex()}'", f"X'{(QUOTE * 2).hex()}'"


@dataclass(frozen=True, slots=True)
class MysqlRelation(Relation):
    """A relation, and what must be known to render its columns.

    Attributes:
        utf8: Columns whose text lies in the table as UTF-8 already.
        wide: Columns whose values may be so long that they do not go into the row's line.
        row_bytes: A guess at the size of a row, for sorts.
    """

    utf8: frozenset[str] = frozenset()
    wide: frozenset[str] = frozenset()
    row_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """A statement that reads a scan.

    Attributes:
        columns: In the order in which the values of a row come: those of the line, then each wide one.
        in_line: How many of them the first value of a row holds, as a line of CSV; after it come the wide
            ones, each a value of its own.
    """

    statement: str
    columns: tuple[Column, ...]
    in_line: int


def quoted(name: str) -> str:
    """Quote an identifier.

    >>> print(quoted("a`b"))
    `a``b`
    """
    return "`" + name.replace("`", "``") + "`"


def table_item(schema: str, table: str) -> str:
    """Write a table as it stands after FROM."""
    return f"{quoted(schema)}.{quoted(table)} AS {ALIAS}"


def query_item(query: str) -> str:
    """Write a query as it stands after FROM; a comment in its last line ends with the line."""
    return f"(\n{query}\n) AS {ALIAS}"


def made_once(from_item: str) -> str:
    """Write a relation whose rows are made before anything looks at their values: what has a LIMIT is.

    Otherwise the server puts an expression wherever its column is named, and RAND() or SYSDATE() would be
    NULL to one look and a value to the next.
    """
    return f"(SELECT * FROM {from_item} LIMIT {_ALL_ROWS}) AS {ALIAS}"


def probe_statement(from_item: str, column: Column | None) -> str:
    """Ask for rows, rows with a value, rows with one that fits the calendar, and their least and greatest.

    `COUNT(column)` and not `column IS NULL` tells NULL rows: the latter also holds for zero dates in a
    column that is declared NOT NULL (MySQL manual, "Comparison Functions and Operators").
    """
    if column is None:
        return f"SELECT COUNT(*) FROM {from_item}"
    name, fits = _name(column), _fits(column)
    return (
        f"SELECT COUNT(*), COUNT({name}), COUNT(IF({fits}, 1, NULL)), "
        f"CAST(MIN(IF({fits}, {name}, NULL)) AS CHAR), CAST(MAX(IF({fits}, {name}, NULL)) AS CHAR) "
        f"FROM {from_item}"
    )


def count_statement(from_item: str, column: Column, day_edges: Sequence[int]) -> str:
    """Ask for the rows of each piece of a day, in order, by its number (see `counts_of_pieces`)."""
    days = (f"(TO_DAYS({_less(column, edge)}) - {_UNIX_EPOCH})" for edge in day_edges)
    number = " + ".join(days)
    return f"SELECT {number}, COUNT(*) FROM {from_item} WHERE {_fits(column)} GROUP BY 1 ORDER BY 1"


def read_statement(
    relation: MysqlRelation, columns: Sequence[Column], column: Column | None, scan: Scan
) -> Reading:
    """Ask for a scan, ordered by the partition column, ties by the primary key."""
    lined = [c for c in columns if c.name not in relation.wide]
    wide = [c for c in columns if c.name in relation.wide]
    cells = ", ".join(_cell(c, relation) for c in lined)
    # First of all stands something short, even if it is empty: asyncmy takes a packet of 16 MiB that begins
    # with the length of a long value for the end of the rows.
    values = [f"CONVERT(CONCAT_WS(',', {cells}) USING binary)" if lined else "''"]
    values += [_bytes_of(c, relation) for c in wide]
    statement = f"SELECT {', '.join(values)} FROM {relation.from_item}"
    if column is not None:
        ties = [f"{ALIAS}.{quoted(tie)}" for tie in relation.primary_key if tie != column.name]
        statement += f"{_where(column, scan)} ORDER BY {', '.join([_name(column), *ties])}"
    return Reading(statement, (*lined, *wide), len(lined))


def _where(column: Column, scan: Scan) -> str:
    name = _name(column)
    if scan.reach is Reach.NULLS:
        return f" WHERE {name} <=> NULL"  # and not IS NULL, which may take zero dates for NULL
    if scan.start is None or scan.end is None:
        return ""
    conditions = [f"{name} >= {_literal(scan.start, column.type.kind)}"]
    if scan.end < _END_DAY * units_per_day(column.type.kind):  # no literal can say what lies beyond
        conditions.append(f"{name} < {_literal(scan.end, column.type.kind)}")
    return f" WHERE {' AND '.join(conditions)}"


def _name(column: Column) -> str:
    return f"{ALIAS}.{quoted(column.name)}"


def _less(column: Column, seconds: int) -> str:
    return f"({_name(column)} - INTERVAL {seconds} SECOND)" if seconds else _name(column)


def _cell(column: Column, relation: MysqlRelation) -> str:
    """Write a column as one cell of a line: NULL is nothing, text and bytes stand in quotes."""
    name, kind = _name(column), column.type.kind
    if kind in (Kind.STRING, Kind.BINARY):
        doubled = f"REPLACE({_bytes_of(column, relation)}, {_HEX_QUOTE}, {_HEX_DOUBLED})"
        return f"IF({name} IS NULL, X'', CONCAT({_HEX_QUOTE}, {doubled}, {_HEX_QUOTE}))"
    if kind is Kind.INSTANT:
        return f"IF({name} IS NULL, X'', CONCAT({name}, 'Z'))"
    if kind in (Kind.FLOAT32, Kind.FLOAT64):
        # A float is printed with six digits, and one declared with decimals is rounded to them.
        name = f"{name} * 1e0"  # and not + 0e0, which takes the sign off a zero
    elif kind in (Kind.BOOL, Kind.UINT64):
        name = f"{name} + 0"  # a bit string is printed as its bytes
    return f"IFNULL({name}, X'')"


def _bytes_of(column: Column, relation: MysqlRelation) -> str:
    """Write the bytes of a value, those of a text in UTF-8."""
    name = _name(column)
    if column.type.kind is Kind.STRING and column.name not in relation.utf8:
        name = f"CONVERT({name} USING utf8mb4)"
    return f"CONVERT({name} USING binary)"


def _fits(column: Column) -> str:
    """Tell real days of the years 1 to 9999 from zero dates, part-zero dates, year 0 and 31 February.

    `FROM_DAYS` knows neither NULL for a part that is zero nor year 0, and gives another day for one that
    no month has.
    """
    name = _name(column)
    return f"FROM_DAYS(TO_DAYS({name})) = DATE({name})"


def _literal(value: int, kind: Kind) -> str:
    if kind is Kind.DATE:
        return f"DATE '{format_day(value)}'"
    return f"TIMESTAMP '{format_timestamp(value, utc=False, separator=' ')}'"
