"""Describes a table or a query: the catalogue and SQLite's compiler say what it gives, without running it.

Only where a column has no declared type do its values decide, and then all rows are examined here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rivet.errors import ColumnError, SourceError
from rivet.plan.schema import Column, ColumnType, Kind, Override
from rivet.source.columns import kept_columns, made_by_name, resolved_overrides, told_together
from rivet.source.query import ALIAS, checked_query, query_item, query_sha256
from rivet.source.relation import Consistency, Request
from rivet.source.sqlite.account import Examination, Examiner
from rivet.source.sqlite.catalogue import find_table
from rivet.source.sqlite.connecting import SqliteConnection
from rivet.source.sqlite.errors import translated
from rivet.source.sqlite.identifiers import quoted, table_item, text
from rivet.source.sqlite.overriding import overridden
from rivet.source.sqlite.readings import Reading
from rivet.source.sqlite.relation import SqliteRelation
from rivet.source.sqlite.steadiness import made_once, unsteadiness_of
from rivet.source.sqlite.types import declared_type, type_of_values
from rivet.source.steadiness import Unsteadiness

# How SQLite names a further column of a name in a subquery (its sqlite3ColumnsFromExprList).
_RENAMED = re.compile(r"(.*):\d+", re.DOTALL)
# What stands for a type in manifests where none is declared: the storage class, as typeof() names it.
_CLASS_OF_KIND = {Kind.INT64: "integer", Kind.FLOAT64: "real", Kind.STRING: "text", Kind.BINARY: "blob"}


@dataclass(frozen=True, slots=True)
class _Typed:
    columns: tuple[Column, ...]
    overrides: dict[str, Override]
    examination: Examination | None

    @property
    def units(self) -> set[str]:
        return {name for name, override in self.overrides.items() if override.unit is not None}


@dataclass(frozen=True, slots=True)
class Described:
    """A relation, with the examination of all its rows where the types could not be told without it."""

    relation: SqliteRelation
    examination: Examination | None


def describe(connection: SqliteConnection, request: Request) -> Described:
    """Describe a table or query.

    Raises:
        SourceError: No such table or column, a query that is not one reading SELECT, repeated names.
        ColumnError: Columns' values have no type in common, or cannot have the one that is asked for.
    """
    describing = _Describing(connection, request)
    if request.query is not None:
        return describing.query(request.query)
    return describing.table(request.table or "")


class _Describing:
    def __init__(self, connection: SqliteConnection, request: Request) -> None:
        self._connection = connection
        self._request = request

    def table(self, written: str) -> Described:
        with translated(f"cannot describe table {written!r}"):
            table = find_table(self._connection.rows, written)
            unsteady = unsteadiness_of(quoted(table.name), f"table {table.name!r}", self._connection.rows)
        from_item = _once(table_item(table.name), unsteady)
        typed = self._typed(from_item, table.columns, is_told=table.is_view)
        names = {c.name for c in typed.columns}
        key = table.primary_key if names.issuperset(table.primary_key) else ()
        ties = tuple(text(name) for name in table.primary_key)
        rowid = None if table.rowid is None else f"{ALIAS}.{table.rowid}"
        if not ties and rowid is not None:
            ties = (rowid,)
        # An index holds text, and text with offsets is not in the order of time.
        unordered = {
            c.name for c in typed.columns if c.type.kind is Kind.INSTANT and c.name not in typed.units
        }
        relation = SqliteRelation(
            from_item=from_item,
            columns=typed.columns,
            table=f"main.{table.name}",
            primary_key=key,
            indexed=(table.indexed & names) - unordered,
            indexes=table.indexes,
            not_null=table.not_null,
            consistency=_consistency(unsteady),
            consistency_reason=unsteady.reason if unsteady else "",
            overrides=tuple(typed.overrides.items()),
            ties=ties,
            rowid=None if unsteady else rowid,
        )
        return Described(relation, typed.examination)

    def query(self, written: str) -> Described:
        query = checked_query(written, "sqlite")
        from_item = query_item(query)
        with translated("cannot describe the query"):
            parameters = self._connection.prepare(f"SELECT * FROM {from_item}")
            if parameters:
                raise SourceError(
                    "cannot describe the query: it holds a parameter (?, :name, @name or $name), for which "
                    "there is no value",
                    hint="write the value itself",
                )
            described = self._connection.described(query)
            names = self._names_given([name for name, _ in described], query)
            unsteady = unsteadiness_of(query, "the query", self._connection.rows)
        from_item = _once(from_item, unsteady)
        columns = [(name, declared) for name, (_, declared) in zip(names, described, strict=True)]
        typed = self._typed(from_item, columns, is_told=True)
        relation = SqliteRelation(
            from_item=from_item,
            columns=typed.columns,
            query_sha256=query_sha256(written),
            consistency=_consistency(unsteady),
            consistency_reason=unsteady.reason if unsteady else "",
            overrides=tuple(typed.overrides.items()),
        )
        return Described(relation, typed.examination)

    def _typed(self, from_item: str, described: Sequence[tuple[str, str]], *, is_told: bool) -> _Typed:
        """Type the columns that are exported.

        Args:
            is_told: The types are what SQLite tells of a query's columns: `BLOB` also where none is declared.
        """
        kept = dict(kept_columns(described, self._request.exclude))
        overrides = resolved_overrides(list(kept), self._request.overrides)
        own = {
            name: None if is_told and declared.upper() == "BLOB" else declared_type(declared)
            for name, declared in kept.items()
        }
        columns = {name: Column(name, t, kept[name]) for name, t in own.items() if t is not None}
        columns |= made_by_name(
            overrides, lambda name: overridden(name, kept[name], own[name], overrides[name])
        )
        untyped = [name for name in kept if name not in columns]
        examination = None
        if untyped:
            readings = [Reading(columns[name], overrides.get(name)) for name in kept if name in columns]
            examiner = Examiner(self._connection, from_item, readings, untyped)
            with translated("cannot examine the values of columns without a declared type"):
                examination = examiner.examine()
            types = _types_of_values(untyped, kept, examination)
            columns |= {
                name: Column(name, t, kept[name] or _CLASS_OF_KIND[t.kind]) for name, t in types.items()
            }
        return _Typed(tuple(columns[name] for name in kept), overrides, examination)

    def _names_given(self, told: Sequence[str], query: str) -> list[str]:
        """Undo the new names that SQLite gives to columns whose names repeat, `id:1` for a second `id`.

        Such a name is the user's own if it stands in his query, or in a table's or view's definition.
        """
        first: dict[str, str] = {}
        names = []
        for name in told:
            match = _RENAMED.fullmatch(name)
            base = (match[1] if match else name).lower()
            repeats = match is not None and base in first and not self._is_written(name, query)
            names.append(first[base] if repeats else name)
            first.setdefault(base, name)
        return names

    def _is_written(self, name: str, query: str) -> bool:
        if name.lower() in query.lower():
            return True
        known = "SELECT 1 FROM main.sqlite_schema WHERE instr(lower(sql), lower(?)) LIMIT 1"
        return bool(self._connection.rows(known, (name,)))


def _types_of_values(
    untyped: Sequence[str], kept: Mapping[str, str], examination: Examination
) -> dict[str, ColumnType]:
    """Give the types of columns without a declared one; what does not fit the others is told as well."""
    refused, types = [], {}
    try:
        types = made_by_name(
            untyped, lambda name: type_of_values(name, examination.classes[name], kept[name])
        )
    except ColumnError as error:
        refused.append(error)
    try:
        examination.require_fit()
    except ColumnError as error:
        refused.append(error)
    if refused:
        raise told_together(refused)
    return types


def _once(from_item: str, unsteady: Unsteadiness | None) -> str:
    return made_once(from_item) if unsteady and unsteady.is_per_look else from_item


def _consistency(unsteady: Unsteadiness | None) -> Consistency:
    return Consistency.STATEMENT if unsteady else Consistency.SNAPSHOT
