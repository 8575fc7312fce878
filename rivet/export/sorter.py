"""Makes sorted runs of batches, keeps them in pieces, and merges them.

What comes is gathered into runs, each sorted in memory unless it came in order, and cut into pieces that wait
in a spill; then the pieces are merged, a round of rows at a time. Memory holds two runs, or one round and a
piece of each run.

Rows of one value come by the primary key, where all of them fit one round, else in the order in which they
came. The same rows that came in the same order leave in the same order.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rivet.export.order import Extent, Order
from rivet.export.ranking import is_in_order, places_in_order
from rivet.export.spill import Kept, Spill

RUN_BYTES = 16 * 1024**2
MEMORY_BYTES = 16 * 1024**2
# While runs are merged, one piece of each may be in memory that is only half used: all of them together are
# held to about as much as a run.
_PIECE_BYTES = 512 * 1024
_LEAST_PIECE_BYTES = 64 * 1024
_COLUMN_BYTES = 512
_HALF_USED_BYTES = 32 * 1024**2
_ROUND_BYTES = 12 * 1024**2
# Rows that come in order are kept as they come, from this size on, even if others come then.
_LEAST_RUN_BYTES = 8 * 1024**2
# Of rows so large, no others are gathered while they are sorted.
_LARGE_BATCH_BYTES = 4 * 1024**2

Key = tuple[bool, int]
"""A value of the column: whether it is NULL, and the number on its axis; NULL comes last."""

_BEYOND: Key = (True, 1)


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
        spill: The spill.
        rows: What is left of them, once they are taken from the spill.
    """

    first: Key
    number: int
    kept: Kept = field(compare=False)
    spill: Spill = field(compare=False)
    rows: pa.RecordBatch | None = field(default=None, compare=False)


class Sorter:
    """Makes runs of batches, and merges them.

    Args:
        sorting: Sorts each run while the next one is gathered; it has one thread.
        sorters: How many there are of its kind, which share memory until they are joined.
    """

    def __init__(
        self, schema: pa.Schema, order: Order, sorting: ThreadPoolExecutor, sorters: int = 1
    ) -> None:
        self._sorting = sorting
        self._sorters = sorters
        self._run: Future[None] | None = None
        names = schema.names  # of those that repeat the first is the column, the other its marker
        self._column = names.index(order.column)
        kind = schema.field(self._column).type
        self._item: Literal["i", "q"] = "i" if kind.bit_width == 32 else "q"
        ties = [names.index(name) for name in order.ties if name != order.column]
        self._ties = [index for index in ties if _has_order(schema.field(index).type)]
        self._runs = 0
        self._spill = Spill(schema, MEMORY_BYTES // sorters)
        self._pending: list[pa.RecordBatch] = []
        self._pending_bytes = 0
        self._is_in_order = True
        self._last: Key | None = None
        self._pieces: list[_Piece] = []
        self.extent = Extent()

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the next rows: a run goes on while they come in order, or else until it is large."""
        is_ordered = is_in_order(self._values(batch.column(self._column)))
        follows = is_ordered and (self._last is None or self._last <= self._key(batch, 0))
        is_over = self._pending_bytes + batch.nbytes > RUN_BYTES // self._sorters
        is_run = self._pending_bytes >= _LEAST_RUN_BYTES // self._sorters
        breaks_order = self._is_in_order and not follows and is_run
        if self._pending and (is_over or breaks_order):
            self._end_run()
            follows = is_ordered
        self._is_in_order = self._is_in_order and follows
        self._last = self._key(batch, batch.num_rows - 1)
        self._pending.append(batch)
        self._pending_bytes += batch.nbytes

    def finish(self) -> None:
        """End the last run, and wait until it is kept."""
        self._end_run()
        self._wait()

    def _wait(self) -> None:
        if self._run is not None:
            self._run.result()

    def _end_run(self) -> None:
        """Have what is pending kept, one run at a time."""
        self._wait()
        pending, is_in_order = self._pending, self._is_in_order
        is_large = self._pending_bytes > _LARGE_BATCH_BYTES * len(pending)
        self._pending, self._pending_bytes, self._is_in_order, self._last = [], 0, True, None
        self._run = self._sorting.submit(self._keep, pending, is_in_order=is_in_order)
        if is_large:
            self._wait()

    def _keep(self, pending: list[pa.RecordBatch], *, is_in_order: bool) -> None:
        """Keep a run in pieces, sorted."""
        size = piece_bytes(self._runs * self._sorters, pending[0].num_columns) if pending else 0
        self._runs += 1
        if not is_in_order or sum(batch.nbytes for batch in pending) < size * len(pending):
            pending = [self._sorted(_joined(pending), ())] if pending else []
        for batch in pending:
            self.extent += self._extent(batch)
            rows = max(1, batch.num_rows * size // max(1, batch.nbytes))
            for start in range(0, batch.num_rows, rows):
                piece = batch.slice(start, rows)
                kept = self._spill.keep(piece)
                self._pieces.append(_Piece(self._key(piece, 0), len(self._pieces), kept, self._spill))

    def join(self, others: Sequence[Sorter]) -> None:
        """Take the rows of others, which have ended as well, behind its own: in that order they came."""
        for other in others:
            before = len(self._pieces)
            for piece in other._pieces:  # noqa: SLF001 - one of its kind
                piece.number += before
            self._pieces += other._pieces  # noqa: SLF001 - likewise

    def merged(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows in order; call it once, after the rows are all in."""
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

    @property
    def temporary_bytes(self) -> int:
        """Give what was put into a temporary file."""
        return self._spill.size_bytes

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
        piece.rows = piece.spill.take(piece.kept)
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

    def _extent(self, rows: pa.RecordBatch) -> Extent:
        values = rows.column(self._column)
        null_rows = values.null_count
        if null_rows == len(values):
            return Extent(null_rows)
        numbers = np.frombuffer(self._numbers(values), self._item)
        if null_rows:
            numbers = numbers[values.is_valid().to_numpy(zero_copy_only=False)]
        return Extent(null_rows, int(numbers.min()), int(numbers.max()))

    def _numbers(self, values: pa.Array) -> memoryview:
        return memoryview(values.buffers()[1]).cast(self._item)[values.offset : values.offset + len(values)]

    def _sorted(self, rows: pa.RecordBatch, ties: Sequence[int]) -> pa.RecordBatch:
        """Give rows in order, in one piece; those of one key stay as they stand, and NULL comes last."""
        values = self._values(rows.column(self._column))
        if is_in_order(values):
            places = None
        else:
            places = places_in_order(values)
            values = values[places]
        if ties and (values[1:] == values[:-1]).any():
            keys = [rows.column(index) for index in (self._column, *ties)]
            names = [str(place) for place in range(len(keys))]  # those of the rows may repeat
            by = [(name, "ascending") for name in names]
            places = pc.sort_indices(pa.record_batch(keys, names), by).to_numpy()
        if places is None:
            return rows
        narrow = places.astype(np.uint32)  # half as many bytes to read again for each column
        order = pa.Array.from_buffers(pa.uint32(), len(narrow), [None, pa.py_buffer(narrow)])
        taken = [pc.take(column, order, boundscheck=False) for column in rows.columns]
        return pa.record_batch(taken, schema=rows.schema)

    def _values(self, values: pa.Array) -> npt.NDArray[np.int64]:
        """Give numbers in the order of the column, NULL beyond all others."""
        numbers = np.frombuffer(self._numbers(values), self._item).astype(np.int64)
        if values.null_count:
            is_null = values.is_null().to_numpy(zero_copy_only=False)
            numbers[is_null] = numbers[~is_null].max(initial=0) + 1
        return numbers


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
