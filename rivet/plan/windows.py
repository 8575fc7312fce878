"""Windows of the partition column: half-open, built each from its own date, labelled.

Pure. A value is an integer on the column's own axis: days since 1970-01-01 for dates, microseconds since
1970-01-01T00:00 for timestamps and instants, which are in UTC whatever zone their windows follow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rivet.plan.calendar import (
    END_DAY,
    FIRST_DAY,
    MICROSECONDS_PER_DAY,
    Granularity,
    civil_from_days,
    days_from_civil,
    format_day,
    format_timestamp,
    format_year,
)
from rivet.plan.schema import Kind
from rivet.plan.zones import Zone, zone_named

NULL_VALUE = "__HIVE_DEFAULT_PARTITION__"
NULL_LABEL = "NULL"  # what people write and read for it

_MICROSECONDS = 1_000_000

_LABEL = re.compile(r"([+-]?\d{4,})(?:-(\d\d))?(?:-(\d\d))?")
_FORMATS = {
    Granularity.DAY: ("YYYY-MM-DD", "date"),
    Granularity.MONTH: ("YYYY-MM", "string"),
    Granularity.YEAR: ("YYYY", "string"),
}


def units_per_day(kind: Kind) -> int:
    """Count the steps of a day on the axis of a date, timestamp or instant."""
    return 1 if kind is Kind.DATE else MICROSECONDS_PER_DAY


def told_label(value: str) -> str:
    """Give the value of a partition as people write and read it.

    >>> told_label(NULL_VALUE), told_label("2024-02")
    ('NULL', '2024-02')
    """
    return NULL_LABEL if value == NULL_VALUE else value


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

    Raises:
        PlanError: This machine's zone database has no such zone.
    """

    kind: Kind
    granularity: Granularity
    zone: str = "UTC"

    def __post_init__(self) -> None:
        _ = self._zone  # a zone that is not there shows before anything is planned

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
        return self._window(*civil_from_days(self.day_of(value)))

    def window_of_label(self, label: str) -> Window | None:
        """Give the window that bears a label, or None where the label is not one of this axis.

        A day that the zone never had is none.

        >>> Axis(Kind.DATE, Granularity.YEAR).window_of_label("1970-02") is None
        True
        """
        match = _LABEL.fullmatch(label)
        if match is None:
            return None
        year, month, day = (int(g) if g else 1 for g in match.groups())
        window = self._window(year, month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None
        if window is None or window.label != label or window.start == window.end:
            return None
        return window

    def day_of(self, value: int) -> int:
        """Give the day in which a value lies, in days since 1970-01-01; of instants, in the zone."""
        zone = self._zone
        return value // self._units_per_day if zone is None else zone.day_of(value // _MICROSECONDS)

    def start_of_day(self, day: int) -> int:
        """Give the first value of a day; one that the zone never had begins where the next one does."""
        zone = self._zone
        return day * self._units_per_day if zone is None else zone.first_second(day) * _MICROSECONDS

    def window_count(self, minimum: int, maximum: int) -> int:
        """Count the windows, empty ones included, from that of minimum to that of maximum, both closed."""
        days = self.day_of(minimum), self.day_of(maximum)
        if self.granularity is Granularity.DAY:
            return days[1] - days[0] + 1 - self._skipped_days(minimum, maximum)
        first, last = map(civil_from_days, days)
        if self.granularity is Granularity.MONTH:
            return (last[0] - first[0]) * 12 + last[1] - first[1] + 1
        return last[0] - first[0] + 1

    def day_edges(self, span: tuple[int, int] | None) -> tuple[int, ...]:
        """List, ascending, the seconds of a day at which windows may begin; in UTC for instants.

        Between two of them, on any day, all values are in one window: so rows can be counted by a server that
        knows no zones (see `rivet.plan.scans.counts_of_pieces`).

        Args:
            span: The smallest and the largest value, both closed; None: anything in the years 1 to 9999.

        >>> Axis(Kind.INSTANT, Granularity.DAY, "Europe/Berlin").day_edges((1_700_000_000_000_000,) * 2)
        (82800,)
        """
        if self._zone is None:
            return (0,)
        first, last = span or (day * MICROSECONDS_PER_DAY for day in (FIRST_DAY, END_DAY))
        return self._zone.edges(first // _MICROSECONDS, last // _MICROSECONDS)

    def format(self, value: int) -> str:
        """Write a value as JSON files hold it: ISO date, or RFC 3339 with six decimals, `Z` for instants."""
        if self.kind is Kind.DATE:
            return format_day(value)
        return format_timestamp(value, utc=self.kind is Kind.INSTANT)

    @property
    def _units_per_day(self) -> int:
        return units_per_day(self.kind)

    @property
    def _zone(self) -> Zone | None:
        """Give the zone whose days are not simply those of the axis, or None."""
        return zone_named(self.zone) if self.kind is Kind.INSTANT and self.zone != "UTC" else None

    def _skipped_days(self, minimum: int, maximum: int) -> int:
        zone = self._zone
        return 0 if zone is None else zone.skipped_days(minimum // _MICROSECONDS, maximum // _MICROSECONDS)

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
        return Window(self.start_of_day(first), self.start_of_day(end), label)
