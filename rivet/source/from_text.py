"""Turns columns of exact text, as a server renders it, into their types, without a Python object per value.

Pure. Each conversion takes what the type can hold, as it is, and refuses the rest: no digit, fraction or
offset is lost, and no number is rounded.
"""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rivet.plan.calendar import END_DAY, FIRST_DAY
from rivet.plan.schema import ColumnType, Kind
from rivet.plan.windows import units_per_day
from rivet.source.arrow import arrow_type
from rivet.source.json_text import first_not_json, lists_of_text
from rivet.source.misfit import shortened
from rivet.source.numbers import FLOATS, INTEGERS

# Text in which spaces at either end say something.
_SPACED = frozenset({Kind.STRING, Kind.BINARY, Kind.JSON})
_DAY_MICROSECONDS = units_per_day(Kind.TIMESTAMP)

_INFINITY = r"^[+-]?[iI][nN][fF]"
_NAN = r"^[nN][aA][nN]$"
_WHOLE = r"^[+-]?[0-9]+(?:\.0*)?$"
_NUMBER = r"^(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?:[eE](?P<exponent>[+-]?[0-9]+))?$"
_CLOCK = (
    r"^(?P<sign>-?)(?P<hours>[0-9]{1,9}):(?P<minutes>[0-5][0-9])"
    r"(?::(?P<seconds>[0-5][0-9])(?:\.(?P<fraction>[0-9]{1,6})0*)?)?$"
)
_UUID = r"^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
_NO_UUID = "00000000-0000-0000-0000-000000000000"


def from_text(texts: pa.Array, column_type: ColumnType, *, is_free: bool = False) -> pa.Array:
    """Turn texts into `arrow_type(column_type)`; NULL stays NULL.

    Binary values are hexadecimal digits, which PostgreSQL's sign of a backslash and an x may precede. A list
    is a JSON array of such texts and nulls.

    Args:
        is_free: The text is not a server's own rendering of this type but any text, or that of a wider type:
            it may stand between spaces, and have zeros at its end that say nothing.

    Raises:
        ValueError, pa.ArrowCapacityError: A value does not fit; the message shows it, or its start.
    """
    kind = column_type.kind
    if is_free:
        texts = _tidied(texts, column_type)
    values = _CONVERSIONS[kind](texts, column_type)
    if is_free and kind in FLOATS:
        _check_exact(values, texts, column_type)
    return values


def _check_infinities(values: pa.Array, texts: pa.Array) -> None:
    """Refuse an infinity that the text does not say: the parser makes one of what is too large.

    Raises:
        ValueError: There is one.
    """
    said = pc.match_substring_regex(texts, _INFINITY)
    _refuse(texts, pc.and_not(pc.is_inf(values), said), "is too large")


def _bytes_of_hex(digits: pa.Array) -> pa.Array:
    """Turn texts, or bytes, of hexadecimal digits into the bytes that they stand for.

    Raises:
        ValueError: A value is something else.
    """
    validity, offsets, text = digits.buffers()
    ends = pa.Array.from_buffers(pa.int32(), len(digits) + 1, [None, offsets])
    if pc.max(pc.bit_wise_and(ends, pa.scalar(1, pa.int32()))).as_py():
        raise ValueError("a value has an odd number of hexadecimal digits")
    try:
        data = unhexlify(b"" if text is None else text[: ends[-1].as_py()])
    except ValueError as exc:
        raise ValueError("a value is not in hexadecimal digits") from exc
    buffers = [validity, pc.divide(ends, pa.scalar(2, pa.int32())).buffers()[1], pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(digits), buffers)


def _refuse(texts: pa.Array, wrong: pa.Array, what: str) -> None:
    place = pc.index(wrong, value=True).as_py()
    if place >= 0:
        raise ValueError(f"value {shortened(texts[place].as_py())!r} {what}")


def _tidied(texts: pa.Array, column_type: ColumnType) -> pa.Array:
    """Write free text as the parsers take it, and refuse what they take for something else."""
    kind = column_type.kind
    if kind is Kind.JSON:
        place = first_not_json(texts)
        if place is not None:
            raise ValueError(f"value {shortened(texts[place].as_py())!r} is not JSON")
    if kind in _SPACED:
        return texts
    texts = pc.ascii_trim_whitespace(texts)
    if kind in INTEGERS:  # a parser would take hexadecimal numbers
        _refuse(texts, pc.invert(pc.match_substring_regex(texts, _WHOLE)), "is not a whole number")
        return pc.replace_substring_regex(texts, r"^\+|\.0*$", "")
    if kind is Kind.DECIMAL:
        return _decimal_numbers(texts, column_type)
    if kind in (Kind.TIMESTAMP, Kind.INSTANT):
        return pc.replace_substring_regex(texts, r"(\.[0-9]{6})0+", r"\1")
    return texts


def _as_it_is(texts: pa.Array, _type: ColumnType) -> pa.Array:
    return texts


def _bools(texts: pa.Array, _type: ColumnType) -> pa.Array:
    _refuse(texts, pc.invert(pc.match_substring_regex(texts, "^[tf01]$")), "is not a truth value")
    return pc.match_substring_regex(texts, "^[t1]$")


def _floats(texts: pa.Array, column_type: ColumnType) -> pa.Array:
    values = pc.cast(texts, arrow_type(column_type))
    _check_infinities(values, texts)
    return values


def _check_exact(values: pa.Array, texts: pa.Array, column_type: ColumnType) -> None:
    """Refuse a number whose text the float does not hold: the shortest text of it says another number.

    A float32 may also be told by the shortest text of the double that equals it. What is no number has one
    name alone, where the parser would also take a sign before it, and anything in brackets behind it.
    """
    is_named = pc.match_substring_regex(texts, _NAN)
    _refuse(texts, pc.and_not(pc.is_nan(values), is_named), "is neither a number nor NaN")
    given = _number(texts)
    is_same = _say_the_same(given, _number(pc.cast(values, pa.string())))
    if column_type.kind is Kind.FLOAT32:
        doubles = pc.cast(values, pa.float64())
        is_same = pc.or_(is_same, _say_the_same(given, _number(pc.cast(doubles, pa.string()))))
    _refuse(texts, pc.and_not(pc.is_finite(values), is_same), f"is not exact as a {column_type}")


def _say_the_same(given: Sequence[pa.Array], back: Sequence[pa.Array]) -> pa.Array:
    sign, digits, exponent = (pc.equal(g, b) for g, b in zip(given, back, strict=True))
    return pc.fill_null(pc.and_(pc.and_(sign, digits), exponent), fill_value=False)


def _decimal_numbers(texts: pa.Array, column_type: ColumnType) -> pa.Array:
    """Write numbers with their significant digits alone; the parser takes 1e60 for another number."""
    is_negative, digits, exponents = _number(texts)
    _refuse(texts, pc.and_not(pc.is_valid(texts), pc.is_valid(digits)), "is not a number")
    whole_digits = pc.add(pc.binary_length(digits), exponents)
    beyond = pc.or_(
        pc.less(exponents, -column_type.scale),
        pc.greater(whole_digits, column_type.precision - column_type.scale),
    )
    _refuse(texts, beyond, f"has more digits than a {column_type}")
    sign = pc.if_else(is_negative, "-0", "0")
    return pc.binary_join_element_wise(sign, digits, "e", pc.cast(exponents, pa.string()), "")


def _number(texts: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Give sign, significant digits and the exponent of the last of them, or NULL where it is no number.

    A zero has no digits, and exponent 0.
    """
    sign, whole, fraction, exponent = pc.extract_regex(texts, _NUMBER).flatten()
    written = pc.binary_join_element_wise(whole, fraction, "")
    written = pc.if_else(pc.equal(written, ""), pa.scalar(None, pa.string()), written)
    digits = pc.ascii_rtrim(written, "0")
    zeros = pc.subtract(pc.binary_length(written), pc.binary_length(digits))
    shift = pc.subtract(zeros, pc.binary_length(fraction))
    exponents = pc.add(_int64(pc.replace_substring(exponent, "+", "")), shift)
    return pc.equal(sign, "-"), pc.ascii_ltrim(digits, "0"), pc.if_else(pc.equal(digits, ""), 0, exponents)


def _int64(digits: pa.Array) -> pa.Array:
    return pc.cast(pc.if_else(pc.equal(digits, ""), "0", digits), pa.int64())


def _cast(texts: pa.Array, column_type: ColumnType) -> pa.Array:
    return pc.cast(texts, arrow_type(column_type))


def _moments(texts: pa.Array, column_type: ColumnType) -> pa.Array:
    """Read dates and times of day on them, of the years 1 to 9999 alone.

    The parser would take year 0, and an offset leads beyond either end.
    """
    kind = column_type.kind
    values = pc.cast(texts, arrow_type(column_type))
    first, end = (day * units_per_day(kind) for day in (FIRST_DAY, END_DAY))
    numbers = values.view(pa.int32() if kind is Kind.DATE else pa.int64())
    beyond = pc.or_(pc.less(numbers, first), pc.greater_equal(numbers, end))
    _refuse(texts, beyond, "is not of the years 1 to 9999")
    return values


def _clocks(texts: pa.Array, column_type: ColumnType) -> pa.Array:
    """Read `[-]H…:MM[:SS[.ffffff]]`; a time of day ends before 24:00:00."""
    parts = pc.extract_regex(texts, _CLOCK)
    _refuse(texts, pc.and_not(pc.is_valid(texts), pc.is_valid(parts)), "is not a time")
    sign, *clock, fraction = parts.flatten()
    total = pc.cast(pc.ascii_rpad(fraction, 6, "0"), pa.int64())
    for part, microseconds in zip(clock, (3_600_000_000, 60_000_000, 1_000_000), strict=True):
        total = pc.add(total, pc.multiply(_int64(part), microseconds))
    total = pc.if_else(pc.equal(sign, "-"), pc.negate(total), total)
    if column_type.kind is Kind.TIME:
        beyond = pc.or_(pc.less(total, 0), pc.greater_equal(total, _DAY_MICROSECONDS))
        _refuse(texts, beyond, "is not a time of day")
    return total.cast(arrow_type(column_type))


def _bytes(texts: pa.Array, _type: ColumnType) -> pa.Array:
    return _bytes_of_hex(pc.replace_substring_regex(texts, r"^\\x", ""))


def _uuids(texts: pa.Array, _type: ColumnType) -> pa.Array:
    _refuse(texts, pc.invert(pc.match_substring_regex(texts, _UUID)), "is not a UUID of 36 characters")
    digits = pc.replace_substring(pc.fill_null(texts, _NO_UUID), "-", "")
    data = pa.py_buffer(unhexlify(digits.buffers()[2][: 32 * len(digits)]))
    bytes_ = pa.Array.from_buffers(pa.binary(16), len(texts), [pc.is_valid(texts).buffers()[1], data])
    return pa.ExtensionArray.from_storage(pa.uuid(), bytes_)


def _json(texts: pa.Array, column_type: ColumnType) -> pa.Array:
    return pa.ExtensionArray.from_storage(arrow_type(column_type), texts)


def _lists(texts: pa.Array, column_type: ColumnType) -> pa.Array:
    try:
        lists = lists_of_text(texts)
    except pa.ArrowInvalid as exc:  # it tells of JSON, which the user never sees
        raise ValueError("a value is not a list of one dimension") from exc
    elements = from_text(lists.values, column_type.element or ColumnType(Kind.STRING))
    return pa.Array.from_buffers(
        arrow_type(column_type), len(lists), lists.buffers()[:2], children=[elements]
    )


_CONVERSIONS: dict[Kind, Callable[[pa.Array, ColumnType], pa.Array]] = {
    Kind.BOOL: _bools,
    **dict.fromkeys(INTEGERS, _cast),
    **dict.fromkeys(FLOATS, _floats),
    Kind.DECIMAL: _cast,
    Kind.STRING: _as_it_is,
    Kind.BINARY: _bytes,
    Kind.DATE: _moments,
    Kind.TIMESTAMP: _moments,
    Kind.INSTANT: _moments,
    Kind.TIME: _clocks,
    Kind.DURATION: _clocks,
    Kind.UUID: _uuids,
    Kind.JSON: _json,
    Kind.LIST: _lists,
}
