"""Says of a value that does not fit its column what it is, and in which row, so that it can be found.

Pure. Nothing here runs while every value fits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa

from rivet.errors import ColumnError
from rivet.plan.schema import Column, Fidelity, Kind

SHOWN_CHARACTERS = 60
_ROW_CHARACTERS = 240
_REFUSAL_CHARACTERS = 120
# Kinds whose values a message shows in quotes.
_SHOWN_QUOTED = frozenset({Kind.STRING, Kind.JSON, Kind.UUID})
# How Arrow words a refusal, with the value in it.
_REFUSALS = (
    re.compile(r"Failed to parse string: '(?P<value>.*)' as a scalar of type .*", re.DOTALL),
    re.compile(r"The string '(?P<value>.*)' is not a valid .* number", re.DOTALL),
    re.compile(r"invalid value '(?P<value>.*)'", re.DOTALL),
    re.compile(r"Error converting '(?P<value>.*)' to .*", re.DOTALL),
)
_OTHER_WORDS = {
    "Rescaling Decimal value would cause data loss": "a value has more digits behind the point",
}
_NOT_EXACT = " is not exact"  # what a server writes behind a number that the type would round


class Misfit(Exception):
    """A value that does not fit, by its place; whoever knows the rows makes words of it.

    Attributes:
        index: Its column's place.
        row: Its row's place, from 0, or None where it cannot be told.
    """

    def __init__(self, index: int, what: str, row: int | None) -> None:
        super().__init__(what)
        self.index = index
        self.row = row


def shortened(text: str, characters: int = SHOWN_CHARACTERS) -> str:
    """Give the start of a text that a message shows."""
    return text if len(text) <= characters else text[:characters] + "…"


def worded(refusal: str) -> str:
    """Say what Arrow refuses in the words of every other refusal, its value shortened and on one line.

    >>> worded("Failed to parse string: '3000000000' as a scalar of type int32")
    "value '3000000000' does not fit"
    >>> worded("Failed to parse string: '1e300 is not exact' as a scalar of type float")
    "value '1e300' is not exact in this type"
    """
    match = next((m for m in (r.fullmatch(refusal) for r in _REFUSALS) if m is not None), None)
    if match is None:
        return _OTHER_WORDS.get(refusal, refusal)
    value = match["value"]
    if value.endswith(_NOT_EXACT):
        return f"value {shortened(value.removesuffix(_NOT_EXACT))!r} is not exact in this type"
    return f"value {shortened(value)!r} does not fit"


def first_refused(values: pa.Array, convert: Callable[[pa.Array], object]) -> int | None:
    """Find the first value that a conversion refuses, or None where it takes each by itself.

    >>> first_refused(pa.array(["1", "2", "x", "4", "y"]), lambda texts: texts.cast(pa.int8()))
    2
    """
    start, end = 0, len(values)
    if not _is_refused(values, convert, start, end):
        return None
    while end - start > 1:
        middle = (start + end) // 2
        if _is_refused(values, convert, start, middle):
            end = middle
        else:
            start = middle
    return start if _is_refused(values, convert, start, end) else None


def in_row(number: int, names_and_values: Sequence[tuple[str, str | None]]) -> str:
    """Say which row is meant: by the values that tell it from others, or else by its number in the scan.

    Args:
        number: From 1.
        names_and_values: Columns and their values as a message shows them; None is NULL.

    >>> in_row(7, [("id", "12"), ("created_at", None)]), in_row(7, [])
    ("in the row with 'id' = 12, 'created_at' = NULL", 'in row 7 of the scan')
    """
    if not names_and_values:
        return f"in row {number:,} of the scan"
    shown = ", ".join(f"{name!r} = {'NULL' if v is None else v}" for name, v in names_and_values)
    return f"in the row with {shortened(shown, _ROW_CHARACTERS)}"


def _is_refused(values: pa.Array, convert: Callable[[pa.Array], object], start: int, end: int) -> bool:
    # Taken and not sliced: some conversions look at the buffers, which a slice shares.
    try:
        convert(values.take(pa.array(range(start, end), pa.int64())))
    except (ValueError, pa.ArrowCapacityError):
        return True
    return False


def refused_value(column: Column, refusal: str, place: str) -> ColumnError:
    """Make the error for a value that its column cannot hold.

    Args:
        refusal: Why, in Arrow's words or our own.
        place: Which row, as `in_row` says, or empty.
    """
    what = shortened(worded(refusal), _REFUSAL_CHARACTERS)
    hint = "give it the type string under `columns`, or leave it out with `exclude`"
    if column.fidelity is Fidelity.LOSSY:
        hint = "take the type out of `columns`, or write another there, such as string"
        if column.type.kind is Kind.DECIMAL and "has more digits" in what:
            hint = "write another precision and scale under `columns`, or take the type out there"
    if what.startswith("invalid UTF8"):
        hint = "mend the bytes in the database, or give the column the type binary under `columns`"
    where = f"column {column.name!r} ({column.source_type})"
    return ColumnError(f"{where} cannot be exported as {column.type}: {what}{place}", hint=hint)


def shown_value(column: Column, text: str | None) -> str | None:
    """Write a value of a column that tells a row, given as text, as a message shows it."""
    if text is None:
        return None
    return repr(shortened(text)) if column.type.kind in _SHOWN_QUOTED else shortened(text)
