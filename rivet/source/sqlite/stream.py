"""The rows of one statement as the driver hands them over, read one step ahead of their consumer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self

import adbc_driver_sqlite.dbapi
import pyarrow as pa

from rivet.errors import SourceUnavailable
from rivet.source.sqlite.thread import DriverThread
from rivet.source.waiting import result_of

# A step reads the driver's batches until they hold so much; a driver's batch may be a single row.
_STEP_BYTES = 2 * 1024**2
_STEP_ROWS = 65_536


class RowStream:
    """The rows of one statement, as a table for each step; leaving the context ends the statement.

    The statement's first row is none of the source's. The driver takes each column's type from its first
    batch, and a NULL there for an integer; this row tells it, and shows that the statement began to answer.
    """

    def __init__(
        self, thread: DriverThread, cursor: Callable[[], adbc_driver_sqlite.dbapi.Cursor], statement: str
    ) -> None:
        self._thread = thread
        self._open = cursor
        self._statement = statement
        self._cursor: adbc_driver_sqlite.dbapi.Cursor | None = None
        self._batches: Iterator[pa.RecordBatch] = iter(())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.submit(self._close)

    def __iter__(self) -> Iterator[pa.Table]:
        ahead = self._thread.submit(self._first_step)
        while (step := result_of(ahead, self._thread.must_live)) is not None:
            ahead = self._thread.submit(self._step)
            if step.num_rows:
                yield step

    def _first_step(self) -> pa.Table:
        self._cursor = self._open()
        self._cursor.execute(self._statement)
        self._batches = iter(self._cursor.fetch_record_batch())
        step = self._step()
        if step is None:
            raise SourceUnavailable("the database ended the data before its first row")
        return step.slice(1)

    def _step(self) -> pa.Table | None:
        """Read on, or give None at the end of data, which SQLite itself has then told."""
        batches: list[pa.RecordBatch] = []
        size = rows = 0
        while size < _STEP_BYTES and rows < _STEP_ROWS and (batch := next(self._batches, None)) is not None:
            batches.append(batch)
            size += batch.nbytes
            rows += batch.num_rows
        if not batches:
            return None
        # Each column in one piece; a table of one batch is that already, and is not copied.
        table = pa.Table.from_batches(batches)
        return table if len(batches) == 1 else table.combine_chunks()

    def _close(self) -> None:
        self._batches = iter(())
        if self._cursor is not None:
            self._cursor.close()
