"""Numbers, and text that holds them, in SQL: exact in another type, or NULL where that cannot be. Pure."""

from __future__ import annotations

from rivet.plan.schema import ColumnType, Kind
from rivet.source.numbers import INTEGERS

# A double holds every decimal of so many digits, and gives it back when it is written with so many.
DOUBLE_DIGITS = 15
MAX_INTEGER = 2**63 - 1
# Least and greatest, of what SQLite keeps as an integer.
RANGES = {**INTEGERS, Kind.UINT64: (0, MAX_INTEGER)}
# Of a text that holds a number.
_MAX_CHARACTERS = 100


def text_of(name: str) -> str:
    """Write any value as text: a double with the fewest digits that give it back, a blob as its bytes."""
    fifteen, sixteen, all_digits = (f"printf('%!.{d}g', {name})" for d in (15, 16, 17))
    shortest = (
        f"CASE {name} WHEN CAST({fifteen} AS REAL) THEN {fifteen} "
        f"WHEN CAST({sixteen} AS REAL) THEN {sixteen} ELSE {all_digits} END"
    )
    return f"CASE typeof({name}) WHEN 'real' THEN {shortest} ELSE CAST({name} AS TEXT) END"


def as_integer(name: str, kind: Kind) -> str:
    """Write a value as an integer of a kind; of texts only those that are written as it is."""
    whole = f"CAST({name} AS INTEGER)"
    least, most = RANGES[kind]
    return (
        f"CASE WHEN {whole} BETWEEN {least} AND {most} THEN CASE typeof({name}) WHEN 'integer' THEN {name} "
        f"WHEN 'real' THEN CASE WHEN {name} = {whole} THEN {whole} END "
        f"WHEN 'text' THEN CASE WHEN CAST({whole} AS TEXT) = {name} COLLATE BINARY THEN {whole} END END END"
    )


def as_double(name: str) -> str:
    """Write a value as a double that gives it back."""
    double = f"CAST({name} AS REAL)"
    digits = f"length(ltrim(replace({_unsigned(name)}, '.', ''), '0'))"
    is_held = (
        f"{_is_plain(name)} AND {digits} <= {DOUBLE_DIGITS} OR {text_of(double)} = {name} COLLATE BINARY"
    )
    return (
        f"CASE typeof({name}) WHEN 'real' THEN {name} "
        f"WHEN 'integer' THEN CASE WHEN {double} = {name} THEN {double} END "
        f"WHEN 'text' THEN CASE WHEN {is_held} THEN {double} END END"
    )


def as_bool(name: str) -> str:
    """Write 0 and 1, of any storage class, as an integer."""
    return (
        f"CASE WHEN typeof({name}) <> 'blob' AND CAST({name} AS TEXT) IN ('0', '1', '0.0', '1.0') "
        f"THEN CAST({name} AS INTEGER) END"
    )


def as_decimal(name: str, decimal: ColumnType) -> str:
    """Write a number, or a text that holds one, as the text of a decimal."""
    unsigned = _unsigned(name)
    point = f"instr({unsigned} || '.', '.')"
    whole, fraction = f"substr({unsigned}, 1, {point} - 1)", f"substr({unsigned}, {point} + 1)"
    fits = (
        f"length(ltrim({whole}, '0')) <= {decimal.precision - decimal.scale} "
        f"AND length(rtrim({fraction}, '0')) <= {decimal.scale}"
    )
    return (
        f"CASE typeof({name}) WHEN 'text' THEN CASE WHEN {_is_plain(name)} AND {fits} THEN {name} END "
        f"ELSE CASE WHEN ({no_decimal(name, decimal)}) IS NOT TRUE THEN {decimal_text(name)} END END"
    )


def decimal_text(name: str) -> str:
    """Write a number as the text of the decimal that it stands for."""
    # The driver would write a double with 17 digits.
    return f"CASE typeof({name}) WHEN 'real' THEN printf('%!.{DOUBLE_DIGITS}g', {name}) ELSE {name} END"


def is_infinite(name: str) -> str:
    """Write the condition that a value is an infinity."""
    return f"typeof({name}) = 'real' AND abs({name}) = 9e999"


def no_decimal(name: str, decimal: ColumnType) -> str:
    """Write the condition that a value is no decimal; else false or NULL.

    A double stands for the decimal that the user meant if it is the nearest one to it.

    Where the digits are few enough, scaling and rounding show that it is, since each step is exact or
    rounded once; else it must come back from its text.
    """
    scale, whole = decimal.scale, decimal.precision - decimal.scale
    limit = 10**whole
    integers = f"{name} NOT BETWEEN {1 - limit} AND {limit - 1}" if limit <= MAX_INTEGER else "0"
    condition = (
        f"CASE typeof({name}) WHEN 'null' THEN 0 WHEN 'integer' THEN {integers} WHEN 'real' THEN NOT "
        f"(abs({name}) < 1e{whole} AND round({name}, {scale}) = {name} "
        f"AND CAST(printf('%!.{DOUBLE_DIGITS}g', {name}) AS REAL) = {name}) ELSE 1 END"
    )
    if scale > DOUBLE_DIGITS:
        return condition
    few = min(whole, DOUBLE_DIGITS - scale)
    quick = f"{name} > -1e{few} AND {name} < 1e{few} AND round({name} * 1e{scale}) / 1e{scale} = {name}"
    return f"({quick}) IS NOT TRUE AND {condition}"


def _unsigned(name: str) -> str:
    return f"substr({name}, 1 + ({name} GLOB '-*'))"


def _is_plain(name: str) -> str:
    """Write the condition that a text is digits with at most one point among them, and a minus or none."""
    unsigned = _unsigned(name)
    return (
        f"length({name}) <= {_MAX_CHARACTERS} AND NOT instr({name}, char(0)) AND {unsigned} GLOB '[0-9]*' "
        f"AND {unsigned} NOT GLOB '*[^0-9.]*' AND {unsigned} NOT GLOB '*.*.*' AND {unsigned} NOT GLOB '*.'"
    )
