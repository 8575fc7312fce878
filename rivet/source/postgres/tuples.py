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
from collections.abc import Sequence

import numpy as np

from rivet.errors import SourceUnavailable
from rivet.source.cells import Cells, Flags, Places, reached
from rivet.source.postgres.cells import LENGTH_BYTES, Stretch, Walk, stretches_of

SIGNATURE = b"PGCOPY\n\xff\r\n\0"
END = b"\xff\xff"

_HEADER = struct.Struct(">ii")  # flags, and the length of what may follow them
_COUNT_BYTES = 2
# The first few rows of a block tell whether its rows are large.
_SAMPLE_ROWS = 8
_LARGE_BYTES = 16 * 1024
# A block is so large only where one of its rows is.
_LARGE_BLOCK_BYTES = 8 * 1024**2
_LOOKED_AT = 3


class TupleReader:
    """Cut blocks of whole rows, the first of which begins with the signature and the last with -1 ends.

    Args:
        widths: Of each column how many bytes every value has, or None where they differ.
    """

    def __init__(self, widths: Sequence[int | None]) -> None:
        self._widths = tuple(widths)
        self._count = struct.pack(">h", len(widths))
        self._least = _COUNT_BYTES + LENGTH_BYTES * len(widths)  # every value NULL
        self._with_nulls = frozenset[int]()  # columns of one width that held NULL in the last block
        self._stretches = stretches_of(widths, self._with_nulls)
        self._flags = np.empty(0, np.bool_)  # kept, since to be given memory takes longer than to fill it
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
        self._learn(columns)
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
            places = self._pairs(block)
            places = places[(places >= start) & (places <= len(block) - self._least)]
            places = self._likely(block, places)
            if len(places) <= len(block) // self._least:
                return places
        # Large rows are few. To search them, or to read more beginnings than there can be rows, would take
        # longer than to go from row to row, and many times the memory.
        return np.array(self._first(block, start, None)[:-1], np.int64)

    def _pairs(self, block: bytes) -> Places:
        """Find the places, in order, at which the number of fields stands."""
        (wanted,) = struct.unpack("=H", self._count)
        needed = _padded(len(block) // 2)
        if len(self._flags) < needed:
            self._flags = np.empty(needed, np.bool_)
        found = []
        for start in (0, 1):
            pairs = np.frombuffer(block, np.uint16, (len(block) - start) // 2, start)
            flags = self._flags[: _padded(len(pairs))]
            flags[len(pairs) :] = False
            np.equal(pairs, wanted, out=flags[: len(pairs)])
            found.append(_true_at(flags) * 2 + start)
        return np.sort(np.concatenate(found), kind="stable")  # merges what is in order

    def _likely(self, block: bytes, places: Places) -> Places:
        """Leave out places at which the first fields have not the lengths of a row's, as is soon told."""
        if not self._widths:
            return places
        looks = [stretches_of(self._widths[:_LOOKED_AT], self._with_nulls)[0]]
        if len(places) > len(block) // self._least:  # too many to fetch more than one length of each
            looks.insert(0, Stretch((), has_next=True, next_width=self._widths[0]))
        for look in looks:
            # Of those too near the end of the block for a look there are few.
            near = np.searchsorted(places, len(block) - _COUNT_BYTES - look.kind.itemsize, "right")
            found = look.fetch(block, places[:near] + _COUNT_BYTES)
            if found is not None:
                places = np.concatenate([places[:near][look.may_begin(found)], places[near:]])
        return places

    def _first(self, block: bytes, start: int, rows: int | None) -> list[int]:
        """Give where the first rows begin, and where the last of them ends, one after the other."""
        places = [start]
        while block.startswith(self._count, places[-1]) and (rows is None or len(places) <= rows):
            place = places[-1] + _COUNT_BYTES
            for _ in self._widths:
                place += LENGTH_BYTES + max(
                    0, int.from_bytes(block[place : place + LENGTH_BYTES], "big", signed=True)
                )
            places.append(place)
        return places

    def _read(self, block: bytes, starts: Places) -> tuple[list[Cells], Places]:
        """Read rows at these places: the cells, and where each ends; beyond the block where it cannot be."""
        walk = Walk(block, starts + _COUNT_BYTES)
        for stretch in self._stretches:
            walk.go(stretch)
        return walk.columns, walk.ends()

    def _learn(self, columns: Sequence[Cells]) -> None:
        """Note which columns are better not fetched together with others."""
        with_nulls = frozenset(
            index
            for index, width in enumerate(self._widths)
            if width is not None and columns[index].is_null is not None
        )
        if with_nulls != self._with_nulls:
            self._with_nulls = with_nulls
            self._stretches = stretches_of(self._widths, with_nulls)


def _true_at(flags: Flags) -> Places:
    """Find what is true of flags, of which there are a multiple of 64 and most are not.

    It is seen of 64 at once whether any is, then of 8, then of each: so few are looked at one by one.
    """
    eights = _any_of_eight(flags)
    places = np.flatnonzero(_any_of_eight(eights))
    for narrower in (eights, flags):
        within = np.flatnonzero(narrower.view(np.uint64)[places].view(np.bool_))
        places = places[within >> 3] * 8 + (within & 7)
    return places


def _padded(count: int) -> int:
    return -(-count // 64) * 64


def _any_of_eight(flags: Flags) -> Flags:
    return np.not_equal(flags.view(np.uint64), 0)


def _is_chain(starts: Places, ends: Places, start: int) -> bool:
    if not len(starts):
        return True
    return int(starts[0]) == start and bool((ends[:-1] == starts[1:]).all())


def _chained(starts: Places, ends: Places, start: int) -> Places:
    """Give those places to which the rows lead, one after the other, from the first."""
    first = int(np.searchsorted(starts, start))
    if first == len(starts) or starts[first] != start:
        return starts[:0]
    return starts[reached(starts, ends, first)]
