"""What the catalogue knows of a table: its exact name, its columns, the key and the indexes that order it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from rivet.errors import SourceError
from rivet.plan.keys import TableIndex
from rivet.plan.resolve import near_miss

Fetch = Callable[[str, tuple[object, ...]], Sequence[Any]]
"""Runs a statement with parameters and gives its rows."""

_PART = re.compile(r'"((?:[^"]|"")+)"|\[([^\]]+)\]|`((?:[^`]|``)+)`|([^.]+)')
_ROWIDS = ("rowid", "_rowid_", "oid")

_TABLES = """
SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
"""
# Hidden columns of 1 are arguments of virtual tables; 2 and 3 are generated.
_COLUMNS = "SELECT name, type, hidden, pk, \"notnull\" FROM pragma_table_xinfo(?, 'main') ORDER BY cid"
_KIND = "SELECT type, wr FROM pragma_table_list WHERE schema = 'main' AND name = ?"
# A partial index does not hold all rows; one on an expression has no name; another collation, another order.
_INDEXED = """
SELECT DISTINCT x.name
FROM pragma_index_list(?, 'main') AS l JOIN pragma_index_xinfo(l.name, 'main') AS x
WHERE NOT l.partial AND x.seqno = 0 AND x.name IS NOT NULL AND x.coll = 'BINARY'
"""
_OF_THE_KEY = "SELECT name FROM pragma_index_list(?, 'main') WHERE origin = 'pk'"
# Column by column, in the order of each index; at its end stands the rowid, without a name, or the key of a
# table without one.
_INDEXES = """
SELECT l.name, l."unique", x.name, x."desc", x.key, x.cid = -1, x.coll = 'BINARY'
FROM pragma_index_list(?, 'main') AS l JOIN pragma_index_xinfo(l.name, 'main') AS x
WHERE NOT l.partial ORDER BY l.name, x.seqno
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view.

    Attributes:
        columns: Name and declared type of what `SELECT *` gives.
        primary_key: Its columns in order.
        indexed: Columns that lead an index over all rows, in binary order.
        rowid: A name of the rowid, or None where there is none or columns have all its names.
        indexes: Those over all rows, in binary order, with the rowid at their end where a column has it.
        not_null: Columns that are declared to hold no NULL, or that cannot.
        is_view: Its columns' types are told by SQLite, not declared.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    primary_key: tuple[str, ...]
    indexed: frozenset[str]
    rowid: str | None
    is_view: bool
    indexes: tuple[TableIndex, ...] = ()
    not_null: frozenset[str] = frozenset()


def find_table(fetch: Fetch, written: str) -> Table:
    """Find what the user named, in any case, with or without `main.` and any of SQLite's quotes.

    Raises:
        SourceError: There is no such table or view.
    """
    names = [name for (name,) in fetch(_TABLES, ())]
    wanted = _wanted(written)
    found = [n for w in wanted for n in names if _folded(n) == _folded(w)]
    if not found:
        near = near_miss(wanted[-1], names)
        raise SourceError(
            f"no table {written!r} in the source",
            hint=f"did you mean {near!r}?" if near else "check `table`, and `path` under `source`",
        )
    return _table(fetch, found[0])


def _wanted(written: str) -> list[str]:
    """List what a name may mean: itself as it is, and without quotes and schema."""
    parts = []
    position = 0
    while match := _PART.match(written, position):
        double, brackets, back, plain = match.groups()
        if double is not None:
            parts.append(double.replace('""', '"'))
        elif back is not None:
            parts.append(back.replace("``", "`"))
        else:
            parts.append(brackets or plain.strip())
        position = match.end() + 1
    if len(parts) == 2 and _folded(parts[0]) == _folded("main"):
        parts = parts[1:]
    return [written, *parts] if len(parts) == 1 else [written]


def _table(fetch: Fetch, name: str) -> Table:
    described = fetch(_COLUMNS, (name,))
    ((kind, is_clustered),) = fetch(_KIND, (name,))
    key = sorted((place, column) for column, _, _, place, _ in described if place)
    primary_key = tuple(column for _, column in key)
    taken = {_folded(column) for column, *_ in described}
    has_rowid = kind in ("table", "shadow") and not is_clustered
    indexed = {column for (column,) in fetch(_INDEXED, (name,))}
    # Such a key is the rowid itself and has no index. Declared as `INTEGER PRIMARY KEY DESC`, by an old slip
    # of SQLite's, it is a column of its own with one. (SQLite manual, "ROWIDs and the INTEGER PRIMARY KEY")
    types = [declared.upper() for _, declared, _, place, _ in described if place]
    is_rowid = has_rowid and types == ["INTEGER"] and not fetch(_OF_THE_KEY, (name,))
    indexed |= set(primary_key) if is_rowid else set()
    indexes = _indexes(fetch, name, primary_key[0] if is_rowid else None)
    return Table(
        name=name,
        columns=tuple((column, declared) for column, declared, hidden, *_ in described if hidden != 1),
        primary_key=primary_key,
        indexed=frozenset(indexed),
        rowid=next((r for r in _ROWIDS if _folded(r) not in taken), None) if has_rowid else None,
        is_view=kind == "view",
        indexes=indexes,
        not_null=frozenset(column for column, *_, not_null in described if not_null)
        | (frozenset(primary_key) if is_rowid or is_clustered else frozenset()),
    )


def _indexes(fetch: Fetch, table: str, rowid: str | None) -> tuple[TableIndex, ...]:
    """List the indexes of a table.

    Args:
        rowid: The column that has it, or None.
    """
    parts: dict[str, list[Any]] = {}
    for row in fetch(_INDEXES, (table,)):
        parts.setdefault(row[0], []).append(row)
    indexes = [] if rowid is None else [TableIndex("rowid", (rowid,), 1)]
    for name, found in parts.items():
        declared = sum(1 for row in found if row[4])
        columns = [rowid if row[5] else row[2] if row[6] else None for row in found]
        known = list(takewhile(lambda c: c is not None, columns))
        if known and len({row[3] for row in found[:declared]}) == 1:
            unique = declared if found[0][1] and len(known) >= declared else 0
            indexes.append(TableIndex(name, tuple(dict.fromkeys(c for c in known if c is not None)), unique))
    return tuple(indexes)


def _folded(name: str) -> bytes:
    """Fold the case of a name as SQLite does: of the letters A to Z."""
    return name.encode().lower()
