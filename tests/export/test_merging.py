"""Rows of parts are compared exactly, however they are cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from rivet.export.merging import are_same

NAN = float("nan")
ROWS: dict[str, Any] = {
    "n": pa.array([1, None, 3, 4, 5], pa.int64()),
    "x": pa.array([0.5, NAN, None, 0.0, -0.0], pa.float64()),
    "names": pa.array(["a", "", None, "d", "é"], pa.string()),
    "lists": pa.array([[1.0, NAN], [], None, [None], [0.0]], pa.list_(pa.float32())),
    "at": pa.array([0, None, -1, 2, 3], pa.timestamp("us", "UTC")),
}


def _cut(table: pa.Table, size: int) -> Iterator[pa.RecordBatch]:
    return iter(table.combine_chunks().to_batches(max_chunksize=size))


@pytest.mark.parametrize(("ours", "theirs"), [(5, 1), (2, 3), (1, 5), (5, 5)])
def test_the_same_rows_are_the_same_in_any_pieces(ours: int, theirs: int) -> None:
    """What is no number is itself, and pieces may end anywhere."""
    table = pa.table(ROWS)

    assert are_same(_cut(table, ours), _cut(table, theirs))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n", [1, None, 3, 4, 6]),
        ("n", [1, 0, 3, 4, 5]),
        ("x", [0.5, NAN, None, 0.0, 0.0]),
        ("names", ["a", None, None, "d", "é"]),
        ("lists", [[1.0, NAN], None, None, [None], [0.0]]),
        ("lists", [[1.0, NAN], [], None, [None], [-0.0]]),
        ("at", [0, None, -1, 3, 2]),
    ],
)
def test_a_value_that_differs_is_found(name: str, values: list[Any]) -> None:
    """NULL is no value, a sign of zero is one, and the order counts."""
    table = pa.table(ROWS)
    other = pa.table({**ROWS, name: pa.array(values, ROWS[name].type)})

    assert not are_same(_cut(table, 2), _cut(other, 3))


def test_a_row_too_few_or_too_many_is_found() -> None:
    """At the end of either side, and where one has none at all; so is another type."""
    table = pa.table(ROWS)
    for ours, theirs in ((table, table[:4]), (table[:4], table), (table, table[:0]), (table[:0], table)):
        assert not are_same(_cut(ours, 2), _cut(theirs, 3))
    assert are_same(_cut(table[:0], 1), _cut(table[:0], 1))
    narrow = table.set_column(0, "n", table["n"].cast(pa.int32()))
    assert not are_same(_cut(table, 2), _cut(narrow, 2))
