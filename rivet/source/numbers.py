"""Which kinds of number hold all numbers of another. Pure."""

from __future__ import annotations

from rivet.plan.schema import ColumnType, Kind

INTEGERS: dict[Kind, tuple[int, int]] = {
    Kind(f"{sign}int{bits}"): (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
"""Least and greatest value of each kind of whole numbers."""

_FLOAT_BITS = {Kind.FLOAT32: 24, Kind.FLOAT64: 53}
FLOATS = tuple(_FLOAT_BITS)
NUMBERS = (*INTEGERS, *FLOATS, Kind.DECIMAL)


def holds_whole(least: int, greatest: int, target: ColumnType) -> bool:
    """Tell whether a type of numbers holds every whole number from least to greatest, both closed.

    >>> holds_whole(0, 2**32, ColumnType(Kind.FLOAT32)), holds_whole(0, 2**32, ColumnType(Kind.FLOAT64))
    (False, True)
    """
    if target.kind in INTEGERS:
        return INTEGERS[target.kind][0] <= least and greatest <= INTEGERS[target.kind][1]
    if target.kind in _FLOAT_BITS:
        return greatest <= 1 << _FLOAT_BITS[target.kind]
    return target.precision - target.scale >= len(str(greatest))


def holds_decimals(precision: int, scale: int, target: ColumnType) -> bool:
    """Tell whether a type of numbers holds every decimal of so many digits, scale of them behind the point.

    A scale below zero stands for zeros before the point.

    >>> holds_decimals(4, 2, ColumnType(Kind.DECIMAL, 5, 2)), holds_decimals(9, 0, ColumnType(Kind.INT32))
    (True, True)
    """
    if scale <= 0:
        greatest = 10 ** (precision - scale) - 1
        return holds_whole(-greatest, greatest, target)
    whole_digits = target.precision - target.scale
    return target.kind is Kind.DECIMAL and scale <= target.scale and precision - scale <= whole_digits
