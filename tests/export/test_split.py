"""Splitting ordered batches at window edges."""

from __future__ import annotations

from itertools import groupby

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet.errors import IntegrityError
from rivet.export.split import Splitter
from rivet.plan.calendar import MICROSECONDS_PER_DAY, Granularity
from rivet.plan.schema import Kind
from rivet.plan.windows import Axis

TYPES = {
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.INSTANT: pa.timestamp("us", tz="UTC"),
}


def _batches(kind: Kind, values: list[int | None], sizes: list[int]) -> list[pa.RecordBatch]:
    raw = pa.array(values, pa.int32() if kind is Kind.DATE else pa.int64()).cast(TYPES[kind])
    whole = pa.record_batch({"at": raw, "row": pa.array(range(len(values)))})
    cuts = 0
    batches: list[pa.RecordBatch] = []
    while cuts < len(values):
        size = sizes[len(batches) % len(sizes)]
        batches.append(whole.slice(cuts, size))
        cuts += size
    return batches


@given(
    st.sampled_from(list(TYPES)),
    st.sampled_from(list(Granularity)),
    st.lists(st.integers(-800_000, 2_900_000), max_size=60),
    st.integers(0, 5),
    st.sampled_from(["first", "last"]),
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
)
def test_every_row_comes_out_once_in_its_own_window(
    kind: Kind, granularity: Granularity, days: list[int], nulls: int, place: str, sizes: list[int]
) -> None:
    """Runs hold all rows in order, each within its window, whatever the batch sizes and where NULLs stand."""
    axis = Axis(kind, granularity)
    unit = 1 if kind is Kind.DATE else MICROSECONDS_PER_DAY
    dated: list[int | None] = [*sorted(d * unit for d in days)]
    gap: list[int | None] = [None] * nulls
    values = gap + dated if place == "first" else dated + gap
    splitter = Splitter(axis, "at")
    runs = [run for batch in _batches(kind, values, sizes) for run in splitter.split(batch)]
    seen: list[tuple[str | None, int]] = []
    for window, rows in runs:
        assert rows.num_rows
        seen += [(None if window is None else window.label, row) for row in rows.column("row").to_pylist()]
    wanted = [(None if v is None else axis.window_of(v).label, i) for i, v in enumerate(values)]

    assert seen == wanted
    labels = [label for label, _ in groupby(seen, key=lambda s: s[0])]
    assert len(labels) == len(set(labels))


@pytest.mark.parametrize(
    "values",
    [
        [2, 1],
        [1, 2, 3, 2],
        [1, None, 2],
        [None, 1, None],
        [1, 2, None, None, 3],
        [None, 1, 2, None],
    ],
)
@pytest.mark.parametrize("size", [1, 2, 10])
def test_an_order_that_goes_back_is_refused(values: list[int | None], size: int) -> None:
    """Values that go back, or NULLs in two places, stop the export, inside a batch and between batches."""
    splitter = Splitter(Axis(Kind.DATE, Granularity.DAY), "at")

    with pytest.raises(IntegrityError, match="did not keep the order of column 'at'"):
        [run for batch in _batches(Kind.DATE, values, [size]) for run in splitter.split(batch)]
