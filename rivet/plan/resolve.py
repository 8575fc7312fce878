"""Resolves the names that a config uses against the columns that the database described.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from rivet.errors import PlanError
from rivet.plan.schema import Column

# What to write in the query where a column is not a date or a timestamp, by engine.
_CASTS = {
    "postgres": 'CAST("{0}" AS timestamp) AS "{0}"',
    "mysql": "CAST(`{0}` AS datetime(6)) AS `{0}`",
    "mariadb": "CAST(`{0}` AS datetime(6)) AS `{0}`",
}


def near_miss(name: str, known: Sequence[str]) -> str | None:
    """Give the known name that is most like a wrong one, case aside, or None.

    >>> near_miss("create_at", ["id", "created_at"])
    'created_at'
    """
    folded = {k.casefold(): k for k in known}
    matches = get_close_matches(name.casefold(), folded, n=1)
    return folded[matches[0]] if matches else None


def resolve_column(columns: Sequence[Column], name: str, where: str) -> Column:
    """Find a column by its exact name, else by the only one that differs in case.

    Raises:
        PlanError: If there is none, or several that differ only in case.
    """
    exact = [c for c in columns if c.name == name]
    found = exact or [c for c in columns if c.name.casefold() == name.casefold()]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(repr(c.name) for c in found)
        raise PlanError(f"{where}: {name!r} may be any of {names}", hint="write the name in its exact case")
    near = near_miss(name, [c.name for c in columns])
    known = ", ".join(c.name for c in columns[:20]) + (", …" if len(columns) > 20 else "")
    hint = f"did you mean {near!r}?" if near else f"the columns are: {known}"
    raise PlanError(f"{where}: no column {name!r} in the source", hint=hint)


def require_temporal(column: Column, engine: str, where: str) -> None:
    """Refuse a partition column that is neither a date nor a timestamp.

    Raises:
        PlanError: With the cast to write.
    """
    if column.type.kind.is_temporal:
        return
    cast = _CASTS.get(engine)
    hint = (
        f"cast it in the query: SELECT …, {cast.format(column.name)} FROM …"
        if cast
        else "declare the column as DATE or DATETIME, with ISO text in it"
    )
    raise PlanError(
        f"{where}: column {column.name!r} is {column.source_type}, expected DATE, DATETIME, TIMESTAMP or "
        "TIMESTAMPTZ",
        hint=hint,
    )


def resolve_key(columns: Sequence[Column], column: Column, key: str | None, where: str) -> str:
    """Give the name in the path: the config's key, or the column's own name.

    Raises:
        PlanError: If readers would hide it, or take it for another column.
    """
    name = key or column.name
    if name[0] in "_.":
        raise PlanError(
            f"{where}.partition_by: readers skip directories that begin with {name[0]!r}, as {name!r} does",
            hint="set partition_key to another name",
        )
    clash = next((c for c in columns if c.name.casefold() == name.casefold() and c != column), None)
    if clash is not None:
        raise PlanError(
            f"{where}.partition_key: {name!r} is also the column {clash.name!r}, which readers would mix up",
            hint="set partition_key to a name that no column has",
        )
    return name
