"""Rows of windows in a zone, counted by a server that knows no zones."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet.plan.calendar import MICROSECONDS_PER_DAY, Granularity
from rivet.plan.scans import counts_of_pieces
from rivet.plan.schema import Kind
from rivet.plan.windows import Axis
from tests.plan.zones import BACKWARDS, YEARS, ZONES, instant, instants


@given(
    st.sampled_from([*ZONES, *BACKWARDS]).flatmap(
        lambda z: st.tuples(st.just(z), st.lists(instants(z), min_size=1, max_size=40))
    ),
    st.sampled_from(list(Granularity)),
    st.booleans(),
)
def test_rows_counted_by_pieces_of_days_add_up_to_windows(
    drawn: tuple[str, list[int]], granularity: Granularity, span_known: bool
) -> None:
    """What a server counts by whole days less each edge becomes the rows of each window."""
    zone, values = drawn
    axis = Axis(Kind.INSTANT, granularity, zone)
    span = (min(values), max(values)) if span_known else None
    edges = axis.day_edges(span)
    pieces = Counter(sum((v - e * 1_000_000) // MICROSECONDS_PER_DAY for e in edges) for v in values)
    counted = counts_of_pieces(sorted(pieces.items()), axis, edges, span)

    assert {c.label: c.rows for c in counted} == Counter(axis.window_of(v).label for v in values)
    assert [c.start for c in counted] == sorted({axis.window_of(v).start for v in values})


@pytest.mark.parametrize("zone", [*ZONES, *BACKWARDS])
def test_a_day_has_few_pieces(zone: str) -> None:
    """One row of year 1 among those of a year adds at most some pieces to each day."""
    axis = Axis(Kind.INSTANT, Granularity.DAY, zone)

    assert len(axis.day_edges((instant("2023-01-01"), instant("2023-12-31")))) <= 2
    assert len(axis.day_edges(YEARS)) <= 12


def test_days_cost_nothing_where_there_is_no_zone() -> None:
    """Dates, naive timestamps and UTC are counted by the day alone, whatever zone the config names."""
    for axis in (
        Axis(Kind.DATE, Granularity.DAY, "Asia/Tokyo"),
        Axis(Kind.TIMESTAMP, Granularity.DAY, "Asia/Tokyo"),
    ):
        assert axis.day_edges(None) == (0,)
        assert axis.timezone is None
        assert axis.window_of(0).start == 0
    assert Axis(Kind.INSTANT, Granularity.DAY).day_edges(YEARS) == (0,)
