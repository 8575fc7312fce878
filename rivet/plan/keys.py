"""Decides whether an index of a table serves a key, by which its rows are read page by page.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rivet.errors import PlanError
from rivet.plan.schema import Column, Kind


@dataclass(frozen=True, slots=True)
class TableIndex:
    """An index over all rows of a table, whose columns all ascend or all descend, each in its own order.

    Attributes:
        columns: In its order, with those that it holds without being told to: of InnoDB the primary key's.
        unique: How many of the first columns no two rows share, unless one is NULL; 0: it is not unique.
    """

    name: str
    columns: tuple[str, ...]
    unique: int = 0


def require_index(
    key: Sequence[str], equal: str | None, indexes: Sequence[TableIndex], table: str, where: str
) -> None:
    """Refuse a key that no index serves, or that several rows may share.

    Args:
        equal: A column that has one value in each partition, so that an index may begin with it; or None.

    Raises:
        PlanError: With the index to create, or the columns to add.
    """
    unique = [i.columns[: i.unique] for i in indexes if i.unique]
    is_unique = any(set(columns) <= {*key, equal} for columns in unique)
    missing = [] if is_unique else [c for c in min(unique, key=len, default=()) if c not in key]
    if not leading(key, equal, indexes):
        known = "; ".join(f"{i.name} ({', '.join(i.columns)})" for i in indexes)
        seen = f", but: {known}" if known else "; it has none that could serve"
        a_new = "one" if is_unique or missing else "a unique one"
        named = " and name these columns" if missing else ""
        raise PlanError(
            f"{where}: no index of table {table!r} leads with {', '.join(key)} in this order{seen}",
            hint=f"create {a_new} on ({', '.join([*key, *missing])}){named}"
            + (", or name the columns with which an index begins" if known else ""),
        )
    if not is_unique:
        raise PlanError(
            f"{where}: several rows of table {table!r} may have the same {', '.join(key)}, and a page that "
            "ended between them would lose some",
            hint=f"write [{', '.join([*key, *missing])}], if an index has these columns"
            if missing
            else "create a unique index, and name its columns",
        )


def leading(key: Sequence[str], equal: str | None, indexes: Sequence[TableIndex]) -> list[TableIndex]:
    """List the indexes that give the rows in the order of a key; those that begin with `equal` come first.

    >>> index = TableIndex("i", ("day", "id", "note"))
    >>> len(leading(["id"], "day", [index])), len(leading(["id"], None, [index]))
    (1, 0)
    """
    ordered: list[TableIndex] = []
    for first in ([] if equal is None else [(equal, *key)]) + [tuple(key)]:
        ordered += [i for i in indexes if i.columns[: len(first)] == first]
    return ordered


def require_key_column(
    column: Column, engine: str, *, is_overridden: bool, unrepresentable_rows: int, where: str
) -> None:
    """Refuse a column whose values cannot be told to the source as it compares them.

    Args:
        is_overridden: `columns` gives it another type. SQLite compares what is stored, and is told that.

    Raises:
        PlanError: With the mend.
    """
    shown = f"{where}: column {column.name!r} is {column.source_type}"
    is_numbered = engine in ("mysql", "mariadb") and column.source_type.lower().startswith(("enum", "set"))
    if column.type.kind is Kind.LIST or is_numbered:
        order = "the order in which its words are declared" if is_numbered else "an order of its own"
        raise PlanError(f"{shown}, whose values have {order}", hint="cut by another column")
    if is_overridden and engine != "sqlite":
        raise PlanError(
            f"{shown}, and `columns` makes another type of it",
            hint="take it out of `columns`, or cut by another column",
        )
    if unrepresentable_rows:
        raise PlanError(
            f"{shown} and holds {unrepresentable_rows:,} values that fit no calendar or number",
            hint="cut by another column",
        )
