"""Which columns hold numbers, and which types of numbers hold all of them. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from rivet.plan.schema import ColumnType, Kind
from rivet.source.numbers import INTEGERS, holds_decimals, holds_whole
from rivet.source.postgres.types import SourceType

_BY_NAME = {
    **dict.fromkeys(("oid", "xid", "cid"), Kind.UINT32),
    "int2": Kind.INT16,
    "int4": Kind.INT32,
    "int8": Kind.INT64,
    "xid8": Kind.UINT64,
    "float4": Kind.FLOAT32,
    "float8": Kind.FLOAT64,
    "numeric": Kind.DECIMAL,
    "money": Kind.DECIMAL,
}
_MONEY_DIGITS = (19, 2)


@dataclass(frozen=True, slots=True)
class Number:
    """A column of numbers, or of text that may hold them.

    Attributes:
        kind: The kind that holds them; DECIMAL for every numeric, STRING for text.
        digits: Precision and scale of a numeric, or None where it has none.
    """

    kind: Kind
    digits: tuple[int, int] | None = None


def number_of(source: SourceType) -> Number | None:
    """Give what a column holds as numbers, or None where it holds none."""
    if source.is_text:
        return Number(Kind.STRING)
    kind = _BY_NAME.get(source.name) if source.built_in and not source.is_array else None
    if kind is not Kind.DECIMAL:
        return None if kind is None else Number(kind)
    return Number(kind, _MONEY_DIGITS if source.name == "money" else source.digits)


def holds(number: Number, target: ColumnType) -> bool:
    """Tell whether the target holds every value, those apart that are no finite number."""
    if number.kind in INTEGERS:
        return holds_whole(*INTEGERS[number.kind], target)
    if number.digits is not None:
        return holds_decimals(*number.digits, target)
    return (number.kind, target.kind) == (Kind.FLOAT32, Kind.FLOAT64)
