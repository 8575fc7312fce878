"""Resolves the names that a config uses against the columns that the database described.

Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from difflib import get_close_matches

from rivet.errors import PlanError
from rivet.plan.calendar import Granularity
from rivet.plan.schema import Column, Fidelity, Kind

# What makes a moment of seconds since 1970 and of text, and what an identifier stands in, by engine. SQLite
# knows the type of no expression, so there it is what `columns` takes.
_SECONDS_SQL = "TIMESTAMP '1970-01-01 00:00:00' + INTERVAL {0} SECOND"
_MOMENTS = {
    "postgres": ("to_timestamp({0})", "CAST({0} AS timestamp)", '"'),
    "mysql": (_SECONDS_SQL, "CAST({0} AS datetime(6))", "`"),
    "mariadb": (_SECONDS_SQL, "CAST({0} AS datetime(6))", "`"),
    "sqlite": ("{{type: timestamp, unit: s}}", "timestamp", '"'),
}
_MYSQL_TYPES = {Kind.DATE: "date", Kind.TIMESTAMP: "datetime(6)", Kind.INSTANT: "datetime(6)"}
_SQL_TYPES = {
    "postgres": {Kind.DATE: "date", Kind.TIMESTAMP: "timestamp", Kind.INSTANT: "timestamptz"},
    "mysql": _MYSQL_TYPES,
    "mariadb": _MYSQL_TYPES,
}
_NUMBER = re.compile(r"u?int|float|decimal")
_DECIMAL_AS_TEXT = re.compile(r"numeric|decimal")
_TEXT = re.compile(r"(tiny|medium|long)?text|(var)?char|name$|citext|enum")


def near_miss(name: str, known: Sequence[str]) -> str | None:
    """Give the known name that is most like a wrong one, case aside, or None.

    >>> near_miss("create_at", ["id", "created_at"])
    'created_at'
    """
    folded = {k.casefold(): k for k in known}
    matches = get_close_matches(name.casefold(), folded, n=1)
    return folded[matches[0]] if matches else None


def names_meant(wanted: str, known: Sequence[str]) -> list[str]:
    """Give the known name that is written, else all those that differ from it in case alone.

    >>> names_meant("Id", ["id", "note"]), names_meant("id", ["id", "ID"])
    (['id'], ['id'])
    """
    return [n for n in known if n == wanted] or [n for n in known if n.casefold() == wanted.casefold()]


def resolve_column(
    columns: Sequence[Column], name: str, where: str, *, left_out: Sequence[str] = ()
) -> Column:
    """Find a column by its exact name, else by the only one that differs in case.

    Args:
        left_out: Names that the user keeps out of the columns.

    Raises:
        PlanError: If there is none, or several that differ only in case.
    """
    by_name = {c.name: c for c in columns}
    found = names_meant(name, list(by_name))
    if len(found) == 1:
        return by_name[found[0]]
    if found:
        names = ", ".join(map(repr, found))
        raise PlanError(f"{where}: {name!r} may be any of {names}", hint="write the name in its exact case")
    if name.casefold() in (other.casefold() for other in left_out):
        raise PlanError(f"{where}: column {name!r} is left out by exclude", hint="take it out of exclude")
    hint = which_column(name, list(by_name))
    raise PlanError(f"{where}: no column {name!r} in the source", hint=hint)


def which_column(name: str, known: Sequence[str]) -> str:
    """Say which column may have been meant by a wrong name.

    >>> which_column("nt", ["id", "note"]), which_column("x", ["id", "note"])
    ("did you mean 'note'?", 'the columns are: id, note')
    """
    near = near_miss(name, known)
    some = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
    return f"did you mean {near!r}?" if near else f"the columns are: {some}"


def require_temporal(column: Column, engine: str, where: str) -> None:
    """Refuse a partition column that is neither a date nor a timestamp where the rows are put in order.

    Text that `columns` makes a date of is one only once it has been read: a server would order it as text.
    SQLite is told how to read it.

    Raises:
        PlanError: With the expression to write.
    """
    kind = column.type.kind
    if kind.is_temporal and (engine == "sqlite" or column.fidelity is not Fidelity.LOSSY):
        return
    if kind.is_temporal:
        mark = _MOMENTS[engine][2]
        name = mark + column.name.replace(mark, mark * 2) + mark
        cast = f"CAST({name} AS {_SQL_TYPES[engine][kind]}) AS {name}"
        raise PlanError(
            f"{where}: column {column.name!r} is {column.source_type} in the database, and a date only by "
            "`columns`, so that the source would order its rows as text",
            hint=f"cast it in a query, and take it out of `columns`: SELECT …, {cast} FROM …",
        )
    raise PlanError(
        f"{where}: column {column.name!r} is {column.source_type}, expected DATE, DATETIME, TIMESTAMP or "
        "TIMESTAMPTZ",
        hint=_moment_hint(column, engine),
    )


def require_told_by_path(
    column: Column, granularity: Granularity, columns: Sequence[Column], where: str
) -> None:
    """Refuse to leave a partition column out of the files whose values the path alone would not tell.

    Raises:
        PlanError: It is no date by day, or no other column would be left.
    """
    if column.type.kind is not Kind.DATE or granularity is not Granularity.DAY:
        raise PlanError(
            f"{where}: the path tells a {granularity} only, from which column {column.name!r} "
            f"({column.source_type}) cannot be had back",
            hint="write partition_column: keep; only a date by day can be dropped",
        )
    if len(columns) == 1:
        raise PlanError(
            f"{where}: {column.name!r} is the only column, and files without it would be empty",
            hint="write partition_column: keep",
        )


def _moment_hint(column: Column, engine: str) -> str:
    """Say what to write to get a date or a timestamp from a column that is none."""
    seconds, text, mark = _MOMENTS[engine]
    name = mark + column.name.replace(mark, mark * 2) + mark
    declared = column.source_type.lower()
    is_epoch = bool(_NUMBER.match(column.type.kind) or _DECIMAL_AS_TEXT.match(declared))
    if declared.startswith("year"):
        condition, moment = "", f"MAKEDATE({name}, 1)"
    elif is_epoch:
        condition, moment = "if it counts seconds since 1970, ", seconds.format(name)
    elif _TEXT.match(declared) or (engine == "sqlite" and column.type.kind is Kind.STRING):
        condition, moment = "if it holds ISO dates, ", text.format(name)
    else:
        return "partition by a date or a timestamp, or make one in a query"
    if engine == "sqlite":
        written = f"`columns: {{{json.dumps(column.name, ensure_ascii=False)}: {moment}}}`"
        # Text is an instant only with an offset, numbers always.
        return f"{condition}write {written}" + (" (or timestamptz, for days in a zone)" if is_epoch else "")
    return f"{condition}cast it in a query: SELECT …, {moment} AS {name} FROM …"


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
