"""Windows of the partition column: half-open, built each from its own date, labelled.

Pure. A value is an integer on the column's own axis: days since 1970-01-01 for dates, microseconds since
1970-01-01T00:00 for timestamps and instants.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rivet.plan.calendar import (
    MICROSECONDS_PER_DAY,
    Granularity,
    civil_from_days,
    days_from_civil,
    format_day,
    format_timestamp,
    format_year,
)
from rivet.plan.schema import Kind

NULL_VALUE = "__HIVE_DEFAULT_PARTITION__"

_LABEL = re.compile(r"([+-]?\d{4,})(?:-(\d\d))?(?:-(\d\d))?")
_FORMATS = {
    Granularity.DAY: ("YYYY-MM-DD", "date"),
    Granularity.MONTH: ("YYYY-MM", "string"),
    Granularity.YEAR: ("YYYY", "string"),
}


def units_per_day(kind: Kind) -> int:
    """Count the steps of a day on the axis of a date, timestamp or instant."""
    return 1 if kind is Kind.DATE else MICROSECONDS_PER_DAY


@dataclass(frozen=True, slots=True)
class Window:
    """The half-open range `[start, end)` of one partition, on the column's axis, and its label."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    """How the values of a partition column fall into windows.

    Attributes:
        kind: DATE, TIMESTAMP (naive) or INSTANT.
        granularity: The width of a window.
        zone: IANA name of the zone that windows of instants follow; naive columns are taken as they are.
    """

    kind: Kind
    granularity: Granularity
    zone: str = "UTC"

    @property
    def timezone(self) -> str | None:
        """Name the zone that windows follow; None for naive columns."""
        return self.zone if self.kind is Kind.INSTANT else None

    @property
    def value_format(self) -> str:
        """Describe a label for a person, such as `YYYY-MM-DD`."""
        return _FORMATS[self.granularity][0]

    @property
    def reader_type(self) -> str:
        """Name the type with which a reader should declare the path key."""
        return _FORMATS[self.granularity][1]

    def window_of(self, value: int) -> Window:
        """Give the window that holds a value.

        >>> Axis(Kind.DATE, Granularity.MONTH).window_of(59)
        Window(start=59, end=90, label='1970-03')
        """
        return self._window(*civil_from_days(value // self._units_per_day))

    def window_of_label(self, label: str) -> Window | None:
        """Give the window that bears a label, or None where the label is not one of this axis.

        >>> Axis(Kind.DATE, Granularity.YEAR).window_of_label("1970-02") is None
        True
        """
        match = _LABEL.fullmatch(label)
        if match is None:
            return None
        year, month, day = (int(g) if g else 1 for g in match.groups())
        window = self._window(year, month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None
        return window if window is not None and window.label == label else None

    def window_count(self, minimum: int, maximum: int) -> int:
        """Count the windows, empty ones included, from that of minimum to that of maximum, both closed."""
        first = civil_from_days(minimum // self._units_per_day)
        last = civil_from_days(maximum // self._units_per_day)
        if self.granularity is Granularity.DAY:
            return days_from_civil(*last) - days_from_civil(*first) + 1
        if self.granularity is Granularity.MONTH:
            return (last[0] - first[0]) * 12 + last[1] - first[1] + 1
        return last[0] - first[0] + 1

    def format(self, value: int) -> str:
        """Write a value as JSON files hold it: ISO date, or RFC 3339 with six decimals, `Z` for instants."""
        if self.kind is Kind.DATE:
            return format_day(value)
        return format_timestamp(value, utc=self.kind is Kind.INSTANT)

    @property
    def _units_per_day(self) -> int:
        return units_per_day(self.kind)

    def _window(self, year: int, month: int, day: int) -> Window:
        # Each bound comes from its own date: in a zone, a day is not always 24 hours.
        label = format_year(year)
        if self.granularity is Granularity.YEAR:
            first, end = days_from_civil(year, 1), days_from_civil(year + 1, 1)
        elif self.granularity is Granularity.MONTH:
            first = days_from_civil(year, month)
            end = days_from_civil(year + (month == 12), month % 12 + 1)
            label += f"-{month:02d}"
        else:
            first = days_from_civil(year, month, day)
            end = first + 1
            label = format_day(first)
        return Window(first * self._units_per_day, end * self._units_per_day, label)
