"""Passes the rows of all scans on to a stager, partition after partition."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from rivet.errors import ColumnError
from rivet.export.chunk_keeping import ChunkTaker, Keeping, TakenChunk
from rivet.export.scan import Account, Shape, agree
from rivet.export.split import Splitter
from rivet.plan.layout import Partition
from rivet.plan.scans import Scan
from rivet.plan.selection import EVERYTHING, Selection
from rivet.plan.windows import Window
from rivet.source.protocol import Batches

Read = Callable[[Scan], AbstractContextManager[Batches]]
"""Reads a scan."""


class RowTaker(Protocol):
    """What takes the rows: the stager."""

    def write(self, partition: Partition, rows: pa.RecordBatch) -> None:
        """Take the next rows of a partition."""

    def end_partition(self) -> None:
        """End the partition under way."""

    def drop_partition(self) -> None:
        """Forget the partition under way."""


def run_scans(
    scans: Sequence[Scan],
    read: Read,
    taker: RowTaker,
    account: Account,
    *,
    shape: Shape,
    splitter: Splitter | None,
    partition_of: Callable[[Window | None], Partition],
    selection: Selection = EVERYTHING,
    alone: Callable[[Scan], Mapping[str, Scan] | None] = lambda _: None,
    on_rows: Callable[[int], None],
    on_passed: Callable[[], None],
    keeping: Keeping | None = None,
    first: int = 1,
    of: int | None = None,
) -> None:
    """Read all scans in order, cut them into partitions, and hand the rows to the taker.

    Args:
        account: Counts what comes through; of a partition that has ended it holds everything.
        splitter: Cuts batches into partitions; None without `partition_by`.
        selection: The rows of other windows are counted, and not taken.
        alone: Gives by path, in order, the partitions that a scan reads and a scan of each by itself; None
            where they cannot be read so. By it those that hold a value which does not fit fail alone.
        on_rows: Told the rows so far, after each batch.
        on_passed: Told whenever the scan has passed a partition, which has then ended in the taker.
        keeping: Chunks that are not read again, and the noting of others; None: no chunk is kept.
        first: Number of the first scan among all of the export, from 1, for people.
        of: Number of all of them, or None where they are given here.

    Raises:
        IntegrityError: A scan's rows are not those that the server said it sent, or that the probe
            counted; or the order went back.
        ColumnError: A value does not fit, and its partition cannot be read by itself.
    """
    passing = _Passing(taker, account, shape, splitter, partition_of, selection, on_rows, on_passed)
    left = deque(scans)
    while left:
        scan = left.popleft()
        if keeping is not None and (taken := keeping.keeper.taken(scan)) is not None:
            passing.take_over(scan, taken, keeping.line)
            continue
        what = f"scan {first - 1 + len(scans) - len(left)} of {of or len(scans)}"
        try:
            with read(scan) as batches:
                came = passing.take(scan, batches)
                sent = batches.server_rows
        except ColumnError as error:
            partitions = alone(scan)
            if partitions is None:
                raise
            left.extendleft(reversed(passing.go_back(scan, partitions, error)))
            continue
        agree(what, came, sent, "the server says it sent")
        if scan.expected_rows is not None:
            agree(what, sent, scan.expected_rows, "the probe counted")
        if keeping is not None and came:
            partition = passing.partition_of_scan(scan)
            noted = keeping.keeper.noted(scan, batches, partition, came, passing.marked)
            if noted is not None:
                keeping.line.end_chunk(noted)
    taker.end_partition()
    account.widen(None if splitter is None else splitter.span)


@dataclass(slots=True)
class _Passing:
    """The passing of rows into a taker.

    Attributes:
        current: Path of the partition under way in the taker, or None.
        marked: Rows of the last scan with a value that cannot be represented, by column.
    """

    taker: RowTaker
    account: Account
    shape: Shape
    splitter: Splitter | None
    partition_of: Callable[[Window | None], Partition]
    selection: Selection
    on_rows: Callable[[int], None]
    on_passed: Callable[[], None]
    current: str | None = None
    marked: Counter[str] = field(default_factory=Counter)

    def take(self, scan: Scan, batches: Batches) -> int:
        """Pass all rows of a scan on, and give their number."""
        came = 0
        self.marked = Counter()
        for batch in batches:
            start = 0
            for window, rows in self._runs(scan, self.shape.rows(batch)):
                partition = self.partition_of(window)
                self._reach(partition)
                marked = self.shape.marked(batch, start, rows.num_rows)
                self.account.add(partition.path, rows.num_rows, marked)
                start += rows.num_rows
                came += rows.num_rows
                self.marked.update(marked)
                if self.splitter is None or self.selection.holds(window):
                    self.current = partition.path
                    self.taker.write(partition, self.shape.written(rows))
                else:
                    self.account.left_out.add(partition.path)
            self.on_rows(self.account.rows)
        return came

    def take_over(self, scan: Scan, chunk: TakenChunk, line: ChunkTaker) -> None:
        """Pass on a chunk that is not read again."""
        partition = self.partition_of_scan(scan)
        self._reach(partition)
        self.account.add(partition.path, chunk.rows, chunk.marked)
        if self.splitter is not None:
            self.splitter.widen(chunk.span)
        self.current = partition.path
        line.take_over(partition, chunk)
        self.on_rows(self.account.rows)

    def partition_of_scan(self, scan: Scan) -> Partition:
        """Give the partition of a scan of one window."""
        start, splitter = scan.start, self.splitter
        return self.partition_of(None if start is None or splitter is None else splitter.window_of(start))

    def go_back(self, scan: Scan, partitions: Mapping[str, Scan], error: ColumnError) -> list[Scan]:
        """Forget the partition under way, and give the scans that are to be read in place of one that failed.

        A scan of one partition has none: that partition has failed.
        """
        if self.current is not None and self.current in partitions:
            self.taker.drop_partition()
            self.account.forget(self.current)
            self.current = None
        again = [one for path, one in partitions.items() if path not in self.account.by_path]
        if self.splitter is not None and again:
            self.splitter.go_back(again[0].start)
        if len(partitions) > 1:
            return again
        partition = self.partition_of_scan(scan)
        self.account.failed[partition.path] = partition, error
        return []

    def _reach(self, partition: Partition) -> None:
        """End the partition under way where another one follows."""
        if self.current is not None and partition.path != self.current:
            self.taker.end_partition()
            self.on_passed()
            self.current = None

    def _runs(self, scan: Scan, rows: pa.RecordBatch) -> Iterable[tuple[Window | None, pa.RecordBatch]]:
        """Cut rows into partitions; those of a chunk are of one."""
        if self.splitter is None:
            return [(None, rows)]
        if scan.chunk is None:
            return self.splitter.split(rows)
        return self.splitter.within(rows, None if scan.start is None else self.splitter.window_of(scan.start))
