"""Dates and timestamps as SQLite holds them in text: in ISO 8601's own order, with or without a zone. Pure.

Held to be one are `YYYY-MM-DD` and `YYYY-MM-DD[ T]HH:MM[:SS[.f…]]`, an offset behind it being `Z`, `+HH:MM`,
`+HHMM` or `+HH`, in the years 1 to 9999. Without offsets all of them are beginnings of the longest form, so
text that differs in no separator sorts as time does, and an index on the column serves order and ranges.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

from rivet.plan.calendar import END_DAY, FIRST_DAY, MICROSECONDS_PER_DAY, format_day, format_timestamp
from rivet.plan.schema import Kind
from rivet.plan.windows import units_per_day

# Further zeros after the sixth decimal are no further value, but nobody writes so many.
MAX_CHARACTERS = 64

# Of a text, in bytes: in UTF-16 its characters take two.
MAX_BYTES = 2 * MAX_CHARACTERS
# Stands among texts for a number, and is longer than any of them.
NUMBER = "#" * (MAX_BYTES + 1)

# Why a moment of the calendar does not fit a column, as messages count it.
WITH_TIME = "with a time"
WITH_OFFSET = "with an offset from UTC"
WITHOUT_OFFSET = "without an offset from UTC"
TOO_FINE = "finer than a microsecond"
OF_NUMBERS = "as numbers"

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - the offset is taken off apart
_MOMENT = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)"
    r"(?:[ T](?P<time>\d\d:\d\d(?::\d\d)?)(?:(?<=:\d\d:\d\d)\.(?P<fraction>\d+))?"
    r"(?P<offset>Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?",
    re.ASCII,
)
_COLON_AT = len("YYYY-MM-DD HH")


def on_axis(texts: pa.Array, kind: Kind) -> tuple[pa.Array, Counter[str]]:
    """Give dates or timestamps as integers on the axis, NULL where a text is none, or does not fit.

    The moments that do not fit the kind are counted, by what stands against it. Texts may hold any bytes.

    >>> values, misfits = on_axis(pa.array(["1970-01-02", "1970-02-30", "1970-01-01T10:00"]), Kind.DATE)
    >>> values.to_pylist(), misfits
    ([1, None, None], Counter({'with a time': 1}))
    """
    integers = pa.int32() if kind is Kind.DATE else pa.int64()
    if (values := _cast(texts, kind)) is not None:
        return values.cast(integers), Counter()
    misfits = Counter[str]()
    read: list[int | None] = []
    for raw in texts.cast(pa.binary()).to_pylist():
        value = None if raw is None else _parsed(raw.decode(errors="replace"), kind)
        if isinstance(value, str):
            misfits[value] += 1
            value = None
        read.append(value)
    return pa.array(read, integers), misfits


def bound(value: int, kind: Kind, separator: str) -> str | None:
    """Write a value so that every form of it and of what follows compares as not less, or None past 9999.

    >>> bound(0, Kind.TIMESTAMP, "T"), bound(90_000_500_000, Kind.TIMESTAMP, "T")
    ('1970-01-01', '1970-01-02T01:00:00.5')
    """
    days, rest = divmod(value, units_per_day(kind))
    if days >= END_DAY:
        return None
    if not rest:
        return format_day(days)
    text = format_timestamp(value, utc=False, separator=separator).rstrip("0").removesuffix(".")
    return text.removesuffix(":00")


def _cast(texts: pa.Array, kind: Kind) -> pa.Array | None:
    """Read the texts as Arrow does, or give None where it reads other forms than those above."""
    arrow = {Kind.DATE: pa.date32(), Kind.TIMESTAMP: pa.timestamp("us")}.get(kind, pa.timestamp("us", "UTC"))
    try:
        values = texts.cast(arrow)
    except pa.ArrowInvalid:
        return None
    ends = pc.min_max(values.cast(pa.int32() if kind is Kind.DATE else pa.int64())).as_py()
    if ends["min"] is None:
        return values
    first, end = FIRST_DAY * units_per_day(kind), END_DAY * units_per_day(kind)
    if kind is Kind.INSTANT:  # the offset may have led out of a year 0
        first += MICROSECONDS_PER_DAY
    if ends["min"] < first or ends["max"] >= end:
        return None
    # Arrow reads hours without minutes, too.
    if kind is Kind.TIMESTAMP and pc.any(pc.equal(pc.binary_length(texts), _COLON_AT)).as_py():
        return None
    if kind is Kind.INSTANT:
        colons = pc.utf8_slice_codeunits(texts, _COLON_AT, _COLON_AT + 1)
        if not pc.all(pc.equal(colons, ":")).as_py():
            return None
    return values


def _parsed(text: str, kind: Kind) -> int | str | None:
    """Give a moment on the axis, or why it does not fit, or None where it is none."""
    match = _MOMENT.fullmatch(text)
    if match is None or len(text) > MAX_CHARACTERS:
        return OF_NUMBERS if text == NUMBER else None
    time, offset, fraction = match["time"], match["offset"], match["fraction"] or ""
    try:
        since = dt.datetime.fromisoformat(f"{match['date']} {time or '00:00'}") - _EPOCH
    except ValueError:
        return None
    if kind is Kind.DATE:
        return WITH_TIME if time else since.days
    if (offset is None) is (kind is Kind.INSTANT):
        return WITHOUT_OFFSET if offset is None else WITH_OFFSET
    if fraction[6:].strip("0"):
        return TOO_FINE
    value = since // dt.timedelta(microseconds=1) + int(fraction[:6].ljust(6, "0"))
    if offset not in (None, "Z"):
        digits = offset.replace(":", "")
        seconds = int(digits[1:3]) * 3600 + int(digits[3:] or 0) * 60
        value += seconds * (1_000_000 if digits[0] == "-" else -1_000_000)
    return value if FIRST_DAY <= value // MICROSECONDS_PER_DAY < END_DAY else None
