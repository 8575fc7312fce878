"""A source over rows in memory that can be told to lie, for faults that no real server shows on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

import pyarrow as pa

from rivet.errors import SourceUnavailable
from rivet.plan.scans import Reach, Scan, WindowCount
from rivet.plan.schema import Column, ColumnType, Kind
from rivet.plan.windows import Axis
from rivet.source.arrow import arrow_schema
from rivet.source.protocol import Probe, Relation, Request

COLUMNS = (
    Column("day", ColumnType(Kind.DATE), "date"),
    Column("row", ColumnType(Kind.INT64), "bigint"),
)


@dataclass(frozen=True)
class Fault:
    """What the source gets wrong.

    Attributes:
        cut_after: Rows after which a stream breaks off with an error.
        hidden: Rows at the end that never come, while the server's count says they did.
        uncounted: Rows that the probe saw and no scan gives, nor the server's count.
        swap: Whether the first two rows change places.
    """

    cut_after: int | None = None
    hidden: int = 0
    uncounted: int = 0
    swap: bool = False


NO_FAULT = Fault()


class FakeSource:
    """One table of days and row numbers; None stands for NULL, and comes last."""

    label = "a fake"
    engine = "postgres"

    def __init__(self, days: Sequence[int | None], fault: Fault = NO_FAULT) -> None:
        self._days = sorted(d for d in days if d is not None) + [d for d in days if d is None]
        self._fault = fault

    @contextmanager
    def session(self) -> Iterator[FakeSource]:
        """Give the source itself: it is its own snapshot."""
        yield self

    def describe(self, request: Request) -> Relation:
        """Describe the one table."""
        return Relation("fake", COLUMNS, table=request.table, indexed=frozenset({"day"}))

    def probe(self, relation: Relation, column: Column | None) -> Probe:
        """Count what is there, and what never comes."""
        days = [d for d in self._days if d is not None]
        rows = len(self._days) + self._fault.uncounted
        nulls = len(self._days) - len(days)
        return Probe(rows, nulls, 0, days[0] if days else None, days[-1] if days else None)

    def count_windows(
        self, relation: Relation, column: Column, axis: Axis, span: tuple[int, int] | None = None
    ) -> list[WindowCount]:
        """Count the days."""
        counts: dict[int, WindowCount] = {}
        for day in (d for d in self._days if d is not None):
            window = axis.window_of(day)
            before = counts.get(window.start, WindowCount(window.start, window.end, window.label, 0))
            counts[window.start] = replace(before, rows=before.rows + 1)
        return list(counts.values())

    def sort_bytes(self, relation: Relation, column: Column | None, scan: Scan) -> int:
        """Sort nothing."""
        return 0

    def read(
        self, relation: Relation, columns: Sequence[Column], column: Column | None, scan: Scan
    ) -> FakeBatches:
        """Give the rows of a scan, three to a batch."""
        rows = [(d, i) for i, d in enumerate(self._days) if _in_scan(d, scan)]
        if self._fault.swap:
            rows[:2] = reversed(rows[:2])
        return FakeBatches(rows, self._fault)


class FakeBatches:
    """The batches of one scan, with the fault in them."""

    def __init__(self, rows: list[tuple[int | None, int]], fault: Fault) -> None:
        self._rows = rows
        self._fault = fault

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(COLUMNS)
        rows = self._rows[: len(self._rows) - self._fault.hidden]
        for start in range(0, len(rows), 3):
            if self._fault.cut_after is not None and start >= self._fault.cut_after:
                raise SourceUnavailable("the server closed the connection in mid-stream")
            days, numbers = zip(*rows[start : start + 3], strict=True)
            arrays = [pa.array(days, pa.int32()).cast(pa.date32()), pa.array(numbers, pa.int64())]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    @property
    def server_rows(self) -> int:
        """Claim to have sent every row."""
        return len(self._rows)


def _in_scan(day: int | None, scan: Scan) -> bool:
    if scan.reach is Reach.EVERYTHING:
        return True
    if scan.reach is Reach.NULLS:
        return day is None
    return day is not None and (scan.start or 0) <= day < (scan.end or 0)
