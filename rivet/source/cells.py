"""Where the values of a column lie in a block of rows, and what they are as bytes or text. Pure.

No Python object is made per value, whatever the form is in which a server sends them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]

MAX_BLOCK_BYTES = 2**31 - 2
"""The most that a block may have: Arrow's strings count their offsets in 32 bits."""
_STEP = 16_384


@dataclass(frozen=True, slots=True)
class Cells:
    """The values of one column in a block of rows.

    Attributes:
        block: The bytes in which they lie; a driver's may be a bytearray.
        starts: Where each value's first byte lies.
        lengths: How many bytes each has, of NULL none; or how many all have.
        is_null: Which of them are NULL, or None where none is.
        fetched: The values themselves, where they were fetched already.
    """

    block: bytes
    starts: Places
    lengths: Places | int
    is_null: Flags | None = None
    fetched: npt.NDArray[np.void] | None = None

    def numbers(self, kind: str, offset: int = 0) -> npt.NDArray[Any]:
        """Give the number of a NumPy type at each value's start, or some bytes behind it; of NULL, any."""
        if self.fetched is not None:  # then of this size, and asked for as a whole
            return np.ascontiguousarray(self.fetched).view(kind)
        size = np.dtype(kind).itemsize
        if len(self.block) < size:  # then all are NULL
            return np.zeros(len(self.starts), kind)
        return numbers_in(self.block, kind)[self._safe(offset, size)]

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


def numbers_in(block: bytes, kind: str) -> npt.NDArray[Any]:
    """See the bytes as the number that begins at each of them."""
    wanted = np.dtype(kind)
    return np.ndarray((max(0, len(block) - wanted.itemsize + 1),), wanted, block, strides=(1,))


def reached(starts: Places, ends: Places, first: int) -> Flags:
    """Tell which rows are reached from the first one, each of which leads to the one that begins at its end.

    In rounds, each of which doubles the number of rows that are found.

    Args:
        starts: Where what may be a row begins, in order.
        ends: Where each ends.
        first: The place of the first among them.
    """
    nowhere = len(starts)
    following = np.searchsorted(starts, ends)
    known = following < nowhere
    known[known] = starts[following[known]] == ends[known]
    step = np.append(np.where(known, following, nowhere), nowhere)
    found = np.zeros(nowhere + 1, np.bool_)
    found[first] = True
    before, now = 0, 1
    while now > before:
        found[step[np.flatnonzero(found)]] = True
        found[nowhere] = False
        step = step[step]
        before, now = now, int(found.sum())
    return found[:nowhere]


class Unfit(ValueError):
    """A value is not of its column's type.

    Attributes:
        row: Its place, from 0.
    """

    def __init__(self, wrong: Flags) -> None:
        super().__init__("a value does not fit")
        self.row = int(np.argmax(wrong))


def bytes_in(cells: Cells) -> pa.Array:
    """Copy the values out of the block, one behind the other.

    Between two values of a column there is what belongs to others. Values and gaps together are an array of
    twice the length, of which every other element is taken.
    """
    count = len(cells.starts)
    offsets = np.empty(2 * count, np.int32)
    offsets[0::2] = cells.starts
    offsets[1::2] = cells.starts + cells.lengths
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(cells.block)]
    with_gaps = pa.Array.from_buffers(pa.binary(), max(0, 2 * count - 1), buffers)
    taken = pc.take(with_gaps, _every_other(-(-count // _STEP) * _STEP)[:count], boundscheck=False)
    return pa.Array.from_buffers(pa.binary(), count, [validity(cells), *taken.buffers()[1:]])


def texts_in(cells: Cells) -> pa.Array:
    """Copy the values out of the block as text.

    Raises:
        pa.ArrowInvalid: A value is not UTF-8.
    """
    return bytes_in(cells).cast(pa.string())


@lru_cache(maxsize=2)
def _every_other(count: int) -> pa.Array:
    places = np.arange(0, 2 * count, 2, dtype=np.uint32)
    # pa.array would look whether it is masked, and load numpy.ma for that.
    return pa.Array.from_buffers(pa.uint32(), count, [None, pa.py_buffer(places)])


def refuse(cells: Cells, wrong: Flags) -> None:
    """Refuse the first value that is wrong; NULL never is.

    Raises:
        Unfit: There is one.
    """
    if cells.is_null is not None:
        wrong &= ~cells.is_null
    if wrong.any():
        raise Unfit(wrong)


def fixed(cells: Cells, kind: pa.DataType, numbers: Numbers) -> pa.Array:
    """Make an array of a type of one width of numbers as they lie in memory."""
    return pa.Array.from_buffers(kind, len(numbers), [validity(cells), pa.py_buffer(numbers)])


def validity(cells: Cells) -> pa.Buffer | None:
    """Give Arrow's bits of which values there are, or None where all are."""
    if cells.is_null is None:
        return None
    return pa.py_buffer(np.packbits(~cells.is_null, bitorder="little"))
