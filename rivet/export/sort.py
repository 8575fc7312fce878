"""Sorts a scan on this side: batches in any order in, the same rows in the order of one column out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rivet.export.memory import give_back
from rivet.export.order import Order
from rivet.source.protocol import Batches

if TYPE_CHECKING:
    import pyarrow as pa

    from rivet.export.sorter import Sorter

_WAKE_SECONDS = 0.5
_GRACE_SECONDS = 5.0


class SortedBatches:
    """The batches of a scan, in order; see the protocol of batches.

    Entering begins to read at once, on a thread of its own, so that whoever goes on to ask the source other
    things loses no time.
    """

    def __init__(self, batches: Batches, order: Order) -> None:
        self._batches = batches
        self._order = order
        self._sorter: Sorter | None = None
        self._failure: BaseException | None = None
        self._left = threading.Event()
        self._rows = 0
        self.on_read: Callable[[int], None] = lambda _rows: None
        self._thread = threading.Thread(target=self._gather, name="rivet-sort", daemon=True)

    def __enter__(self) -> Self:
        self._batches.__enter__()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left.set()
        try:
            self._batches.__exit__(kind, error, trace)
        finally:
            # Not for ever: of some drivers no call can be interrupted. What it holds goes with the process.
            self._thread.join(_GRACE_SECONDS)
            if self._sorter is not None and not self._thread.is_alive():
                self._sorter.close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while self._thread.is_alive():
            self._thread.join(_WAKE_SECONDS)  # not for ever: an interrupt must get through
            self.on_read(self._rows)
        if self._failure is not None:
            raise self._failure
        give_back()
        if self._sorter is not None:
            yield from self._sorter.merged()

    @property
    def server_rows(self) -> int:
        """Give what the scan itself says."""
        return self._batches.server_rows

    def _gather(self) -> None:
        try:
            from rivet.export.sorter import Sorter  # loads NumPy while the source begins to send

            with ThreadPoolExecutor(1, "rivet-order") as sorting:
                for batch in self._batches:
                    if self._left.is_set():
                        return
                    if self._sorter is None:
                        self._sorter = Sorter(batch.schema, self._order, sorting)
                    self._sorter.add(batch)
                    self._rows += batch.num_rows
                if self._sorter is not None:
                    self._sorter.finish()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that takes the rows
            self._failure = error
