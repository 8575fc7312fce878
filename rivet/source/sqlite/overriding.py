"""Which types a config may ask for a column, and how faithful they are. Pure."""

from __future__ import annotations

from rivet.plan.schema import Column, ColumnType, Fidelity, Kind, Override
from rivet.source.columns import refused_override
from rivet.source.numbers import INTEGERS, NUMBERS, holds_decimals, holds_whole

# What SQLite keeps has no elements, and its intervals have no form.
_REFUSED = (Kind.LIST, Kind.DURATION)
_POSSIBLE = tuple(kind for kind in Kind if kind not in _REFUSED)
# Words of declared types whose values are, by their name, of a kind that is else made of text.
_NAMED = {
    Kind.UUID: ("UUID", "GUID", "UNIQUEIDENTIFIER"),
    Kind.JSON: ("JSON", "JSONB"),
    Kind.TIME: ("TIME",),
}
# What stands in manifests where no type is declared, and values do not tell one; STRICT tables have it.
_UNDECLARED = "ANY"


def overridden(name: str, declared: str, own: ColumnType | None, override: Override) -> Column:
    """Give a column the type that the config asks for.

    Args:
        own: What the declared type becomes by itself, or None where the values would decide.

    Raises:
        ColumnError: No value of SQLite can be of that type.
    """
    if override.type.kind in _REFUSED:
        raise refused_override(name, declared or _UNDECLARED, override, _POSSIBLE)
    return Column(name, override.type, declared or _UNDECLARED, _fidelity(own, declared, override))


def _fidelity(own: ColumnType | None, declared: str, override: Override) -> Fidelity:
    kind = override.type.kind
    if own == override.type or declared.upper().strip() in _NAMED.get(kind, ()):
        return Fidelity.EXACT
    if kind is Kind.STRING:
        return Fidelity.TEXT
    return Fidelity.EXACT if own is not None and _holds(own, override) else Fidelity.LOSSY


def _holds(own: ColumnType, override: Override) -> bool:
    """Tell whether a type can hold every value of another, as SQLite keeps it."""
    kind = override.type.kind
    if kind is Kind.BINARY:
        return own.kind is Kind.STRING
    if kind.is_temporal:
        of_numbers = override.unit is not None and own.kind.is_temporal and kind is not Kind.DATE
        return of_numbers or (own.kind is Kind.DATE and kind is Kind.TIMESTAMP)
    if kind not in NUMBERS:
        return False
    if own.kind is Kind.DECIMAL:
        return holds_decimals(own.precision, own.scale, override.type)
    bounds = (0, 1) if own.kind is Kind.BOOL else INTEGERS.get(own.kind)
    return bounds is not None and holds_whole(*bounds, override.type)
