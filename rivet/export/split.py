"""Cuts ordered batches at window edges with vectorised code, and refuses an order that goes back.

Pure: it decides from the values in a batch and what it saw before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from rivet.errors import IntegrityError
from rivet.plan.schema import Kind
from rivet.plan.windows import Axis, Window


class Splitter:
    """Splits the batches of one export, scan after scan, into runs of rows of one partition.

    Rows come ordered by the partition column; NULL rows stand together, once, at any end of a scan.
    """

    def __init__(self, axis: Axis, column: str) -> None:
        self._axis = axis
        self._column = column
        self._item: Literal["i", "q"] = "i" if axis.kind is Kind.DATE else "q"
        self._last: int | None = None
        self._first: int | None = None
        self._last_was_null = False
        self._nulls_seen = False

    @property
    def span(self) -> tuple[int, int] | None:
        """Give the first and the last value seen, both closed, or None where there was none."""
        return None if self._first is None or self._last is None else (self._first, self._last)

    def window_of(self, value: int) -> Window:
        """Give the window that holds a value."""
        return self._axis.window_of(value)

    def go_back(self, value: int | None) -> None:
        """Take rows from a value on once more, since what came of them is forgotten; None: the NULL rows."""
        if value is not None and self._last is not None:
            self._last = min(self._last, value)

    def widen(self, span: tuple[int, int] | None) -> None:
        """Take note of the values of rows that do not pass here, both closed; None: they have none."""
        if span is not None:
            self._first = span[0] if self._first is None else min(self._first, span[0])
            self._last = span[1] if self._last is None else max(self._last, span[1])

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[Window | None, pa.RecordBatch]]:
        """Yield each run of rows with its window; None is the NULL partition.

        Raises:
            IntegrityError: If the order of the rows goes back.
        """
        values = batch.column(self._column)
        nulls = values.null_count
        if not nulls:
            yield from self._split_values(batch, values)
            return
        if not values[0].is_valid:
            leading, rest = batch.slice(0, nulls), batch.slice(nulls)
            yield self._null_run(leading)
            if rest.num_rows:
                yield from self._split_values(rest, rest.column(self._column))
            return
        first, trailing = batch.slice(0, len(batch) - nulls), batch.slice(len(batch) - nulls)
        yield from self._split_values(first, first.column(self._column))
        yield self._null_run(trailing)

    def within(
        self, batch: pa.RecordBatch, window: Window | None
    ) -> Iterator[tuple[Window | None, pa.RecordBatch]]:
        """Yield the rows of a chunk, which all lie in one window, in any order; None is the NULL partition.

        Raises:
            IntegrityError: They lie elsewhere.
        """
        values = batch.column(self._column)
        if window is None:
            if values.null_count != len(values):
                raise self._out_of_order("rows of the NULL partition have a value")
        else:
            ends = pc.min_max(values)
            least, most = ends["min"].value, ends["max"].value
            if values.null_count or least < window.start or most >= window.end:
                raise self._out_of_order(f"rows of {window.label!r} lie in another window")
            self.widen((least, most))
        yield window, batch

    def _null_run(self, rows: pa.RecordBatch) -> tuple[None, pa.RecordBatch]:
        again = self._nulls_seen and not self._last_was_null
        if again or rows.column(self._column).null_count != len(rows):
            raise self._out_of_order("NULL rows stand in more than one place")
        self._last_was_null = self._nulls_seen = True
        return None, rows

    def _split_values(
        self, batch: pa.RecordBatch, values: pa.Array
    ) -> Iterator[tuple[Window | None, pa.RecordBatch]]:
        if values.null_count or (self._last_was_null and self._last is not None):
            raise self._out_of_order("NULL rows stand between others")
        self._last_was_null = False
        numbers = memoryview(values.buffers()[1]).cast(self._item)[
            values.offset : values.offset + len(values)
        ]
        if self._last is not None and numbers[0] < self._last:
            raise self._out_of_order(
                f"{self._axis.format(numbers[0])!r} follows {self._axis.format(self._last)!r}"
            )
        if len(values) > 1 and not pc.all(pc.greater_equal(values[1:], values[:-1])).as_py():
            raise self._out_of_order("a value follows a larger one inside a batch")
        self._first = numbers[0] if self._first is None else self._first
        self._last = numbers[-1]
        start = 0
        while start < len(numbers):
            window = self._axis.window_of(numbers[start])
            end = bisect_left(numbers, window.end, lo=start)
            yield window, batch.slice(start, end - start)
            start = end

    def _out_of_order(self, seen: str) -> IntegrityError:
        return IntegrityError(
            f"the source did not keep the order of column {self._column!r}: {seen}",
            hint="run the export again; if it fails again, report it with the query",
        )
