"""Where local days begin in a zone of the IANA database.

Pure, but for the files of the database, which Python reads once for each zone: the system's, or those of the
package `tzdata` where it has none.

A day begins at the first instant whose local date is that day or a later one. So a midnight that the clock
jumps over gives way to the instant of the jump, a day that the zone never had is empty and lies nowhere, and
of a midnight that comes twice the first counts: what the clock then shows of the day before once more belongs
to the new day, since days would overlap otherwise.

Instants are whole seconds since 1970-01-01T00:00Z, as all offsets and changes are; days count from
1970-01-01 in the zone. Neither knows an end, though Python's zones know only the years 1 to 9999: before the
first change the offset is always the same, and the last rule of a zone repeats with the calendar, every 400
years.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rivet.errors import PlanError
from rivet.plan.calendar import days_from_civil

DAY_SECONDS = 86_400

_SECOND = timedelta(seconds=1)
_CYCLE_SECONDS = 146_097 * DAY_SECONDS
# One day inside Python's years, since a local time must be among them too.
_FIRST_SECOND = days_from_civil(1, 1, 2) * DAY_SECONDS
_LAST_SECOND = days_from_civil(9999, 12, 30) * DAY_SECONDS
# No zone changes twice within that time: the closest changes of all are 95 hours apart (Freetown, 1939).
_QUIET_SECONDS = 2 * DAY_SECONDS
# There was no standard time before, and the database foretells nothing beyond but the last rule of each zone,
# of which a few years show everything.
_BEFORE_CHANGES = days_from_civil(1800, 1) * DAY_SECONDS
_RULE_ALONE = days_from_civil(2200, 1) * DAY_SECONDS
_RULE_SHOWN = days_from_civil(2202, 1) * DAY_SECONDS


@lru_cache(maxsize=8)
def zone_named(name: str) -> Zone:
    """Give a zone by its IANA name.

    Raises:
        PlanError: This machine's zone database has no such zone.
    """
    try:
        return Zone(ZoneInfo(name))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:  # a name may also be that of another file
        raise PlanError(
            f"this machine's time zone database has no zone {name!r}",
            hint="write a name of the IANA database such as Europe/Berlin, or update the package tzdata",
        ) from error


class Zone:
    """The local days of one zone."""

    def __init__(self, info: ZoneInfo) -> None:
        self._info = info
        self._epoch = datetime(1970, 1, 1, tzinfo=info)
        fixed = info.utcoffset(None)
        self._fixed = None if fixed is None else fixed // _SECOND

    def offset(self, second: int) -> int:
        """Give the seconds that local time is ahead of UTC at an instant.

        >>> zone_named("Asia/Kathmandu").offset(0), zone_named("Asia/Kathmandu").offset(10**12)
        (19800, 20700)
        """
        if self._fixed is not None:
            return self._fixed
        if second > _LAST_SECOND:
            second -= -(-(second - _LAST_SECOND) // _CYCLE_SECONDS) * _CYCLE_SECONDS
        # What fromutc() is given it takes for UTC; two times of one zone are subtracted as clocks show them.
        utc = self._epoch + max(second, _FIRST_SECOND) * _SECOND
        return (self._info.fromutc(utc) - utc) // _SECOND

    def first_second(self, day: int) -> int:
        """Give the first instant whose local date is that day or a later one.

        >>> midnight_skipped = days_from_civil(2024, 3, 10)
        >>> zone_named("America/Havana").first_second(midnight_skipped) - midnight_skipped * DAY_SECONDS
        18000
        """
        midnight = day * DAY_SECONDS
        begin, end = midnight - DAY_SECONDS, midnight + DAY_SECONDS
        before, after = self.offset(begin), self.offset(end)
        if before == after:
            return midnight - before
        change = self._change(begin, end)
        return midnight - before if midnight - before < change else max(change, midnight - after)

    def day_of(self, second: int) -> int:
        """Give the day whose first instant is the last one up to an instant.

        That is the local date, or a later one where the clock has gone back over midnight.
        """
        day = (second + self.offset(second)) // DAY_SECONDS
        while self.first_second(day + 1) <= second:
            day += 1
        return day

    def edges(self, first: int, last: int) -> tuple[int, ...]:
        """List, ascending, the seconds of a UTC day at which local days begin after first and up to last."""
        offsets = {self.offset(first)}
        edges: set[int] = set()
        for change, before, after in self._changes(first, last):
            offsets |= {before, after}
            if (change + before) // DAY_SECONDS < (change + after) // DAY_SECONDS:
                edges.add(change % DAY_SECONDS)
        return tuple(sorted(edges.union(-offset % DAY_SECONDS for offset in offsets)))

    def skipped_days(self, first: int, last: int) -> int:
        """Count the days, after that of first and before that of last, that the zone never had.

        >>> apia = zone_named("Pacific/Apia")
        >>> apia.skipped_days(days_from_civil(2011, 1) * DAY_SECONDS, days_from_civil(2012, 1) * DAY_SECONDS)
        1
        """
        return sum(
            max(0, (change + after) // DAY_SECONDS - (change - 1 + before) // DAY_SECONDS - 1)
            for change, before, after in self._changes(first, last)
        )

    def _changes(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Yield the instants after first and up to last at which the offset changes, with both offsets.

        Where the two lie beyond what the database foretells, further ones stand for what is there.
        """
        if self._fixed is not None:
            return
        begin = min(max(first, _BEFORE_CHANGES), _RULE_ALONE)
        last = last if last < _RULE_ALONE else _RULE_SHOWN
        before = self.offset(begin)
        while begin < last:
            end = min(begin + _QUIET_SECONDS, last)
            after = self.offset(end)
            if after != before:
                yield self._change(begin, end), before, after
            begin, before = end, after

    def _change(self, begin: int, end: int) -> int:
        """Find the only instant after begin and up to end at which the offset changes."""
        before = self.offset(begin)
        while end - begin > 1:
            middle = (begin + end) // 2
            if self.offset(middle) == before:
                begin = middle
            else:
                end = middle
        return end
