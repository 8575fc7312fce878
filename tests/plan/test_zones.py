"""Windows in a zone: from local midnight to local midnight, whatever the clock does there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet.plan.calendar import MICROSECONDS_PER_DAY, Granularity, days_from_civil
from rivet.plan.schema import Kind
from rivet.plan.windows import Axis
from tests.plan.tzif import changes
from tests.plan.zones import BACKWARDS, YEARS, ZONES, instant, instants, local_date

GRANULARITIES = st.sampled_from(list(Granularity))
zone_and_instant = st.sampled_from(ZONES).flatmap(lambda z: st.tuples(st.just(z), instants(z)))
any_zone_and_instant = st.sampled_from([*ZONES, *BACKWARDS]).flatmap(
    lambda z: st.tuples(st.just(z), instants(z))
)


@given(zone_and_instant, GRANULARITIES)
def test_the_label_is_the_local_date(drawn: tuple[str, int], granularity: Granularity) -> None:
    """An instant lies in the window of the date that a clock in the zone shows."""
    zone, value = drawn
    window = Axis(Kind.INSTANT, granularity, zone).window_of(value)

    assert window.start <= value < window.end
    assert window.label == local_date(value, zone)[: len(window.label)]


@given(any_zone_and_instant, GRANULARITIES)
def test_windows_in_a_zone_touch_and_never_overlap(drawn: tuple[str, int], granularity: Granularity) -> None:
    """A window holds its value, touches its neighbours, and its label leads back to it, in any zone."""
    zone, value = drawn
    axis = Axis(Kind.INSTANT, granularity, zone)
    window = axis.window_of(value)

    assert window.start <= value < window.end
    assert axis.window_of(window.end).start == window.end
    assert axis.window_of(window.start - 1).end == window.start
    assert axis.window_of(window.start) == axis.window_of(window.end - 1) == window
    assert axis.window_of_label(window.label) == window


@given(any_zone_and_instant)
def test_a_window_begins_when_its_date_does(drawn: tuple[str, int]) -> None:
    """The date of a window is that of its first instant, and no earlier instant shows it or a later one."""
    zone, value = drawn
    window = Axis(Kind.INSTANT, Granularity.DAY, zone).window_of(value)
    begin = window.start - 2 * MICROSECONDS_PER_DAY
    before = [c.second * 1_000_000 - 1 for c in changes(zone) if begin < c.second * 1_000_000 <= window.start]

    assert local_date(window.start, zone) == window.label
    assert all(local_date(v, zone) < window.label for v in (window.start - 1, *before))


@pytest.mark.parametrize(
    ("zone", "day", "start", "end"),
    [
        # Midnight is jumped over, to one in the morning.
        ("America/Havana", "2024-03-09", "2024-03-09T05:00", "2024-03-10T05:00"),
        ("America/Havana", "2024-03-10", "2024-03-10T05:00", "2024-03-11T04:00"),
        ("Asia/Beirut", "2022-03-26", "2022-03-25T22:00", "2022-03-26T22:00"),
        ("Asia/Beirut", "2022-03-27", "2022-03-26T22:00", "2022-03-27T21:00"),
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00", "2018-11-05T02:00"),
        # From half past eleven to half past midnight.
        ("America/Toronto", "1919-03-30", "1919-03-30T05:00", "1919-03-31T04:30"),
        ("America/Toronto", "1919-03-31", "1919-03-31T04:30", "1919-04-01T04:00"),
        # Back from midnight to eleven, within the day.
        ("Asia/Beirut", "2022-10-29", "2022-10-28T21:00", "2022-10-29T22:00"),
        # A whole day is jumped over.
        ("Pacific/Apia", "2011-12-29", "2011-12-29T10:00", "2011-12-30T10:00"),
        ("Pacific/Apia", "2011-12-31", "2011-12-30T10:00", "2011-12-31T10:00"),
        ("Pacific/Kwajalein", "1993-08-20", "1993-08-20T12:00", "1993-08-21T12:00"),
        ("Pacific/Kwajalein", "1993-08-22", "1993-08-21T12:00", "1993-08-22T12:00"),
        # A day of nearly two.
        ("Pacific/Kwajalein", "1969-09-30", "1969-09-29T13:00", "1969-10-01T12:00"),
        # A quarter of an hour, and odd seconds.
        ("Asia/Kathmandu", "1986-01-01", "1985-12-31T18:30", "1986-01-01T18:15"),
        ("Africa/Monrovia", "1972-01-07", "1972-01-07T00:44:30", "1972-01-08T00:00"),
        # One minute after midnight the clock goes back: the first midnight counts.
        ("America/St_Johns", "2006-10-29", "2006-10-29T02:30", "2006-10-30T03:30"),
        ("America/St_Johns", "2006-10-28", "2006-10-28T02:30", "2006-10-29T02:30"),
    ],
)
def test_days_around_changes(zone: str, day: str, start: str, end: str) -> None:
    """The windows around known changes of the clock begin and end where the law of the place says."""
    window = Axis(Kind.INSTANT, Granularity.DAY, zone).window_of_label(day)

    assert window is not None
    assert (window.start, window.end) == (instant(start), instant(end))


@pytest.mark.parametrize(
    ("zone", "day"),
    [("Pacific/Apia", "2011-12-30"), ("Pacific/Kwajalein", "1993-08-21"), ("Asia/Manila", "1844-12-31")],
)
def test_a_day_that_never_was_has_no_window(zone: str, day: str) -> None:
    """A date that a zone jumped over has no window: the one before ends where the one after begins."""
    axis = Axis(Kind.INSTANT, Granularity.DAY, zone)
    number = days_from_civil(*map(int, day.split("-")))
    noon = number * MICROSECONDS_PER_DAY + MICROSECONDS_PER_DAY // 2
    walked, window = [], axis.window_of(noon - 3 * MICROSECONDS_PER_DAY)
    while window.start <= noon + 3 * MICROSECONDS_PER_DAY:
        walked.append(window.label)
        window = axis.window_of(window.end)

    assert axis.window_of_label(day) is None
    assert day not in walked
    assert (
        len(walked)
        == len(set(walked))
        == axis.window_count(noon - 3 * MICROSECONDS_PER_DAY, noon + 3 * MICROSECONDS_PER_DAY)
    )


@pytest.mark.parametrize("zone", [*ZONES, *BACKWARDS])
def test_the_ends_of_the_calendar_are_ordinary_in_a_zone(zone: str) -> None:
    """The first and the last instant of the years 1 to 9999 lie in windows, though those reach beyond."""
    for granularity in Granularity:
        axis = Axis(Kind.INSTANT, granularity, zone)
        for value in YEARS:
            window = axis.window_of(value)
            assert window.start <= value < window.end
            assert axis.window_of_label(window.label) == window
            assert abs(window.start - value) < 367 * MICROSECONDS_PER_DAY


def test_labels_at_the_ends_of_the_calendar() -> None:
    """Ahead of UTC the last hours of 9999 are in the year 10000, behind it the first ones of 1 in year 0."""
    tokyo, havana = (Axis(Kind.INSTANT, Granularity.DAY, zone) for zone in ("Asia/Tokyo", "America/Havana"))

    assert tokyo.window_of(YEARS[1]).label == "+10000-01-01"
    assert tokyo.window_of(YEARS[1] - 9 * 3_600_000_000).label == "9999-12-31"
    assert havana.window_of(YEARS[0]).label == "0000-12-31"
    assert havana.format(havana.window_of(YEARS[1]).end) == "+10000-01-01T05:00:00.000000Z"


@given(any_zone_and_instant, st.integers(0, 800 * MICROSECONDS_PER_DAY), GRANULARITIES)
def test_windows_in_a_zone_are_counted_as_walking_counts_them(
    drawn: tuple[str, int], length: int, granularity: Granularity
) -> None:
    """window_count tells how many windows lie from one instant to another, skipped days left out."""
    zone, minimum = drawn
    axis = Axis(Kind.INSTANT, granularity, zone)
    maximum = minimum + length
    walked, window = 1, axis.window_of(minimum)
    while window.end <= maximum:
        walked, window = walked + 1, axis.window_of(window.end)

    assert axis.window_count(minimum, maximum) == walked
