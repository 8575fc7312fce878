"""A source over rows in memory that can be told to lie, for faults that no real server shows on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

import pyarrow as pa

from rivet.errors import SourceUnavailable
from rivet.plan.cursor import Cursor, CursorValue, Touched
from rivet.plan.estimate import Estimate
from rivet.plan.scans import Reach, Scan, Sorter, WindowCount
from rivet.plan.schema import Column, ColumnType, Kind
from rivet.plan.selection import Selection
from rivet.plan.sorting import Detour
from rivet.plan.windows import Axis
from rivet.source.arrow import arrow_schema
from rivet.source.protocol import Chunking, Probe
from rivet.source.relation import Relation, Request

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
        unmarked: Whether unrepresentable days come as plain NULL.
    """

    cut_after: int | None = None
    hidden: int = 0
    uncounted: int = 0
    swap: bool = False
    unmarked: bool = False


NO_FAULT = Fault()


INFINITY = float("inf")
Day = int | float | None


class FakeSource:
    """One table of days and row numbers; None stands for NULL, and comes last, before it infinity.

    Every third row number is one that its column cannot hold, where `odd` says so.
    """

    label = "a fake"
    engine = "postgres"
    reads_while_asked = False
    advised_sorter = Sorter.SOURCE

    def __init__(self, days: Sequence[Day], fault: Fault = NO_FAULT, *, odd: bool = False) -> None:
        self._days = sorted(d for d in days if d is not None) + [d for d in days if d is None]
        self._fault = fault
        self._odd = odd
        self.asked: list[Request] = []

    @contextmanager
    def session(self) -> Iterator[FakeSource]:
        """Give the source itself: it is its own snapshot."""
        yield self

    @property
    def chunking(self) -> Chunking:
        """Refuse: no fault of chunks is told here."""
        raise NotImplementedError

    def describe(self, request: Request) -> Relation:
        """Describe the one table."""
        self.asked.append(request)
        return Relation("fake", COLUMNS, table=request.table, indexed=frozenset({"day"}))

    def probe(self, relation: Relation, column: Column | None) -> Probe:
        """Count what is there, and what never comes."""
        days = [d for d in self._days if isinstance(d, int)]
        rows = len(self._days) + self._fault.uncounted
        odd = {"day": self._days.count(INFINITY), "row": len(self._days[::3]) if self._odd else 0}
        found = Probe(rows, unrepresentable=tuple((name, count) for name, count in odd.items() if count))
        if column is None:
            return found
        minimum, maximum = (days[0], days[-1]) if days else (None, None)
        return replace(
            found,
            null_rows=self._days.count(None),
            unrepresentable_rows=odd["day"],
            minimum=minimum,
            maximum=maximum,
        )

    def count_windows(
        self, relation: Relation, column: Column, axis: Axis, span: tuple[int, int] | None = None
    ) -> list[WindowCount]:
        """Count the days."""
        counts: dict[int, WindowCount] = {}
        for day in (d for d in self._days if isinstance(d, int)):
            window = axis.window_of(day)
            before = counts.get(window.start, WindowCount(window.start, window.end, window.label, 0))
            counts[window.start] = replace(before, rows=before.rows + 1)
        return list(counts.values())

    def narrowed(self, relation: Relation, column: Column, selection: Selection) -> Relation:
        """Know of no other rows than all."""
        raise NotImplementedError

    def weighed(self, relation: Relation, max_sort_bytes: int) -> Relation:
        """Give it as it is."""
        return relation

    def census(self, relation: Relation, column: Column, axis: Axis) -> tuple[list[WindowCount], int]:
        """Count the days, and the rest."""
        counts = self.count_windows(relation, column, axis)
        return counts, len(self._days) - sum(c.rows for c in counts)

    def span(self, relation: Relation, column: Column) -> tuple[int, int] | None:
        """Find the first and the last day."""
        return self.probe(relation, column).span

    def touched(
        self, relation: Relation, column: Column, axis: Axis, cursor: Cursor, since: CursorValue | None
    ) -> Touched:
        """Know of no changes."""
        raise NotImplementedError

    def now(self, kind: Kind) -> int:
        """Know of no time."""
        raise NotImplementedError

    def estimate(self, relation: Relation, column: Column | None, scan: Scan) -> Estimate:
        """Think nothing."""
        return Estimate()

    def sort_bytes(self, relation: Relation, column: Column | None, scan: Scan) -> int:
        """Sort nothing."""
        return 0

    def detour(self, relation: Relation, column: Column | None, scan: Scan) -> Detour | None:
        """Know of none."""
        return None

    def read(
        self, relation: Relation, columns: Sequence[Column], column: Column | None, scan: Scan
    ) -> FakeBatches:
        """Give the rows of a scan, three to a batch."""
        rows = [(d, i) for i, d in enumerate(self._days) if _in_scan(d, scan)]
        if self._fault.swap:
            rows[:2] = reversed(rows[:2])
        return FakeBatches(rows, relation.nulled, self._fault)


class FakeBatches:
    """The batches of one scan, with the fault in them."""

    def __init__(self, rows: list[tuple[Day, int]], nulled: frozenset[str], fault: Fault) -> None:
        self._rows = rows
        self._nulled = nulled
        self._fault = fault

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(COLUMNS)
        for name in (c.name for c in COLUMNS if c.name in self._nulled):
            schema = schema.append(pa.field(name, pa.bool_()))
        rows = self._rows[: len(self._rows) - self._fault.hidden]
        for start in range(0, len(rows), 3):
            if self._fault.cut_after is not None and start >= self._fault.cut_after:
                raise SourceUnavailable("the server closed the connection in mid-stream")
            days, numbers = zip(*rows[start : start + 3], strict=True)
            odd_days = [d == INFINITY for d in days]
            odd_rows = ["row" in self._nulled and n % 3 == 0 for n in numbers]
            known = [d if isinstance(d, int) else None for d in days]
            shown = [None if odd else n for n, odd in zip(numbers, odd_rows, strict=True)]
            arrays = [pa.array(known, pa.int32()).cast(pa.date32()), pa.array(shown, pa.int64())]
            if "day" in self._nulled:
                arrays.append(pa.array([odd and not self._fault.unmarked for odd in odd_days], pa.bool_()))
            if "row" in self._nulled:
                arrays.append(pa.array(odd_rows, pa.bool_()))
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    @property
    def server_rows(self) -> int:
        """Claim to have sent every row."""
        return len(self._rows)


def _in_scan(day: Day, scan: Scan) -> bool:
    if scan.reach is Reach.EVERYTHING:
        return True
    if scan.reach is Reach.NULLS:
        return not isinstance(day, int)
    return isinstance(day, int) and (scan.start or 0) <= day < (scan.end or 0)
