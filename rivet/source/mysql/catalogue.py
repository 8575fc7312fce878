"""What the catalogue knows of tables: exact names, columns, keys, indexes, engines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from rivet.errors import SourceError
from rivet.plan.keys import TableIndex
from rivet.plan.resolve import near_miss
from rivet.source.mysql.types import short_name

Fetch = Callable[..., Sequence[Any]]
"""Runs a statement with parameters and gives its rows."""

_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")

_TABLES = """
SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_ROWS, AVG_ROW_LENGTH
FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s
"""
_NAMES = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s"
_COLUMNS = """
SELECT COLUMN_NAME, COLUMN_TYPE, CHARACTER_SET_NAME
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s
"""
# All columns of it, since MySQL says IS_VISIBLE where MariaDB says IGNORED, and older servers neither.
_INDEXES = """
SELECT * FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s
ORDER BY INDEX_NAME, SEQ_IN_INDEX
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view as the catalogue spells it.

    Attributes:
        engine: Of its storage, or None for a view and for what keeps no versions of its rows, such as a
            sequence or the server's account of its own state.
        row_bytes: The engine's guess at the size of a row; 0 where it makes none.
    """

    schema: str
    name: str
    is_view: bool
    engine: str | None
    rows: int | None
    row_bytes: int

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class TableColumn:
    """What the catalogue says of a column that the description does not.

    Attributes:
        charset: Of text that lies in a table; else empty.
    """

    type_name: str
    charset: str


@dataclass(frozen=True, slots=True)
class Keys:
    """What a table's indexes give.

    Attributes:
        primary: The primary key in its order.
        indexed: The columns that lead an index which gives ranges and order.
        indexes: Those that hold whole values of all rows, all columns ascending or all descending.
        not_null: Columns of indexes that hold no NULL.
    """

    primary: tuple[str, ...]
    indexed: frozenset[str]
    indexes: tuple[TableIndex, ...]
    not_null: frozenset[str]


def find_table(fetch: Fetch, text: str, database: str | None, *, folds_case: bool) -> Table:
    """Find what the user named, in the database of the connection unless he named another.

    Names differ by case where the server's files do; with folds_case (`lower_case_table_names` is not 0)
    they do not.

    Raises:
        SourceError: There is none, or no database to look in.
    """
    schema, name = _parts(text)
    schema = schema or database
    if schema is None:
        raise SourceError(
            f"table {text!r} is in no database, and the source names none",
            hint="write database.table, or name the database under `source`",
        )
    found = look_up(fetch, schema, name)
    if found is not None:
        return found
    names = [row[0] for row in fetch(_NAMES, (schema,))]
    if folds_case:
        for other in names:
            if other.casefold() == name.casefold() and (found := look_up(fetch, schema, other)):
                return found
    near = near_miss(name, names)
    raise SourceError(
        f"no table {name!r} in database {schema!r}",
        hint=f"did you mean {near!r}?"
        if near
        else "check database and table, and that the user may see them",
    )


def look_up(fetch: Fetch, schema: str, name: str) -> Table | None:
    """Give a table by its exact name, or None where there is none that the user may see."""
    found = fetch(_TABLES, (schema, name))
    exact = [row for row in found if (row[0], row[1]) == (schema, name)]
    for found_schema, found_name, kind, engine, rows, row_bytes in exact or found:
        stored_by = engine if kind != "SEQUENCE" else None
        return Table(found_schema, found_name, kind == "VIEW", stored_by, rows, row_bytes or 0)
    return None


def table_columns(fetch: Fetch, table: Table) -> dict[str, TableColumn]:
    """Give the types of a table's columns by name; a view's text may lie in other sets than it shows."""
    return {
        name: TableColumn(short_name(type_name), "" if table.is_view else charset or "")
        for name, type_name, charset in fetch(_COLUMNS, (table.schema, table.name))
    }


def keys_of(fetch: Fetch, table: Table) -> Keys:
    """Give a table's keys; an index on parts of values, or one that the planner ignores, serves no range."""
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for row in fetch(_INDEXES, (table.schema, table.name)):
        part = {name.upper(): value for name, value in row._mapping.items()}  # noqa: SLF001  its public name
        parts.setdefault(part["INDEX_NAME"], []).append(part)
    primary = tuple(part["COLUMN_NAME"] for part in parts.get("PRIMARY", ()))
    # InnoDB ends every other index with the primary key (MySQL manual, "Clustered and Secondary Indexes").
    tail = primary if table.engine == "InnoDB" else ()
    indexes = [_index(name, found, tail) for name, found in parts.items()]
    return Keys(
        primary,
        frozenset(found[0]["COLUMN_NAME"] for found in parts.values() if _serves(found[0])),
        tuple(index for index in indexes if index.columns),
        frozenset(p["COLUMN_NAME"] for found in parts.values() for p in found if p["NULLABLE"] != "YES"),
    )


def _index(name: str, parts: Sequence[Mapping[str, Any]], tail: tuple[str, ...]) -> TableIndex:
    """Give the columns of an index as far as they give an order, with those at its end that are not told."""
    columns = [part["COLUMN_NAME"] for part in takewhile(_serves, parts)]
    is_whole = len(columns) == len(parts)
    if len({part["COLLATION"] for part in parts}) > 1:  # A ascends, D descends
        return TableIndex(name, ())
    unique = len(columns) if is_whole and not int(parts[0]["NON_UNIQUE"]) else 0
    return TableIndex(name, tuple(dict.fromkeys([*columns, *(tail if is_whole else ())])), unique)


def _serves(part: Mapping[str, Any]) -> bool:
    return (
        part["COLUMN_NAME"] is not None
        and part["SUB_PART"] is None
        and part["INDEX_TYPE"] == "BTREE"
        and part.get("IS_VISIBLE", "YES") == "YES"
        and part.get("IGNORED", "NO") == "NO"
    )


def _parts(text: str) -> tuple[str | None, str]:
    """Read `table`, `database.table`, each part plain or in backticks.

    >>> _parts("shop.`order.items`")
    ('shop', 'order.items')
    """
    parts, position = [], 0
    while match := _PART.match(text, position):
        in_backticks, plain = match.groups()
        parts.append(plain.strip() if in_backticks is None else in_backticks.replace("``", "`"))
        position = match.end() + 1
        if text[match.end() : position] != ".":
            break
    if position <= len(text) or len(parts) not in (1, 2) or not all(parts):
        raise SourceError(
            f"table {text!r} cannot be read as a name",
            hint="write table or database.table; a name with a dot or a backtick in it stands in backticks",
        )
    return (parts[0] if len(parts) == 2 else None), parts[-1]
