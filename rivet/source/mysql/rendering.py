"""How each column is rendered: the SQL that gives its value, and which of its values fit its type. Pure.

In templates `{v}` stands for the column. Numbers, dates and timestamps that stay what they are come as such.
All else comes as bytes or as the value's exact text, whatever it shall become: what a narrower type cannot
hold is told by the decoder, which refuses it.
"""

from __future__ import annotations

from dataclasses import dataclass

from rivet.plan.schema import Column, ColumnType, Fidelity, Kind, Override
from rivet.source.columns import refused_override
from rivet.source.mysql.types import Family, SourceType
from rivet.source.numbers import FLOATS, INTEGERS, NUMBERS, holds_decimals, holds_whole

_BYTES = "CONVERT({v} USING binary)"
_RECODED = "CONVERT(CONVERT({v} USING utf8mb4) USING binary)"
# Text that lies in the table as UTF-8. That of the connection's own character set comes as it is; of another,
# the server would put a question mark for bytes that are no text.
_UTF8 = {"utf8mb4": "{v}", "utf8mb3": _BYTES, "utf8": _BYTES, "ascii": _BYTES}
# The bytes of a text in UTF-8, or of what its type says.
_OWN_BYTES = {
    Family.BYTES: "{v}",
    Family.VECTOR: _BYTES,
    Family.GEOMETRY: "CONVERT(ST_AsBinary({v}) USING binary)",  # what is stored has four bytes more
}
# What is not its text as it stands. A float is printed with six digits, and one declared with decimals is
# rounded to them (and not + 0e0, which takes the sign off a zero); a bit string is printed as its bytes.
_PRINTED = {Family.FLOAT: "{v} * 1e0", Family.BITS: "{v} + 0"}
_NOT_EXACT = "' is not exact'"  # behind a number, what the decoder takes for none and shows
_DOUBLE = "({v} * 1e0)"
# A whole number in digits: from 1e15 on, a double is printed with an exponent and as its shortest text, which
# is another whole number. A cast to a bigint is exact; MySQL's, from a double, ends at 2^63 even if unsigned.
_WHOLE_FLOAT = (
    f"IF({_DOUBLE} = TRUNCATE({_DOUBLE}, 0), CASE "
    f"WHEN {_DOUBLE} < -9223372036854775808e0 OR {_DOUBLE} >= 18446744073709551616e0 THEN CONCAT({_DOUBLE}) "
    f"WHEN {_DOUBLE} < 9223372036854775808e0 THEN CONCAT(CAST({_DOUBLE} AS SIGNED)) "
    f"ELSE CONCAT(CAST({_DOUBLE} - 9223372036854775808e0 AS SIGNED) + 9223372036854775808) END, "
    f"CONCAT({_DOUBLE}))"
)
# True for a double that a float equals, in arithmetic, as older servers know no cast to it: its first 24 bits
# (by Dekker's split) are all of it, and it is a whole multiple of the least float, 2^-149.
_IS_FLOAT32 = (
    f"ABS({_DOUBLE}) <= 3.4028234663852886e38 "
    f"AND {_DOUBLE} * 536870913e0 - ({_DOUBLE} * 536870913e0 - {_DOUBLE}) = {_DOUBLE} "
    f"AND FLOOR({_DOUBLE} * 7.1362384635297994e44) = {_DOUBLE} * 7.1362384635297994e44"
)
# True for a whole number that a double equals. Above zero it is not cast back, as that ends at the greatest
# bigint, which would seem to be exact.
_IS_FLOAT64 = "IF({v} < 0, CAST({v} * 1e0 AS SIGNED) = {v}, CHAR_LENGTH(TRIM(BOTH '0' FROM BIN({v}))) <= 53)"
_HEX_GROUPS = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
_UUID_PARTS = ", ".join(f"SUBSTR(HEX({{v}}), {start}, {length})" for start, length in _HEX_GROUPS)
# CONCAT_WS leaves NULL out, as CONCAT does beside others where sql_mode says ORACLE.
_UUID_OF_BYTES = f"IF({{v}} IS NULL, NULL, CONCAT_WS('-', {_UUID_PARTS}))"

_BYTES_AS = {
    (Family.BYTES, Kind.UUID): _UUID_OF_BYTES,
    (Family.GEOMETRY, Kind.STRING): _RECODED.replace("{v}", "ST_AsText({v})"),
}

# Real days of the years 1 to 9999, and not zero dates, part-zero dates, year 0 and 31 February: FROM_DAYS
# gives NULL for a part that is zero, knows no year 0, and gives another day for one that no month has.
_FITS = {
    Family.DAY: "FROM_DAYS(TO_DAYS({v})) = DATE({v})",
    Family.INSTANT: "{v} >= TIMESTAMP '1970-01-01 00:00:01'",  # the least but zero
}

_NUMERIC = (Family.NUMBER, Family.FLOAT, Family.BITS)
_FROM_TEXT = (*NUMBERS, Kind.DATE, Kind.TIMESTAMP, Kind.INSTANT, Kind.UUID, Kind.JSON)
# What a family can become besides its own kind, and numbers another kind of number.
_OTHER_KINDS: dict[Family, dict[Kind, Fidelity]] = {
    Family.NUMBER: {Kind.STRING: Fidelity.TEXT, Kind.BOOL: Fidelity.LOSSY},
    Family.FLOAT: {Kind.STRING: Fidelity.TEXT},
    Family.BITS: {Kind.STRING: Fidelity.TEXT, Kind.BOOL: Fidelity.LOSSY},
    Family.DAY: {Kind.STRING: Fidelity.TEXT},
    Family.INSTANT: {Kind.STRING: Fidelity.TEXT},
    Family.TIME: {Kind.DURATION: Fidelity.EXACT, Kind.TIME: Fidelity.LOSSY},
    Family.TEXT: {Kind.BINARY: Fidelity.EXACT, **dict.fromkeys(_FROM_TEXT, Fidelity.LOSSY)},
    Family.JSON: {Kind.JSON: Fidelity.EXACT, Kind.BINARY: Fidelity.EXACT},
    Family.BYTES: {Kind.STRING: Fidelity.LOSSY},  # which holds no bytes that are not UTF-8
    Family.GEOMETRY: {Kind.STRING: Fidelity.TEXT},
    Family.VECTOR: {},
}
_UUIDS = frozenset({"uuid", "binary(16)"})


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a column becomes, and the SQL for it.

    Attributes:
        value: Gives the value.
        is_recoded: It is text of a character set which may have signs that Unicode has not.
        fits: True for a value that has a place in the calendar, false or NULL for others; empty where all do.
    """

    type: ColumnType
    fidelity: Fidelity
    value: str = "{v}"
    is_recoded: bool = False
    fits: str = ""

    def column(self, name: str, source: SourceType) -> Column:
        """Describe the column."""
        return Column(name, self.type, source.shown, self.fidelity)


def rendering(name: str, source: SourceType, override: Override | None) -> Rendering:
    """Say how a column is rendered, by its own type or by what the config asks for.

    Raises:
        ColumnError: The column cannot become that, with the types that it can become.
    """
    target, fidelity = source.becomes, source.fidelity
    if override is not None and (override.type != target or override.unit is not None):
        asked = None if override.unit is not None else _fidelity(source, override.type)
        if asked is None:
            raise refused_override(name, source.shown, override, _possible(source))
        target, fidelity = override.type, asked
    family, kind = source.family, target.kind
    if family in (Family.TEXT, Family.JSON) and kind is not Kind.BINARY:
        value = _UTF8.get(source.charset)
        return Rendering(target, fidelity, value or _RECODED, is_recoded=value is None)
    if family in _OWN_BYTES or kind is Kind.BINARY:
        value = _BYTES_AS.get((family, kind)) or _OWN_BYTES.get(family, _BYTES)
        return Rendering(target, fidelity, value)
    if family is Family.FLOAT and (kind in INTEGERS or kind is Kind.DECIMAL):
        return Rendering(target, fidelity, _WHOLE_FLOAT)
    if kind in FLOATS and fidelity is Fidelity.LOSSY and source.becomes.kind in (*INTEGERS, Kind.FLOAT64):
        return Rendering(target, fidelity, _exact_float(source, kind))
    if _comes_as_it_is(source, target, fidelity):
        value = _PRINTED[family] if family is Family.BITS else "{v}"
        return Rendering(target, fidelity, value, fits=_FITS.get(family, ""))
    return Rendering(target, fidelity, f"CONCAT({_PRINTED.get(family, '{v}')})")


def _comes_as_it_is(source: SourceType, target: ColumnType, fidelity: Fidelity) -> bool:
    """Tell whether a number, date or timestamp comes in the form of its own type, and not as text."""
    own, kind = source.becomes.kind, target.kind
    if kind.is_temporal:
        return True
    if source.family is Family.NUMBER and own not in INTEGERS:
        return True  # a decimal, whose own form is text
    fixed = (*INTEGERS, *FLOATS, Kind.BOOL)
    return fidelity is Fidelity.EXACT and own in fixed and kind in fixed


def _exact_float(source: SourceType, kind: Kind) -> str:
    """Write the SQL for a number that becomes a float: its text where a float equals it, else no number."""
    checks = [] if source.family is Family.FLOAT else [_IS_FLOAT64]
    checks += [_IS_FLOAT32] if kind is Kind.FLOAT32 else []
    told = f"IF({' AND '.join(checks)}, CONCAT({_DOUBLE}), CONCAT({{v}}, {_NOT_EXACT}))"
    value = f"IF({{v}} IS NULL, NULL, {told})"
    return value.replace("{v}", f"({_PRINTED.get(source.family, '{v}')})")


def _fidelity(source: SourceType, target: ColumnType) -> Fidelity | None:
    """Say how values arrive as another kind than their own, or give None where that makes no sense."""
    if source.family in _NUMERIC and target.kind in NUMBERS:
        return Fidelity.EXACT if _holds(source.becomes, target) else Fidelity.LOSSY
    if target.kind is Kind.UUID and source.shown in _UUIDS:
        return Fidelity.EXACT
    return _OTHER_KINDS[source.family].get(target.kind)


def _holds(own: ColumnType, target: ColumnType) -> bool:
    """Tell whether a type of numbers holds every value of another."""
    if own.kind is Kind.DECIMAL:
        return holds_decimals(own.precision, own.scale, target)
    if own.kind in INTEGERS or own.kind is Kind.BOOL:
        return holds_whole(*INTEGERS.get(own.kind, (0, 1)), target)
    return (own.kind, target.kind) == (Kind.FLOAT32, Kind.FLOAT64)


def _possible(source: SourceType) -> list[Kind]:
    """List what configs may make of a column, its own kind first."""
    own = source.becomes.kind
    return [own, *(k for k in Kind if k is not own and _fidelity(source, ColumnType(k, 38, 9)) is not None)]
