"""Windows: contiguous, disjoint, each value in exactly one, labels that lead back."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet.plan.calendar import (
    MICROSECONDS_PER_DAY,
    Granularity,
    civil_from_days,
    days_from_civil,
    format_day,
    format_timestamp,
)
from rivet.plan.schema import Kind
from rivet.plan.windows import Axis

KINDS = st.sampled_from([Kind.DATE, Kind.TIMESTAMP, Kind.INSTANT])
GRANULARITIES = st.sampled_from(list(Granularity))
# From 5000 BC to the year 20000: wider than any Python date.
DAYS = st.integers(-2_500_000, 6_600_000)
EPOCH = date(1970, 1, 1)


@given(st.dates())
def test_day_counts_agree_with_python_where_python_has_dates(day: date) -> None:
    """A civil date and its day count lead to each other, as Python's own calendar has them."""
    days = (day - EPOCH).days

    assert days_from_civil(day.year, day.month, day.day) == days
    assert civil_from_days(days) == (day.year, day.month, day.day)
    assert format_day(days) == day.isoformat()


@given(DAYS)
def test_day_counts_lead_back_beyond_python(days: int) -> None:
    """Day counts beyond years 1 to 9999 lead back to themselves."""
    assert days_from_civil(*civil_from_days(days)) == days


@given(KINDS, GRANULARITIES, DAYS, st.integers(0, MICROSECONDS_PER_DAY - 1))
def test_each_value_lies_in_one_window_and_neighbours_touch(
    kind: Kind, granularity: Granularity, days: int, microsecond: int
) -> None:
    """A value's window holds it, and touches the windows before and after it."""
    axis = Axis(kind, granularity)
    value = days if kind is Kind.DATE else days * MICROSECONDS_PER_DAY + microsecond
    window = axis.window_of(value)

    assert window.start <= value < window.end
    assert axis.window_of(window.end).start == window.end
    assert axis.window_of(window.start - 1).end == window.start
    assert axis.window_of(window.start) == axis.window_of(window.end - 1) == window


@given(KINDS, GRANULARITIES, DAYS)
def test_labels_lead_back_to_their_windows(kind: Kind, granularity: Granularity, days: int) -> None:
    """A label names its window and no other text does."""
    axis = Axis(kind, granularity)
    window = axis.window_of(days * (1 if kind is Kind.DATE else MICROSECONDS_PER_DAY))

    assert axis.window_of_label(window.label) == window


@pytest.mark.parametrize(
    ("granularity", "label"),
    [
        (Granularity.DAY, "2023-02-29"),
        (Granularity.DAY, "2023-1-1"),
        (Granularity.DAY, "2023-01"),
        (Granularity.DAY, "2023-13-01"),
        (Granularity.MONTH, "2023-00"),
        (Granularity.MONTH, "2023-01-01"),
        (Granularity.YEAR, "23"),
        (Granularity.YEAR, "2023 "),
        (Granularity.YEAR, "+2023"),
        (Granularity.DAY, "__HIVE_DEFAULT_PARTITION__"),
        (Granularity.DAY, "\u0662\u0660\u0662\u0663-01-01"),
    ],
)
def test_other_texts_are_no_labels(granularity: Granularity, label: str) -> None:
    """A text that is not the padded label of a window on the axis is none."""
    assert Axis(Kind.DATE, granularity).window_of_label(label) is None


def test_sentinels_are_ordinary() -> None:
    """0001-01-01 and 9999-12-31 have windows, though the end of the last is no Python date."""
    axis = Axis(Kind.TIMESTAMP, Granularity.DAY)
    last = axis.window_of(days_from_civil(9999, 12, 31) * MICROSECONDS_PER_DAY)

    assert last.label == "9999-12-31"
    assert axis.format(last.end) == "+10000-01-01T00:00:00.000000"
    assert axis.window_of(days_from_civil(1, 1, 1) * MICROSECONDS_PER_DAY).label == "0001-01-01"


@given(KINDS, GRANULARITIES, st.integers(-100_000, 100_000), st.integers(0, 400))
def test_the_number_of_windows_is_what_walking_them_gives(
    kind: Kind, granularity: Granularity, first: int, length: int
) -> None:
    """window_count tells how many windows lie from one value to another."""
    axis = Axis(kind, granularity)
    unit = 1 if kind is Kind.DATE else MICROSECONDS_PER_DAY
    minimum, maximum = first * unit, (first + length) * unit + unit - 1
    walked, window = 1, axis.window_of(minimum)
    while window.end <= maximum:
        walked, window = walked + 1, axis.window_of(window.end)

    assert axis.window_count(minimum, maximum) == walked


@given(st.datetimes(), st.booleans())
def test_instants_are_written_as_rfc_3339(moment: object, utc: bool) -> None:
    """A timestamp is written with six decimals, and `Z` for instants only."""
    from datetime import datetime

    assert isinstance(moment, datetime)
    microseconds = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)

    assert format_timestamp(microseconds, utc=utc) == moment.isoformat(timespec="microseconds") + "Z" * utc
