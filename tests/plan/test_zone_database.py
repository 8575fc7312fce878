"""What windows take for granted of the zone database holds for every zone of this machine."""

from __future__ import annotations

import zoneinfo

import pytest

from rivet.errors import PlanError
from rivet.plan.calendar import Granularity
from rivet.plan.schema import Kind
from rivet.plan.windows import Axis
from rivet.plan.zones import DAY_SECONDS, zone_named
from tests.plan.tzif import Change, changes, distinct_zones
from tests.plan.zones import instant, local_date


def test_no_zone_changes_twice_in_two_days() -> None:
    """In no zone of this machine do two changes of the clock come as close as the search for them assumes."""
    closest = min(
        later.second - earlier.second
        for zone in distinct_zones()
        for earlier, later in zip(changes(zone), changes(zone)[1:], strict=False)
    )

    assert closest > 2 * DAY_SECONDS


def test_every_midnight_at_a_change_in_every_zone() -> None:
    """Where any zone's clock has changed at, over or back over a midnight, the days beside it are right."""

    def first_second(known: list[Change], day: int) -> int:
        """Find the first instant of a day or of a later one in a zone's whole list of changes."""
        midnight, begin, offset = day * DAY_SECONDS, -(10**12), known[0].before
        for change in known:
            if midnight - offset < change.second:
                break
            begin, offset = change.second, change.after
        return max(begin, midnight - offset)

    tried = 0
    for zone in distinct_zones():
        known = changes(zone)
        for change in known:
            old, new = (
                (change.second + change.before) // DAY_SECONDS,
                (change.second + change.after) // DAY_SECONDS,
            )
            if old != (change.second - 1 + change.before) // DAY_SECONDS or old != new:
                tried += 1
                for day in range(min(old, new) - 1, max(old, new) + 3):
                    assert zone_named(zone).first_second(day) == first_second(known, day), (zone, change, day)

    assert tried > 100


@pytest.mark.parametrize(
    "name", ["Mars/Base", "", "America", "/etc/passwd", "../zoneinfo/UTC", "a\0b", "tzdata.zi"]
)
def test_a_zone_that_is_not_there_is_named(name: str) -> None:
    """A zone that the machine does not have is an error that names it, before anything is planned."""
    with pytest.raises(PlanError, match="no zone") as error:
        Axis(Kind.INSTANT, Granularity.DAY, name)

    assert repr(name) in str(error.value)
    assert error.value.hint


def test_every_zone_of_the_machine_can_be_used() -> None:
    """Each zone that the machine lists has windows now, long ago and far ahead."""
    for zone in zoneinfo.available_timezones():
        axis = Axis(Kind.INSTANT, Granularity.DAY, zone)
        for text in ("0500-06-01T12:00", "2024-06-01T12:00", "9500-06-01T12:00"):
            assert axis.window_of(instant(text)).label == local_date(instant(text), zone)
