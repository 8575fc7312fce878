"""Dates and labels of the command line select windows, at their edges, in any zone."""

from __future__ import annotations

import pytest

from rivet.errors import PlanError
from rivet.plan.asked import last_windows, selection_asked
from rivet.plan.calendar import Granularity
from rivet.plan.schema import Kind
from rivet.plan.selection import of_ranges
from rivet.plan.windows import NULL_VALUE, Axis

DAY, MONTH, YEAR = Granularity.DAY, Granularity.MONTH, Granularity.YEAR
HOUR = 3_600_000_000


def _axis(granularity: Granularity, zone: str = "UTC", kind: Kind = Kind.INSTANT) -> Axis:
    return Axis(kind, granularity, zone)


@pytest.mark.parametrize(
    ("granularity", "since", "until", "labels"),
    [
        (DAY, "2024-02-28", "2024-03-01", ["2024-02-28", "2024-02-29"]),
        (MONTH, "2023-12-01", "2024-02-01", ["2023-12", "2024-01"]),
        (MONTH, "2023-12", "2024-02", ["2023-12", "2024-01"]),
        (YEAR, "2023-01-01", "2025-01-01", ["2023", "2024"]),
        (YEAR, "2023", "2025-01-01", ["2023", "2024"]),
    ],
)
@pytest.mark.parametrize("kind", [Kind.DATE, Kind.TIMESTAMP, Kind.INSTANT])
def test_two_dates_select_the_windows_between_them(
    kind: Kind, granularity: Granularity, since: str, until: str, labels: list[str]
) -> None:
    """`--since` begins the first window, `--until` ends the last one; both are dates or labels."""
    axis = _axis(granularity, kind=kind)
    windows = [axis.window_of_label(label) for label in labels]

    found = selection_asked(axis, since=since, until=until)

    assert windows[0] is not None
    assert windows[-1] is not None
    assert found.ranges == ((windows[0].start, windows[-1].end),)
    assert not found.nulls
    assert all(found.holds(window) for window in windows)
    assert not found.holds(axis.window_of(windows[0].start - 1))
    assert not found.holds(axis.window_of(windows[-1].end))


@pytest.mark.parametrize(
    ("zone", "day", "offset_hours"),
    [
        ("Europe/Berlin", "2024-03-31", -1),
        ("Europe/Berlin", "2024-04-01", -2),
        ("America/Havana", "2024-03-10", 5),  # midnight is skipped: the day begins at 01:00
        ("America/Havana", "2024-03-11", 4),
        ("Asia/Kathmandu", "2024-01-01", -5.75),
    ],
)
def test_a_date_is_midnight_in_the_zone(zone: str, day: str, offset_hours: float) -> None:
    """A date is the first instant of that day in `partition_timezone`, also where the clock changes."""
    utc = _axis(DAY).window_of_label(day)
    assert utc is not None

    found = selection_asked(_axis(DAY, zone), since=day)

    assert found.ranges == ((int(utc.start + offset_hours * HOUR), None),)


def test_a_day_that_a_zone_never_had_is_the_edge_between_its_neighbours() -> None:
    """In Apia the 30th of December 2011 was left out: it may be a date, and is no label."""
    axis = _axis(DAY, "Pacific/Apia")
    neighbour = axis.window_of_label("2011-12-31")
    assert neighbour is not None

    assert selection_asked(axis, since="2011-12-30").ranges == ((neighbour.start, None),)
    with pytest.raises(PlanError, match="is no label of a window by day"):
        selection_asked(axis, partitions=["2011-12-30"])


@pytest.mark.parametrize(
    ("granularity", "since", "edges"),
    [
        (MONTH, "2024-02-15", ("2024-02-01", "2024-03-01")),
        (MONTH, "2023-12-31", ("2023-12-01", "2024-01-01")),
        (YEAR, "2024-02", ("2024-01-01", "2025-01-01")),
        (YEAR, "2024-07-01", ("2024-01-01", "2025-01-01")),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_a_date_inside_a_window_is_refused_with_the_edges(
    zone: str, granularity: Granularity, since: str, edges: tuple[str, str]
) -> None:
    """A window is read as a whole: the mend names the edges before and behind the date."""
    for option in ("since", "until"):
        with pytest.raises(PlanError, match=f"--{option}") as refused:
            selection_asked(_axis(granularity, zone), **{option: since})
        assert refused.value.exit_code == 2
        if len(since) == len("YYYY-MM-DD"):
            assert "lies inside the window" in str(refused.value)
            assert refused.value.hint == f"write {edges[0]} or {edges[1]}"
        else:
            assert f"{since!r} is no date" in str(refused.value)


@pytest.mark.parametrize("text", ["yesterday", "2023-02-30", "2023-13-01", "20230101", "2023-1-1", ""])
def test_what_is_no_date_is_refused(text: str) -> None:
    """Neither words nor days that no month has are dates."""
    with pytest.raises(PlanError, match="is no date") as refused:
        selection_asked(_axis(DAY), since=text)
    assert refused.value.hint == "write one as YYYY-MM-DD"


def test_dates_in_the_wrong_order_are_refused() -> None:
    """Where no window lies between two dates, the run says so, and what `--until` means."""
    for until in ("2023-01-02", "2023-01-01"):
        with pytest.raises(PlanError, match="no window lies between --since 2023-01-02") as refused:
            selection_asked(_axis(DAY), since="2023-01-02", until=until)
        assert "the date behind the last window" in (refused.value.hint or "")


def test_labels_select_their_windows_and_null_the_null_partition() -> None:
    """Labels add up with each other, with `NULL`, and with dates."""
    axis = _axis(DAY, kind=Kind.DATE)

    found = selection_asked(axis, since="1970-01-10", partitions=["1970-01-02", "NULL", "1970-01-03"])

    assert (found.ranges, found.nulls) == (((1, 3), (9, None)), True)
    labels = ["1970-01-01", "1970-01-02", "1970-01-03", "1970-01-04", "1970-01-10", NULL_VALUE]
    assert [found.holds_value(label, axis) for label in labels] == [False, True, True, False, True, True]
    assert selection_asked(axis, partitions=["1970-01-02"]).nulls is False


@pytest.mark.parametrize(
    ("label", "hint"),
    [
        ("2024-02-15", "write one as YYYY-MM, or NULL for the NULL partition; 2024-02-15 is in 2024-02"),
        ("2024", "write one as YYYY-MM, or NULL for the NULL partition"),
        ("null", "write one as YYYY-MM, or NULL for the NULL partition"),
    ],
)
def test_a_label_of_another_granularity_is_refused(label: str, hint: str) -> None:
    """The mend shows how labels look, and which one holds a day."""
    with pytest.raises(PlanError, match="is no label of a window by month") as refused:
        selection_asked(_axis(MONTH), partitions=[label])
    assert refused.value.hint == hint


def test_the_last_windows_are_those_of_the_tree_and_all_behind_them() -> None:
    """Partitions of the future are read too, and hide no older ones; NULL is none of them."""
    axis = _axis(DAY, kind=Kind.DATE)
    labels = ["1970-01-02", NULL_VALUE, "1970-01-05", "1970-01-07", "2099-01-01"]

    assert last_windows(labels, 2, axis, now=10) == of_ranges([(4, None)])
    assert last_windows(labels, 3, axis, now=10) == of_ranges([(1, None)])
    assert last_windows(labels, 4, axis, now=10) == of_ranges([(None, None)])
    assert last_windows(["2099-01-01"], 1, axis, now=10) == of_ranges([(47_117, None)])
    assert last_windows([NULL_VALUE], 2, axis, now=10) is None
