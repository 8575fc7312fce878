"""Dates and timestamps as SQLite holds them: ISO text without a zone. Pure.

Held to be one are `YYYY-MM-DD` and, in a column of timestamps, `YYYY-MM-DD[ T]HH:MM[:SS[.f{1,6}]]` as well,
from the year 1 on. All of them are beginnings of the longest form, so text that differs in no separator
sorts as time does, and an index on the column serves order and ranges.
"""

from __future__ import annotations

import datetime as dt
import re

import pyarrow as pa
import pyarrow.compute as pc

from rivet.plan.calendar import days_from_civil, format_day, format_timestamp
from rivet.plan.schema import Kind
from rivet.plan.windows import units_per_day

MAX_CHARACTERS = len("YYYY-MM-DD HH:MM:SS.ffffff")

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - the values are naive
_FIRST_DAY, _END_DAY = days_from_civil(1, 1), days_from_civil(10_000, 1)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIMESTAMP = re.compile(rf"{_DATE.pattern}(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{{1,6}})?)?)?", re.ASCII)
_ONLY_HOURS = len("YYYY-MM-DD HH")


def on_axis(texts: pa.Array, kind: Kind) -> pa.Array:
    """Give dates or timestamps as integers on the axis, NULL where a text is none.

    The texts may hold any bytes.

    >>> on_axis(pa.array(["1970-01-02", "1970-02-30", None]), Kind.DATE).to_pylist()
    [1, None, None]
    """
    arrow = (pa.date32(), pa.int32()) if kind is Kind.DATE else (pa.timestamp("us"), pa.int64())
    try:
        values = texts.cast(arrow[0]).cast(arrow[1])
    except pa.ArrowInvalid:
        pass
    else:
        # Beyond the forms above, Arrow reads hours without minutes, and a year 0.
        least = pc.min(values).as_py()
        if least is None or (
            least >= _FIRST_DAY * units_per_day(kind)
            and not pc.any(pc.equal(pc.binary_length(texts), _ONLY_HOURS)).as_py()
        ):
            return values
    return pa.array([_parsed(t, kind) for t in texts.cast(pa.binary()).to_pylist()], arrow[1])


def bound(value: int, kind: Kind, separator: str) -> str | None:
    """Write a value so that every form of it and of what follows compares as not less, or None past 9999.

    >>> bound(0, Kind.TIMESTAMP, "T"), bound(90_000_500_000, Kind.TIMESTAMP, "T")
    ('1970-01-01', '1970-01-02T01:00:00.5')
    """
    days, rest = divmod(value, units_per_day(kind))
    if days >= _END_DAY:
        return None
    if not rest:
        return format_day(days)
    text = format_timestamp(value, utc=False, separator=separator).rstrip("0").removesuffix(".")
    return text.removesuffix(":00")


def _parsed(raw: bytes | None, kind: Kind) -> int | None:
    text = "" if raw is None else raw.decode(errors="replace")
    if not (_DATE if kind is Kind.DATE else _TIMESTAMP).fullmatch(text):
        return None
    try:
        since = dt.datetime.fromisoformat(text) - _EPOCH
    except ValueError:
        return None
    return since.days if kind is Kind.DATE else since // dt.timedelta(microseconds=1)
