"""What the catalogue knows of a table: its exact name, its primary key, the indexes that serve a range."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from rivet.errors import SourceError
from rivet.plan.keys import TableIndex
from rivet.plan.resolve import near_miss

Fetch = Callable[[str, dict[str, Any]], Sequence[Any]]
"""Runs a statement with named parameters and gives its rows."""

# Ordinary, partitioned and foreign tables, views and materialised views.
_KINDS = "('r', 'p', 'f', 'v', 'm')"
_PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')


def _same(name: str, wanted: str) -> str:
    """Compare names, case aside; those of the catalogue would by themselves be folded in ASCII alone."""
    folded = (f'lower({text}::text COLLATE "default")' for text in (name, wanted))
    return f"({name} = {wanted} OR {' = '.join(folded)})"


_FIND = f"""
SELECT n.nspname, c.relname, c.oid,
    coalesce(array_position(current_schemas(true), n.nspname), 0) AS place
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN {_KINDS} AND {_same("c.relname", "%(table)s")}
    AND (%(schema)s::text IS NULL OR {_same("n.nspname", "%(schema)s")})
ORDER BY place, 1, 2
"""
_NEIGHBOURS = f"""
SELECT c.relname
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN {_KINDS} AND CASE WHEN %(schema)s::text IS NULL
    THEN n.nspname = ANY (current_schemas(false)) ELSE {_same("n.nspname", "%(schema)s")} END
ORDER BY 1 LIMIT 10000
"""
# Columns that an index merely includes are no part of the key; servers before 11 know no such columns.
_PRIMARY_KEY = """
SELECT a.attname
FROM pg_catalog.pg_index i
JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
    ON k.place <= coalesce((to_jsonb(i) ->> 'indnkeyatts')::int, i.indnatts)
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
WHERE i.indrelid = %(oid)s AND i.indisprimary
ORDER BY k.place
"""
# Option 0 is ascending with NULLs last, 3 its exact reverse: both give the order that a scan asks for. An
# index of a table with children in the old way of inheritance does not hold the children's rows.
_INDEXED = """
SELECT DISTINCT a.attname
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_am m ON m.oid = c.relam
JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
JOIN pg_catalog.pg_opclass o ON o.oid = i.indclass[0]
WHERE i.indrelid = %(oid)s AND m.amname = 'btree' AND i.indisvalid AND i.indpred IS NULL
    AND i.indoption[0] IN (0, 3) AND o.opcdefault AND i.indcollation[0] IN (0, a.attcollation)
    AND (t.relkind = 'p' OR NOT t.relhassubclass)
"""

# Column by column, in the order of each index. What serves has the default order of its type and collation,
# and ascends or is the exact reverse of that.
_INDEXES = """
SELECT c.relname, i.indisunique, a.attname, a.attnotnull, k.opt,
    coalesce(a.attnum > 0 AND k.opt IN (0, 3) AND o.opcdefault
        AND k.coll IN (0, a.attcollation), false)
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_am m ON m.oid = c.relam
JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
JOIN LATERAL unnest(i.indkey::int2[], i.indclass::oid[], i.indcollation::oid[], i.indoption::int2[])
    WITH ORDINALITY AS k(attnum, opclass, coll, opt, place)
    ON k.place <= coalesce((to_jsonb(i) ->> 'indnkeyatts')::int, i.indnatts)
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
LEFT JOIN pg_catalog.pg_opclass o ON o.oid = k.opclass
WHERE i.indrelid = %(oid)s AND m.amname = 'btree' AND i.indisvalid AND i.indpred IS NULL
    AND (t.relkind = 'p' OR NOT t.relhassubclass)
ORDER BY c.relname, k.place
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view as the catalogue spells it."""

    schema: str
    name: str
    oid: int

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class _Part:
    """One part of a name as the user wrote it; in quotes it means itself and nothing else."""

    text: str
    is_quoted: bool

    def means(self, name: str) -> bool:
        return name == self.text or (not self.is_quoted and name.lower() == self.text.lower())


def find_table(fetch: Fetch, text: str) -> Table:
    """Find what the user named: an exact name first, else the only one that differs in case.

    Without a schema the search path decides, as in a query.

    Raises:
        SourceError: There is none, or several that differ only in case.
    """
    schema, table = _parts(text)
    found = [
        (place, Table(nspname, relname, oid))
        for nspname, relname, oid, place in fetch(
            _FIND, {"schema": schema.text if schema else None, "table": table.text}
        )
        if table.means(relname) and (schema is None or schema.means(nspname))
    ]
    reachable = [(place, t) for place, t in found if schema is not None or place]
    exact = [
        (place, t)
        for place, t in reachable
        if t.name == table.text and (schema is None or t.schema == schema.text)
    ]
    # Of several schemas in the search path, the first one that has the name.
    nearest = [
        t for place, t in exact or reachable if schema is not None or place == (exact or reachable)[0][0]
    ]
    if len(nearest) == 1:
        return nearest[0]
    if nearest:
        names = ", ".join(repr(str(t)) for t in nearest)
        raise SourceError(
            f"table {text!r} may be any of {names}", hint="write the name in its exact case, in double quotes"
        )
    raise _no_such_table(fetch, text, schema, table, [t for _, t in found])


def primary_key(fetch: Fetch, table: Table) -> tuple[str, ...]:
    """List the columns of the primary key, in its order; none where there is no key."""
    return tuple(name for (name,) in fetch(_PRIMARY_KEY, {"oid": table.oid}))


def indexed_columns(fetch: Fetch, table: Table) -> frozenset[str]:
    """List the columns that lead an index which gives ranges and the default order."""
    return frozenset(name for (name,) in fetch(_INDEXED, {"oid": table.oid}))


def indexes_of(fetch: Fetch, table: Table) -> tuple[tuple[TableIndex, ...], frozenset[str]]:
    """List the indexes that give all rows in the order of their columns, and those of these without NULL."""
    parts: dict[str, list[Any]] = {}
    for row in fetch(_INDEXES, {"oid": table.oid}):
        parts.setdefault(row[0], []).append(row)
    indexes = []
    for name, found in parts.items():
        columns = [row[2] for row in takewhile(lambda row: row[5] and row[4] == found[0][4], found)]  # noqa: B023
        unique = len(columns) if found[0][1] and len(columns) == len(found) else 0
        indexes += [TableIndex(name, tuple(columns), unique)] if columns else []
    return tuple(indexes), frozenset(row[2] for found in parts.values() for row in found if row[3])


def _parts(text: str) -> tuple[_Part | None, _Part]:
    parts, position = [], 0
    while match := _PART.match(text, position):
        quoted, plain = match.groups()
        parts.append(
            _Part(plain.strip() if quoted is None else quoted.replace('""', '"'), quoted is not None)
        )
        position = match.end() + 1
        if text[match.end() : position] != ".":
            break
    if position <= len(text) or len(parts) not in (1, 2) or not all(p.text for p in parts):
        raise SourceError(
            f"table {text!r} cannot be read as a name",
            hint="write table or schema.table; a name with a dot or a quote in it stands in double quotes",
        )
    return (parts[0] if len(parts) == 2 else None), parts[-1]


def _no_such_table(
    fetch: Fetch, text: str, schema: _Part | None, table: _Part, elsewhere: Sequence[Table]
) -> SourceError:
    if elsewhere:
        return SourceError(
            f"no table {text!r} in the search path",
            hint=f"write {' or '.join(str(t) for t in elsewhere[:5])}",
        )
    names = [name for (name,) in fetch(_NEIGHBOURS, {"schema": schema.text if schema else None})]
    near = near_miss(table.text, names)
    if near and near != near.strip():
        near = '"' + near.replace('"', '""') + '"'  # only in quotes does a name begin or end with blanks
    hint = f"did you mean {near!r}?" if near else "check schema and table, and that the user may see them"
    return SourceError(f"no table {text!r} in the source", hint=hint)
