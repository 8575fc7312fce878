"""Sorts a scan on this side: batches in any order in, the same rows in the order of one column out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rivet.export.memory import give_back
from rivet.export.order import Extent, Order
from rivet.source.protocol import Batches

if TYPE_CHECKING:
    import pyarrow as pa

    from rivet.export.sorter import Sorter

_WAKE_SECONDS = 0.5
_GRACE_SECONDS = 5.0


class SortedBatches:
    """The batches of a scan, in order; see the protocol of batches.

    Entering begins to read at once, on threads of its own, so that whoever goes on to ask the source other
    things loses no time.

    Args:
        beside: Further parts of the same scan, read side by side: rows of one value come in the order of the
            parts.
        on_end: Told on leaving what was put into temporary files, in bytes.
    """

    def __init__(
        self,
        batches: Batches,
        order: Order,
        beside: Sequence[Batches] = (),
        on_end: Callable[[int], None] = lambda _bytes: None,
    ) -> None:
        self._left = threading.Event()
        parts = (batches, *beside)
        self._gatherers = [_Gatherer(part, order, len(parts), self._left) for part in parts]
        self._scans = ExitStack()
        self._on_end = on_end
        self.on_read: Callable[[int], None] = lambda _rows: None

    def __enter__(self) -> Self:
        with ExitStack() as entered:
            for gatherer in self._gatherers:
                entered.enter_context(gatherer.batches)
            self._scans = entered.pop_all()
        for gatherer in self._gatherers:
            gatherer.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left.set()
        self._on_end(sum(g.sorter.temporary_bytes for g in self._gatherers if g.sorter is not None))
        try:
            self._scans.__exit__(kind, error, trace)
        finally:
            for gatherer in self._gatherers:
                gatherer.end()

    def gather(self) -> None:
        """Wait until all rows are in, each of them decoded.

        Raises:
            RivetError: As reading does.
        """
        while (waiting := [g for g in self._gatherers if g.thread.is_alive()]) and not self._failures:
            waiting[0].thread.join(_WAKE_SECONDS)  # not for ever: an interrupt must get through
            self.on_read(sum(g.rows for g in self._gatherers))
        if self._failures:
            raise self._failures[0]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        self.gather()
        give_back()
        sorters = [g.sorter for g in self._gatherers if g.sorter is not None]
        if sorters:
            sorters[0].join(sorters[1:])
            yield from sorters[0].merged()

    @property
    def server_rows(self) -> int:
        """Give what the scan itself says."""
        return sum(g.batches.server_rows for g in self._gatherers)

    @property
    def extent(self) -> Extent:
        """Give what the rows hold in the column by which they are sorted; only after they are all in."""
        return sum((g.sorter.extent for g in self._gatherers if g.sorter is not None), Extent())

    @property
    def _failures(self) -> list[BaseException]:
        return [g.failure for g in self._gatherers if g.failure is not None]


class _Gatherer:
    """A thread that makes sorted runs of what one connection reads."""

    def __init__(self, batches: Batches, order: Order, sorters: int, left: threading.Event) -> None:
        self.batches = batches
        self.sorter: Sorter | None = None
        self.failure: BaseException | None = None
        self.rows = 0
        self._order = order
        self._sorters = sorters
        self._left = left
        self.thread = threading.Thread(target=self._gather, name="rivet-sort", daemon=True)

    def end(self) -> None:
        """Wait for the thread, and give the space of its rows back.

        Not for ever: of some drivers no call can be interrupted. What it holds goes with the process.
        """
        self.thread.join(_GRACE_SECONDS)
        if self.sorter is not None and not self.thread.is_alive():
            self.sorter.close()

    def _gather(self) -> None:
        try:
            from rivet.export.sorter import Sorter  # loads NumPy while the source begins to send

            with ThreadPoolExecutor(1, "rivet-order") as sorting:
                for batch in self.batches:
                    if self._left.is_set():
                        return
                    if self.sorter is None:
                        self.sorter = Sorter(batch.schema, self._order, sorting, self._sorters)
                    self.sorter.add(batch)
                    self.rows += batch.num_rows
                if self.sorter is not None:
                    self.sorter.finish()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that takes the rows
            self.failure = error
