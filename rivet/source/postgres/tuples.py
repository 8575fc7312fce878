"""Cuts COPY's binary form into cells: where each value of each row lies, without a Python object for any.

Pure. The form is that of the server's manual, "COPY", "Binary Format": a signature and a header; of each row
the number of its fields (int16) and, for each field, its bytes (int32; -1 is NULL) and then its value; at the
end -1 in place of a number of fields. All numbers are big-endian.

Where a row begins is known only once the row before it was read. So every place that may be the beginning of
one is read as if it were, all of them at once, and those to which the rows lead from the block's beginning
are its rows: what only looks like the beginning of a row is never taken for one.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rivet.errors import SourceUnavailable

SIGNATURE = b"PGCOPY\n\xff\r\n\0"
END = b"\xff\xff"

Places = npt.NDArray[np.int64]
_HEADER = struct.Struct(">ii")  # flags, and the length of what may follow them
_LENGTH_BYTES = 4
_COUNT_BYTES = 2
# The first few rows of a block tell whether its rows are large.
_SAMPLE_ROWS = 8
_LARGE_BYTES = 16 * 1024
# A block is so large only where one of its rows is.
_LARGE_BLOCK_BYTES = 8 * 1024**2
_LOOKED_AT = 3


@dataclass(frozen=True, slots=True)
class Cells:
    """The values of one column in a block of rows.

    Attributes:
        block: The bytes in which they lie; a driver's may be a bytearray.
        starts: Where each value's first byte lies.
        lengths: How many bytes each has, of NULL none; or how many all have.
        is_null: Which of them are NULL, or None where none is.
    """

    block: bytes
    starts: Places
    lengths: Places | int
    is_null: npt.NDArray[np.bool_] | None

    def numbers(self, kind: str, offset: int = 0) -> npt.NDArray[Any]:
        """Give the number of a NumPy type at each value's start, or some bytes behind it; of NULL, any."""
        size = np.dtype(kind).itemsize
        if len(self.block) < size:  # then all are NULL
            return np.zeros(len(self.starts), kind)
        return _numbers(self.block, kind)[self._safe(offset, size)]

    def value(self, row: int) -> bytes | None:
        """Give the bytes of one value."""
        if self.is_null is not None and self.is_null[row]:
            return None
        start = int(self.starts[row])
        length = self.lengths if isinstance(self.lengths, int) else int(self.lengths[row])
        return bytes(self.block[start : start + length])

    def _safe(self, offset: int, size: int) -> Places:
        """Keep the place of a NULL at the very end, behind which nothing lies, inside the block."""
        places = self.starts + offset if offset else self.starts
        last = len(self.block) - size
        return np.minimum(places, last) if len(places) and places[-1] > last else places


class TupleReader:
    """Cut blocks of whole rows, the first of which begins with the signature and the last with -1 ends.

    Args:
        widths: Of each column how many bytes every value has, or None where they differ.
    """

    def __init__(self, widths: Sequence[int | None]) -> None:
        self._widths = tuple(widths)
        self._count = struct.pack(">h", len(widths))
        self._least = _COUNT_BYTES + _LENGTH_BYTES * len(widths)  # every value NULL
        self._begun = False
        self.has_ended = False

    def cells(self, block: bytes) -> list[Cells]:
        """Give the cells of a block, by column; of a block without rows, empty ones.

        Raises:
            SourceUnavailable: It does not consist of whole rows.
        """
        start = self._after_header(block)
        starts = self._starts(block, start)
        columns, ends = self._read(block, starts)
        if not _is_chain(starts, ends, start):
            starts = _chained(starts, ends, start)
            columns, ends = self._read(block, starts)
        reached, end = int(ends[-1]) if len(ends) else start, len(block)
        if reached == end - len(END) and block.endswith(END):
            self.has_ended = True
        elif reached != end:
            raise SourceUnavailable("the server's data ended inside a row")
        return columns

    def _after_header(self, block: bytes) -> int:
        if not block.startswith(SIGNATURE):  # no row does: it would have more columns than a table may
            if self._begun:
                return 0
            raise SourceUnavailable("the server's data does not begin as COPY's binary form does")
        self._begun = True
        if len(block) < len(SIGNATURE) + _HEADER.size:
            raise SourceUnavailable("the server's data ended inside its header")
        _, more = _HEADER.unpack_from(block, len(SIGNATURE))
        return len(SIGNATURE) + _HEADER.size + int(more)

    def _starts(self, block: bytes, start: int) -> Places:
        """Find the places at which rows begin, and perhaps some at which none does."""
        if len(block) - start < self._least:
            return np.empty(0, np.int64)
        first = self._first(block, start, _SAMPLE_ROWS)
        is_large = first[-1] - start >= _LARGE_BYTES * (len(first) - 1) or len(block) > _LARGE_BLOCK_BYTES
        if not is_large:
            places = _places_of(block, self._count)
            places = places[(places >= start) & (places <= len(block) - self._least)]
            places = self._likely(block, places)
            if len(places) <= len(block) // self._least:
                return places
        # Large rows are few. To search them, or to read more beginnings than there can be rows, would take
        # longer than to go from row to row, and many times the memory.
        return np.array(self._first(block, start, None)[:-1], np.int64)

    def _likely(self, block: bytes, places: Places) -> Places:
        """Leave out places at which the first fields have not the lengths of a row's, as is soon told."""
        sizes = _numbers(block, ">i4")
        offset = _COUNT_BYTES
        for width in self._widths[:_LOOKED_AT]:
            lengths = sizes[np.minimum(places + offset, len(sizes) - 1)]
            is_null = lengths == -1
            places = places[is_null | ((lengths >= 0) if width is None else (lengths == width))]
            if width is None or is_null.any():
                break
            offset += _LENGTH_BYTES + width
        return places

    def _first(self, block: bytes, start: int, rows: int | None) -> list[int]:
        """Give where the first rows begin, and where the last of them ends, one after the other."""
        places = [start]
        while block.startswith(self._count, places[-1]) and (rows is None or len(places) <= rows):
            place = places[-1] + _COUNT_BYTES
            for _ in self._widths:
                place += _LENGTH_BYTES + max(
                    0, int.from_bytes(block[place : place + _LENGTH_BYTES], "big", signed=True)
                )
            places.append(place)
        return places

    def _read(self, block: bytes, starts: Places) -> tuple[list[Cells], Places]:
        """Read rows at these places: the cells, and where each ends; beyond the block where it cannot be."""
        last = len(block) - _LENGTH_BYTES
        sizes = _numbers(block, "=i4")  # as they lie; to compare them needs no other order
        places = starts + _COUNT_BYTES
        columns = []
        failed: npt.NDArray[np.bool_] | None = None
        for width in self._widths:
            if len(places) and places.max() > last:
                failed = _either(failed, places > last)
                places = np.minimum(places, last)
            found = sizes[places]
            is_null = None
            if width is not None and (found == _as_it_lies(width)).all():
                lengths: int | Places = width
            else:
                lengths, is_null, wrong = _lengths(found, width, len(block))
                failed = _either(failed, wrong)
            values = places + _LENGTH_BYTES
            columns.append(Cells(block, values, lengths, is_null))
            places = values + lengths
        return columns, places if failed is None else np.where(failed, len(block) + 1, places)


def _places_of(block: bytes, pair: bytes) -> Places:
    """Find the places, in order, at which two bytes stand."""
    (wanted,) = struct.unpack("=H", pair)
    found = [
        np.flatnonzero(np.frombuffer(block, np.uint16, (len(block) - start) // 2, start) == wanted) * 2
        + start
        for start in (0, 1)
    ]
    return np.sort(np.concatenate(found), kind="stable")  # merges what is in order


def _lengths(
    found: npt.NDArray[np.int32], width: int | None, most: int
) -> tuple[Places, npt.NDArray[np.bool_] | None, npt.NDArray[np.bool_] | None]:
    """Give lengths as they lie in the block as numbers, which are NULL, and which are no lengths at all."""
    lengths = found.byteswap() if sys.byteorder == "little" else found
    is_null = wrong = None
    if len(lengths) and (width is not None or lengths.min() < 0 or lengths.max() > most):
        is_null = lengths == -1
        wrong = ((lengths < -1) | (lengths > most)) if width is None else ((lengths != width) & ~is_null)
        lengths = np.where(is_null | wrong, 0, lengths)
        is_null = is_null if is_null.any() else None
        wrong = wrong if wrong.any() else None
    return lengths.astype(np.int64), is_null, wrong


def _either(
    one: npt.NDArray[np.bool_] | None, other: npt.NDArray[np.bool_] | None
) -> npt.NDArray[np.bool_] | None:
    return one if other is None else other if one is None else one | other


def _as_it_lies(number: int) -> int:
    return int.from_bytes(number.to_bytes(_LENGTH_BYTES, "big"), sys.byteorder)


def _numbers(block: bytes, kind: str) -> npt.NDArray[Any]:
    """See the bytes as the number that begins at each of them."""
    wanted = np.dtype(kind)
    return np.ndarray((max(0, len(block) - wanted.itemsize + 1),), wanted, block, strides=(1,))


def _is_chain(starts: Places, ends: Places, start: int) -> bool:
    if not len(starts):
        return True
    return int(starts[0]) == start and bool((ends[:-1] == starts[1:]).all())


def _chained(starts: Places, ends: Places, start: int) -> Places:
    """Give those places to which the rows lead, one after the other, from the first.

    In rounds, each of which doubles the number of rows that are found.
    """
    count = len(starts)
    nowhere = count
    following = np.searchsorted(starts, ends)
    known = following < count
    known[known] = starts[following[known]] == ends[known]
    step = np.append(np.where(known, following, nowhere), nowhere)
    first = int(np.searchsorted(starts, start))
    if first == count or starts[first] != start:
        return starts[:0]
    found = np.zeros(count + 1, np.bool_)
    found[first] = True
    before, now = 0, 1
    while now > before:
        found[step[np.flatnonzero(found)]] = True
        found[nowhere] = False
        step = step[step]
        before, now = now, int(found.sum())
    return starts[found[:count]]
