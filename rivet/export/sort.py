"""Sorts a scan on this side: batches in any order in, the same rows in the order of one column out.

What comes is gathered into runs, each sorted in memory and cut into pieces that wait in a spill; then the
pieces are merged, a round of rows at a time. Memory holds one run, or one round and a piece of each run.

Rows of one value come by the primary key, where all of them fit one round, else in the order in which they
came. The same rows that came in the same order leave in the same order.
"""

from __future__ import annotations

import heapq
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self

import pyarrow as pa
import pyarrow.compute as pc

from rivet.export.spill import Kept, Spill
from rivet.source.protocol import Batches

RUN_BYTES = 16 * 1024**2
MEMORY_BYTES = 16 * 1024**2
# While runs are merged, one piece of each may be in memory that is only half used: all of them together are
# held to about as much as a run.
_PIECE_BYTES = 512 * 1024
_LEAST_PIECE_BYTES = 64 * 1024
_COLUMN_BYTES = 512
_HALF_USED_BYTES = 32 * 1024**2
_ROUND_BYTES = 12 * 1024**2
_WAKE_SECONDS = 0.5
_GRACE_SECONDS = 5.0

Key = tuple[bool, int]
"""A value of the column: whether it is NULL, and the number on its axis; NULL comes last."""

_BEYOND: Key = (True, 1)


@dataclass(frozen=True, slots=True)
class Order:
    """How rows are sorted: by a date, timestamp or instant column, ties by the columns of the primary key."""

    column: str
    ties: tuple[str, ...] = ()


class SortedBatches:
    """The batches of a scan, in order; see the protocol of batches.

    Entering begins to read at once, on a thread of its own, so that whoever goes on to ask the source other
    things loses no time.

    """

    def __init__(self, batches: Batches, order: Order) -> None:
        self._batches = batches
        self._order = order
        self._sorter: _Sorter | None = None
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
        if self._sorter is not None:
            yield from self._sorter.merged()

    @property
    def server_rows(self) -> int:
        """Give what the scan itself says."""
        return self._batches.server_rows

    def _gather(self) -> None:
        try:
            for batch in self._batches:
                if self._left.is_set():
                    return
                if self._sorter is None:
                    self._sorter = _Sorter(batch.schema, self._order)
                self._sorter.add(batch)
                self._rows += batch.num_rows
            if self._sorter is not None:
                self._sorter.end_run()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that takes the rows
            self._failure = error


def piece_bytes(runs: int, columns: int) -> int:
    """Choose the size of the next run's pieces, so that half used ones of all runs fit into memory.

    Each column of a piece takes some hundred bytes to describe, so that many ask for larger pieces.

    >>> piece_bytes(0, 12), piece_bytes(200, 12), piece_bytes(10_000, 12), piece_bytes(10_000, 1000)
    (524288, 166937, 65536, 512000)
    """
    least = max(_LEAST_PIECE_BYTES, columns * _COLUMN_BYTES)
    return max(least, min(_PIECE_BYTES, _HALF_USED_BYTES // (runs + 1)))


@dataclass(order=True, slots=True)
class _Piece:
    """Sorted rows of one run, none of which is in memory unless `rows` is set.

    Attributes:
        first: The key of its first row.
        number: Its place among all pieces, in the order in which their rows came.
        kept: The rows as the spill keeps them.
        rows: What is left of them, once they are taken from the spill.
    """

    first: Key
    number: int
    kept: Kept = field(compare=False)
    rows: pa.RecordBatch | None = field(default=None, compare=False)


class _Sorter:
    """Makes runs of batches, and merges them."""

    def __init__(self, schema: pa.Schema, order: Order) -> None:
        names = schema.names  # of those that repeat the first is the column, the other its marker
        self._column = names.index(order.column)
        kind = schema.field(self._column).type
        self._item: Literal["i", "q"] = "i" if kind.bit_width == 32 else "q"
        ties = [names.index(name) for name in order.ties if name != order.column]
        self._ties = [index for index in ties if _has_order(schema.field(index).type)]
        self._runs = 0
        self._spill = Spill(schema, MEMORY_BYTES)
        self._pending: list[pa.RecordBatch] = []
        self._pending_bytes = 0
        self._pieces: list[_Piece] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the next rows."""
        size = batch.nbytes
        if self._pending and self._pending_bytes + size > RUN_BYTES:
            self.end_run()
        self._pending.append(batch)
        self._pending_bytes += size

    def end_run(self) -> None:
        """Sort what is pending and keep it in pieces."""
        pending, self._pending, self._pending_bytes = self._pending, [], 0
        if not pending:
            return
        run = self._sorted(_joined(pending), ())
        rows = max(1, run.num_rows * piece_bytes(self._runs, run.num_columns) // max(1, run.nbytes))
        self._runs += 1
        for start in range(0, run.num_rows, rows):
            piece = run.slice(start, rows)
            self._pieces.append(_Piece(self._key(piece, 0), len(self._pieces), self._spill.keep(piece)))

    def merged(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows in order; call it once, after the last run has ended."""
        heapq.heapify(self._pieces)
        loaded: list[_Piece] = []
        while self._pieces or loaded:
            size = 0
            while self._pieces and size < _ROUND_BYTES:
                piece = heapq.heappop(self._pieces)
                size += self._load(piece).nbytes
                loaded.append(piece)
            end = self._pieces[0].first if self._pieces else _BEYOND
            ready = [rows for piece in sorted(loaded, key=_number) if (rows := self._cut(piece, end))]
            if ready:
                yield self._sorted(_joined(ready), self._ties)
            else:  # more rows than fit a round have one value
                yield from self._flood(loaded, end)
            loaded = [piece for piece in loaded if piece.rows is not None]

    def close(self) -> None:
        """Give the space of all rows back."""
        self._spill.close()

    def _flood(self, loaded: list[_Piece], value: Key) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one value, piece by piece; what is left of one joins the loaded ones."""
        beyond = (value[0], value[1] + 1)
        pieces = list(loaded)
        while self._pieces and self._pieces[0].first == value:
            pieces.append(heapq.heappop(self._pieces))
        for piece in sorted(pieces, key=_number):
            if piece.rows is None:
                self._load(piece)
                loaded.append(piece)
            rows = self._cut(piece, beyond)
            if rows is not None:
                yield rows
            if piece.rows is None:
                loaded.remove(piece)

    def _load(self, piece: _Piece) -> pa.RecordBatch:
        piece.rows = self._spill.take(piece.kept)
        return piece.rows

    def _cut(self, piece: _Piece, end: Key) -> pa.RecordBatch | None:
        """Take from a loaded piece the rows below a key, if there are any."""
        rows = piece.rows
        if rows is None:
            return None
        count = self._rows_below(rows, end)
        rest = rows.slice(count)
        piece.rows = rest if rest.num_rows else None
        return rows.slice(0, count) if count else None

    def _rows_below(self, rows: pa.RecordBatch, end: Key) -> int:
        values = rows.column(self._column)
        valid = len(values) - values.null_count
        is_null, number = end
        if is_null:
            return valid if end == (True, 0) else len(values)
        return bisect_left(self._numbers(values), number, 0, valid)

    def _key(self, rows: pa.RecordBatch, place: int) -> Key:
        values = rows.column(self._column)
        return (False, self._numbers(values)[place]) if values[place].is_valid else (True, 0)

    def _numbers(self, values: pa.Array) -> memoryview:
        return memoryview(values.buffers()[1]).cast(self._item)[values.offset : values.offset + len(values)]

    def _sorted(self, rows: pa.RecordBatch, ties: Sequence[int]) -> pa.RecordBatch:
        """Give rows in order, in one piece; those of one key stay as they stand, and NULL comes last."""
        keys = [rows.column(index) for index in (self._column, *ties)]
        names = [str(place) for place in range(len(keys))]  # those of the rows may repeat
        order = pc.sort_indices(pa.record_batch(keys, names), [(name, "ascending") for name in names])
        narrow = order.cast(pa.uint32())  # half as many bytes to read again for each column
        taken = [pc.take(column, narrow, boundscheck=False) for column in rows.columns]
        return pa.record_batch(taken, schema=rows.schema)


def _number(piece: _Piece) -> int:
    return piece.number


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Make one batch of several, and forget them: what they are cut from is as large again."""
    joined = pa.concat_batches(batches)
    batches.clear()
    return joined


_ORDERED: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_boolean,
    pa.types.is_temporal,
    pa.types.is_string,
    pa.types.is_binary,
)


def _has_order(kind: pa.DataType) -> bool:
    """Tell whether Arrow can sort by a type; a tie that it cannot sort by is left out."""
    return any(test(kind) for test in _ORDERED) and not pa.types.is_duration(kind)
