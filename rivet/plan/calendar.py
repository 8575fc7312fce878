"""Calendar arithmetic on whole days since 1970-01-01 in the proleptic Gregorian calendar.

Pure. Python's `date` ends at 9999-12-31 and begins at year 1, while the end of a last window, or a value
in a database, may lie beyond; these functions know no such ends.
"""

from __future__ import annotations

import re
from enum import StrEnum

MICROSECONDS_PER_DAY = 86_400_000_000

_DATE = re.compile(r"([+-]?\d{4,})-(\d\d)-(\d\d)")
_TIMESTAMP = re.compile(r"([+-]?\d{4,6})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{6})Z?")


class Granularity(StrEnum):
    """The width of a window."""

    DAY = "day"
    MONTH = "month"
    YEAR = "year"


def days_from_civil(year: int, month: int, day: int = 1) -> int:
    """Count the days from 1970-01-01 to a civil date; year 0 is 1 BC.

    Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".

    >>> days_from_civil(1970, 1, 1), days_from_civil(10000, 1, 1)
    (0, 2932897)
    """
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * 146_097 + day_of_era - 719_468


FIRST_DAY, END_DAY = days_from_civil(1, 1), days_from_civil(10_000, 1)
"""The days of the years 1 to 9999, half-open: what lies beyond fits no calendar of a reader."""


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Give year, month and day of a count of days since 1970-01-01.

    >>> civil_from_days(0), civil_from_days(-719162)
    ((1970, 1, 1), (1, 1, 1))
    """
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = (shifted_month + 2) % 12 + 1
    return year_of_era + era * 400 + (month <= 2), month, day


def format_year(year: int) -> str:
    """Write a year with at least four digits, signed where ISO 8601 asks for it.

    >>> format_year(1), format_year(10000), format_year(-43)
    ('0001', '+10000', '-0043')
    """
    if 0 <= year <= 9999:
        return f"{year:04d}"
    return f"{'+' if year > 0 else '-'}{abs(year):04d}"


def format_day(days: int) -> str:
    """Write a count of days since 1970-01-01 as an ISO date.

    >>> format_day(0)
    '1970-01-01'
    """
    year, month, day = civil_from_days(days)
    return f"{format_year(year)}-{month:02d}-{day:02d}"


def parse_day(text: str) -> int | None:
    """Read an ISO date as days since 1970-01-01, or give None where it is none.

    >>> parse_day("1970-01-02"), parse_day("2023-02-30"), parse_day("1970-01")
    (1, None, None)
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day = map(int, match.groups())
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    days = days_from_civil(year, month, day)
    return days if civil_from_days(days) == (year, month, day) else None


def format_timestamp(microseconds: int, *, utc: bool, separator: str = "T") -> str:
    """Write microseconds since 1970-01-01T00:00 as RFC 3339 with six decimals, with `Z` for instants.

    >>> format_timestamp(1, utc=True)
    '1970-01-01T00:00:00.000001Z'
    """
    days, rest = divmod(microseconds, MICROSECONDS_PER_DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:06d}"
    return f"{format_day(days)}{separator}{clock}{'Z' if utc else ''}"


def parse_timestamp(text: str, *, utc: bool) -> int | None:
    """Read what `format_timestamp` writes, or give None for any other text.

    >>> parse_timestamp("1970-01-01T00:00:00.000001Z", utc=True), parse_timestamp("1970-01-01", utc=True)
    (1, None)
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction = map(int, match.groups())
    seconds = (hour * 60 + minute) * 60 + second
    value = days_from_civil(year, month, day) * MICROSECONDS_PER_DAY + seconds * 1_000_000 + fraction
    return value if format_timestamp(value, utc=utc) == text else None
