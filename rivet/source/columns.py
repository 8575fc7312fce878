"""What every engine checks of described columns: names that repeat, and columns to leave out. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from rivet.errors import SourceError
from rivet.plan.resolve import which_column

Described = TypeVar("Described")


def kept_columns(
    described: Sequence[tuple[str, Described]], exclude: Sequence[str]
) -> list[tuple[str, Described]]:
    """Give the columns, as name and description, without those that the user leaves out.

    A name to leave out is matched exactly, else with the only column that differs in case.

    Raises:
        SourceError: Names repeat, no column is left, or there is no such column to leave out.
    """
    names = [name for name, _ in described]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise SourceError(
            f"several columns are named {', '.join(repr(n) for n in repeated)}",
            hint=f"give each its own alias in the query, such as … AS {repeated[0].strip('?') or 'other'}_2",
        )
    left_out = {_resolve(names, name) for name in exclude}
    kept = [(name, description) for name, description in described if name not in left_out]
    if not kept:
        raise SourceError("no column is left to export" if names else "the source has no columns")
    return kept


def _resolve(names: Sequence[str], wanted: str) -> str:
    found = [n for n in names if n == wanted] or [n for n in names if n.casefold() == wanted.casefold()]
    if len(found) == 1:
        return found[0]
    if found:
        raise SourceError(
            f"exclude: {wanted!r} may be any of {', '.join(repr(n) for n in found)}",
            hint="write the name in its exact case",
        )
    raise SourceError(f"exclude: no column {wanted!r} in the source", hint=which_column(wanted, names))
