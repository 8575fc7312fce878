"""How a planner chooses: in how many queries, who sorts, and what a time means in rows; as truth tables."""

from __future__ import annotations

from typing import Literal

import pytest

from rivet.errors import PlanError
from rivet.plan.estimate import Estimate, order_told
from rivet.plan.pace import Pace, pace_of_last_run, pace_of_probe, pace_of_whole_run, rows_within, too_long
from rivet.plan.scans import Sorter
from rivet.plan.sorting import Wish, choose_sorter, unsortable
from rivet.plan.ways import (
    MAX_ROWS_PASSED,
    Choice,
    Circumstances,
    Way,
    choose_way,
    is_passing,
    passes_advice,
)

MB = 1000**2


# wish, a snapshot, an index, only a part is read, more rows than a scan may have -> the way
@pytest.mark.parametrize(
    ("wish", "is_steady", "is_indexed", "is_part", "is_large", "way"),
    [
        ("auto", True, True, False, True, Way.BOUNDED),
        ("auto", True, True, False, False, Way.SINGLE),
        ("auto", True, True, True, False, Way.BOUNDED),
        ("auto", True, True, True, True, Way.BOUNDED),
        ("auto", True, False, False, True, Way.SINGLE),
        ("auto", True, False, False, False, Way.SINGLE),
        ("auto", True, False, True, True, Way.SPAN),
        ("auto", True, False, True, False, Way.SPAN),
        *(("auto", False, i, p, n, Way.SINGLE) for i in (0, 1) for p in (0, 1) for n in (0, 1)),
        *(("single", True, i, False, n, Way.SINGLE) for i in (0, 1) for n in (0, 1)),
        *(("single", True, i, True, n, Way.SPAN) for i in (0, 1) for n in (0, 1)),
        *(("single", False, i, p, n, Way.SINGLE) for i in (0, 1) for p in (0, 1) for n in (0, 1)),
        *(
            ("per_partition", True, i, p, n, Way.PER_PARTITION)
            for i in (0, 1)
            for p in (0, 1)
            for n in (0, 1)
        ),
    ],
)
def test_the_way_follows_from_wish_snapshot_index_and_rows(
    wish: Literal["auto", "single", "per_partition"],
    is_steady: bool,
    is_indexed: bool,
    is_part: bool,
    is_large: bool,
    way: Way,
) -> None:
    """Several scans are never chosen without a snapshot, nor, unless they are asked for, without an index."""
    given = Circumstances(
        "day",
        "" if is_steady else "the table has no snapshots",
        is_indexed=bool(is_indexed),
        is_part=bool(is_part),
        rows=1001 if is_large else 1000,
        max_scan_rows=1000,
    )

    choice = choose_way(wish, given)

    assert choice.way is way
    assert choice.why
    assert (choice.max_scan_rows == 1000) is (way is Way.BOUNDED)
    if not is_steady and wish != "per_partition":
        assert "the table has no snapshots" in choice.why


def test_a_choice_says_what_decided_it() -> None:
    """The reason names the rows and the limit, the column without an index, or the key of the config."""
    few = Circumstances("day", "", is_indexed=True, is_part=False, rows=10, max_scan_rows=10)
    lacking = Circumstances("day", "", is_indexed=False, is_part=False, rows=11, max_scan_rows=10)

    assert choose_way("auto", few) == Choice(Way.SINGLE, "10 rows, no more than max_scan_rows allows: 10")
    assert choose_way("auto", lacking).why.startswith("no index leads with 'day'")
    assert choose_way("single", few).why == "`scan: single` asks for it"


@pytest.mark.parametrize(
    ("wish", "advised", "sort", "limit", "free", "sorter"),
    [
        *((w, a, 0, 0, 0, "source") for w in ("auto", "source", "rivet") for a in ("source", "rivet")),
        ("auto", "rivet", 50, 100, 100, "rivet"),
        ("auto", "rivet", 50, 100, 99, "source"),  # room for one and not for two
        ("auto", "rivet", 200, 100, 400, "rivet"),  # too large for the source
        ("auto", "rivet", 200, 100, 399, None),
        ("auto", "source", 50, 100, 1000, "source"),
        ("auto", "source", 200, 100, 400, "rivet"),
        ("auto", "source", 200, 100, 399, None),
        ("source", "rivet", 100, 100, 1000, "source"),
        ("source", "rivet", 101, 100, 1000, None),
        ("rivet", "source", 200, 100, 200, "rivet"),
        ("rivet", "source", 200, 100, 199, None),
        ("rivet", "source", 10, 1, 0, "rivet"),  # that goes into memory
        ("auto", "source", 10, 1, 0, "rivet"),
    ],
)
def test_who_sorts_follows_from_wish_size_limit_and_room(
    wish: Wish, advised: str, sort: int, limit: int, free: int, sorter: str | None
) -> None:
    """Sizes are in MB. A source never sorts more than it may, and Rivet never more than there is room for."""
    chosen = choose_sorter(wish, Sorter(advised), sort * MB, free_bytes=free * MB, max_sort_bytes=limit * MB)

    assert chosen == (None if sorter is None else Sorter(sorter))


@pytest.mark.parametrize(
    ("wish", "place", "mend"),
    [
        ("auto", "$.exports[0].max_sort_size: ", "TMPDIR"),
        ("source", "$.exports[0].max_sort_size: ", "`sort: auto`"),
        ("rivet", "$.exports[0].sort: ", "`sort: source`"),
    ],
)
def test_a_sort_that_nobody_may_do_is_refused_with_its_size(wish: Wish, place: str, mend: str) -> None:
    """The key that decides, the estimate and the mend are named."""
    error = unsortable("$.exports[0]", wish, 5 * MB, free_bytes=7, max_sort_bytes=MB)

    assert str(error).startswith(f"{place}about 5,000,000 bytes would have to be sorted")
    assert mend in (error.hint or "")


def test_scans_without_an_index_are_warned_of_and_refused_when_they_are_many() -> None:
    """Each passes over the table: as far as the rows are few that is told, and beyond it refused."""
    at_most = passes_advice(10, MAX_ROWS_PASSED // 10, "day", "$.exports[0]")
    assert "each of 10 scans passes over all 1,000,000 rows" in at_most

    with pytest.raises(PlanError, match="10,000,010 in all, and at most 10,000,000") as refused:
        passes_advice(10, MAX_ROWS_PASSED // 10 + 1, "day", "$.exports[0]")
    assert (
        refused.value.hint
        == "create an index that leads with 'day', or set `scan: auto`, which reads all in one"
    )
    whole = Estimate(100)
    assert [is_passing(Estimate(cost), whole) for cost in (1, 50, 51, 120, None)] == [
        False,
        False,
        True,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("seconds", "pace", "rows", "told"),
    [
        (None, Pace(10.0, "run 'r'"), 1000, "max_scan_rows"),
        (60.0, None, 1000, "is not known yet"),
        (60.0, Pace(10.0, "run 'r'"), 600, "max_scan_seconds (60 s at 10 rows/s, by run 'r')"),
        (60.0, Pace(1e9, "run 'r'"), 1000, "max_scan_seconds would allow"),
        (0.001, Pace(10.0, "run 'r'"), 1, "max_scan_seconds (0.001 s"),
    ],
)
def test_seconds_become_rows_by_a_pace(
    seconds: float | None, pace: Pace | None, rows: int, told: str
) -> None:
    """Never more than max_scan_rows, never less than one; where the number comes from is told."""
    limit, why = rows_within(1000, seconds, pace)

    assert limit == rows
    assert told in why


def test_a_pace_is_learned_from_what_took_long_enough() -> None:
    """The last run's own measure, else its whole time, else the probe; nothing from moments or nonsense."""
    measured = pace_of_last_run({"reading": {"rows": 1000, "seconds": 2}}, "r")
    assert measured is not None
    assert (measured.rows_per_second, measured.learned_from) == (
        500.0,
        "run 'r', which read 1,000 rows in 2.0 s",
    )
    nonsense: list[dict[str, object]] = [
        {},
        {"reading": 5},
        {"reading": {"rows": 1000}},
        {"reading": {"rows": True, "seconds": 2.0}},
        {"reading": {"rows": 1000, "seconds": "2"}},
        {"reading": {"rows": 0, "seconds": 2.0}},
        {"reading": {"rows": 1000, "seconds": 0.01}},
        {"reading": {"rows": 1000, "seconds": -1.0}},
        {"reading": {"rows": 10**400, "seconds": 10**400}},
        {"reading": {"rows": 1000, "seconds": float("nan")}},
    ]
    assert [pace_of_last_run(extra, "r") for extra in nonsense] == [None] * len(nonsense)
    assert pace_of_whole_run(10, "yesterday", "today", "r") is None
    assert pace_of_probe(1000, 0.001) is None
    assert pace_of_probe(0, 10.0) is None


def test_a_scan_that_takes_too_long_is_told_of_with_the_mend() -> None:
    """Only where a pace is known and the time is over."""
    pace = Pace(100.0, "run 'r'")
    line = too_long(1001, 10, pace, where="$.exports[0]", mend="an index would help")

    assert line == (
        "$.exports[0].max_scan_seconds: the largest scan, 1,001 rows, takes about 10 s at 100 rows/s, by "
        "run 'r': an index would help"
    )
    assert too_long(1000, 10, pace, where="", mend="") is None
    assert too_long(1001, None, pace, where="", mend="") is None
    assert too_long(1001, 10, None, where="", mend="") is None


def test_the_order_of_a_table_is_told_by_its_correlation() -> None:
    """Near 1 and -1 it is an order, between them none, and unknown nothing."""
    assert order_told(0.95, "day") == "in the order of 'day'"
    assert order_told(-0.99, "day") == "in the reverse order of 'day'"
    assert order_told(0.9, "day") == "not in the order of 'day' (correlation 0.90)"
    assert order_told(None, "day") == ""
