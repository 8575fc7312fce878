"""What every engine asks of described columns: repeated names, columns to leave out, overrides. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from rivet.errors import ColumnError, SourceError
from rivet.plan.overrides import word_of
from rivet.plan.resolve import names_meant, which_column
from rivet.plan.schema import Kind, Override

Described = TypeVar("Described")
Made = TypeVar("Made")


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
    left_out = {_resolve(names, name, "exclude") for name in exclude}
    kept = [(name, description) for name, description in described if name not in left_out]
    if not kept:
        raise SourceError("no column is left to export" if names else "the source has no columns")
    return kept


def resolved_overrides(names: Sequence[str], overrides: Mapping[str, Override]) -> dict[str, Override]:
    """Give the overrides by the exact names of the columns that they are for.

    A name is matched exactly, else with the only column that differs in case.

    Raises:
        SourceError: There is no such column, or two overrides are for the same one.
    """
    resolved: dict[str, Override] = {}
    for written, override in overrides.items():
        name = _resolve(names, written, "columns")
        if name in resolved:
            raise SourceError(f"columns: two types are asked for column {name!r}", hint="keep one of them")
        resolved[name] = override
    return resolved


def made_by_name(names: Iterable[str], make: Callable[[str], Made]) -> dict[str, Made]:
    """Make something of each column, and tell together what stands against any of them.

    Raises:
        ColumnError: Something does.
    """
    made: dict[str, Made] = {}
    refused: list[ColumnError] = []
    for name in names:
        try:
            made[name] = make(name)
        except ColumnError as error:
            refused.append(error)
    if refused:
        raise told_together(refused)
    return made


def told_together(refused: Sequence[ColumnError]) -> ColumnError:
    """Make one error of several, with each mend once."""
    hints = dict.fromkeys(error.hint for error in refused if error.hint is not None)
    return ColumnError("; ".join(map(str, refused)), hint="; ".join(hints) or None)


def refused_override(
    name: str, source_type: str, override: Override, possible: Iterable[Kind]
) -> ColumnError:
    """Make the error for a type that a column cannot have; possible are the kinds that it can."""
    return ColumnError(
        f"columns: column {name!r} ({source_type}) cannot become {override.type}",
        hint=f"{name!r} can become {', '.join(map(word_of, possible))}; for another type, cast it in a query",
    )


def _resolve(names: Sequence[str], wanted: str, where: str) -> str:
    found = names_meant(wanted, names)
    if len(found) == 1:
        return found[0]
    if found:
        raise SourceError(
            f"{where}: {wanted!r} may be any of {', '.join(repr(n) for n in found)}",
            hint="write the name in its exact case",
        )
    raise SourceError(f"{where}: no column {wanted!r} in the source", hint=which_column(wanted, names))
