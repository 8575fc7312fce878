"""Decides where row groups end: by the rows alone, however a source happened to cut them into batches.

The same rows must give the same bytes, or a partition whose rows have not changed would be published anew.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

import pyarrow as pa

_VALIDITY_BITS = 1
_OFFSET_BITS = 32


class RowGroup:
    """The rows that wait for a whole row group.

    Args:
        max_rows: It holds at most so many rows,
        max_bytes: and at most so many bytes of values, or else a single row.
    """

    def __init__(self, max_rows: int, max_bytes: int) -> None:
        self.size_bytes = 0
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        self._rows = 0
        self._batches: list[pa.RecordBatch] = []

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing waits."""
        return not self._rows

    def fill(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Take the rows for which there is room, and give those that are left over: then it is full."""
        size = _sizes(rows.columns)
        most = min(rows.num_rows, self._max_rows - self._rows)
        room = self._max_bytes - self.size_bytes
        count = most if size(most) <= room else bisect_right(range(1, most), room, key=size)
        if not self._rows:
            count = max(1, count)
        if count:
            self._batches.append(rows.slice(0, count))
            self._rows += count
            self.size_bytes += size(count)
        return rows.slice(count)

    def table(self) -> pa.Table:
        """Give the rows away, each column in one piece: a Parquet writer's pages depend on the pieces."""
        batches, self._batches = self._batches, []
        table = pa.Table.from_batches(batches)
        return table if len(batches) == 1 else table.combine_chunks()


def _sizes(columns: Sequence[pa.Array]) -> Callable[[int], int]:
    """Give a function from a number of first rows to the bytes of their values.

    Sizes of pieces add up to that of the whole, which those of Arrow's buffers do not: whether a column has a
    bitmap depends on the piece.
    """
    bits = 0
    offsets: list[Sequence[int]] = []
    lists: list[tuple[Sequence[int], Callable[[int], int]]] = []
    for column in columns:
        values = column.storage if isinstance(column, pa.ExtensionArray) else column
        bits += _VALIDITY_BITS
        if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
            bits += _OFFSET_BITS
            offsets.append(_offsets(values))
        elif pa.types.is_list(values.type):
            bits += _OFFSET_BITS
            starts = _offsets(values)
            lists.append((starts, _sizes([values.values[starts[0] :]])))
        else:
            bits += values.type.bit_width
    row_bytes = -(-bits // 8)

    def size(count: int) -> int:
        fixed = count * row_bytes + sum(o[count] - o[0] for o in offsets)
        return fixed + sum(elements(o[count] - o[0]) for o, elements in lists)

    return size


def _offsets(values: pa.Array) -> Sequence[int]:
    return memoryview(values.buffers()[1]).cast("i")[values.offset :]
