"""Cuts packets of rows in the binary protocol into cells: where each value of each row lies. Pure.

The form is that of the protocol's manual, "Binary Protocol Resultset": of each row a zero, a bitmap of which
values are NULL, whose first two bits say nothing, and the other values one behind the other. Some types have
values of one width, others a length before each. All numbers are little-endian.

Where a row begins is known only once the length of the row before it was read. So every place that may be the
beginning of one is read as if it were, all of them at once, and those to which the lengths lead from the
block's beginning are its rows: what only looks like the beginning of a row is never taken for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from rivet.errors import SourceUnavailable
from rivet.source.cells import Cells, Flags, Numbers, Places, numbers_in, reached
from rivet.source.mysql.wire import HEADER_BYTES, JOINED
from rivet.wording import counted


class Lengths(IntEnum):
    """How the length of a value stands before it, for types whose values have not one width."""

    ENCODED = -1  # in one byte, or three, four or nine
    MOMENT = -2  # in one byte: 0, 4, 7 or 11
    CLOCK = -3  # in one byte: 0, 8 or 12


_ALLOWED = {Lengths.MOMENT: (0, 4, 7, 11), Lengths.CLOCK: (0, 8, 12)}
# By its first byte: how many more a length has, and which bits of the next eight they are.
_MORE = {252: (2, 0xFFFF), 253: (3, 0xFFFFFF), 254: (8, 2**64 - 1)}
_NO_LENGTH = 251  # a first byte from here on is no length by itself
_NULL_SHIFT = 2
# The first rows of a block tell how long its rows are, and of long ones there are few.
_SAMPLE_ROWS = 32
_LONG_BYTES = 2 * 1024
_LONG_BLOCK_BYTES = 8 * 1024**2  # so large only where one of its rows is
_SHORT = 2**8  # below it two bytes of a row's length are zero


class RowReader:
    """Cut blocks of whole packets.

    Args:
        widths: Of each column how many bytes every value has, or how its length is told.
    """

    def __init__(self, widths: Sequence[int | Lengths]) -> None:
        self._widths = tuple(widths)
        self._bitmap_bytes = (len(widths) + _NULL_SHIFT + 7) // 8
        self._least = HEADER_BYTES + 1 + self._bitmap_bytes  # every value NULL
        self._is_short = True  # so are all rows so far

    def cells(self, block: bytes) -> list[Cells]:
        """Give the cells of a block, by column.

        Raises:
            SourceUnavailable: It does not consist of whole rows, or one has not the columns described.
        """
        starts, ends = self._rows(block)
        octets = np.frombuffer(block, np.uint8)
        places = starts + self._least
        if (places > ends).any() or octets[starts + HEADER_BYTES].any():
            raise self._unlike()
        cells = []
        bitmap = starts + (HEADER_BYTES + 1)
        byte, nulls, has_nulls = -1, np.empty(0, np.uint8), False
        for index, width in enumerate(self._widths):
            bit = index + _NULL_SHIFT
            if bit // 8 != byte:
                byte = bit // 8
                nulls = octets[bitmap + byte]
                has_nulls = bool(nulls.any())
            is_null = None
            if has_nulls:
                flags = (nulls & (1 << bit % 8)) != 0
                is_null = flags if flags.any() else None
            if isinstance(width, Lengths):
                places, lengths = self._lengths(block, places, ends, width, is_null)
                cells.append(Cells(block, places, lengths, is_null))
                places = places + lengths
                if (places > ends).any():
                    raise self._unlike()
            else:
                cells.append(Cells(block, places, width, is_null))
                places = places + (width if is_null is None else np.where(is_null, 0, width))
        if not (places == ends).all():
            raise self._unlike()
        return cells

    def _lengths(
        self, block: bytes, places: Places, ends: Places, form: Lengths, is_null: Flags | None
    ) -> tuple[Places, Places]:
        """Give where values begin, behind their lengths, and these; of NULL, nothing is there."""
        outside = places >= ends
        if is_null is not None:
            outside &= ~is_null
        if outside.any():
            raise self._unlike()
        heads = np.frombuffer(block, np.uint8)[np.minimum(places, len(block) - 1)]
        first: Places | int = 1
        if is_null is not None:
            heads[is_null] = 0
            first = (~is_null).astype(np.int64)
        values, lengths = places + first, heads.astype(np.int64)
        if form is not Lengths.ENCODED:
            if not np.isin(heads, _ALLOWED[form]).all():
                raise self._unlike()
        elif heads.max(initial=0) >= _NO_LENGTH:
            for head in np.unique(heads[heads >= _NO_LENGTH]):
                rows = np.flatnonzero(heads == head)
                lengths[rows], more = self._long(block, int(head), values[rows], ends[rows])
                values[rows] += more
        return values, lengths

    def _long(self, block: bytes, head: int, places: Places, ends: Places) -> tuple[Places, int]:
        """Give lengths that stand in more than one byte, and in how many more."""
        more, bits = _MORE.get(head, (0, 0))
        if not more or (places + more > ends).any():
            raise self._unlike()
        told = words_in(block, places) & np.uint64(bits)
        if (told > len(block)).any():
            raise self._unlike()
        return told.astype(np.int64), more

    def _rows(self, block: bytes) -> tuple[Places, Places]:
        """Find where each packet begins and ends."""
        sample = _hop(block, _SAMPLE_ROWS)
        longest = int(np.diff(sample).max(initial=0))
        is_long = sample[-1] >= _LONG_BYTES * _SAMPLE_ROWS or len(block) > _LONG_BLOCK_BYTES
        if is_long or len(sample) <= _SAMPLE_ROWS:
            return _walked(block)
        self._is_short = self._is_short and longest < _SHORT
        found = _chained(block, is_short=True) if self._is_short else None
        if found is None:
            self._is_short = False
            found = _chained(block, is_short=False)
        return _walked(block) if found is None else (found, np.append(found[1:], len(block)))

    def _unlike(self) -> SourceUnavailable:
        columns = counted(len(self._widths), "column")
        return SourceUnavailable(f"the server sent a row that has not the {columns} described")


def words_in(block: bytes, places: Places) -> Numbers:
    """Give the eight bytes from each place on as a number; behind the end of the block stands zero."""
    if len(block) < 8:
        block += bytes(8)
    last = len(block) - 8
    words = numbers_in(block, "<u8")[np.minimum(places, last)]
    over = np.flatnonzero(places > last)
    words[over] >>= np.minimum(8 * (places[over] - last), 63).astype(np.uint64)
    return words


def _walked(block: bytes) -> tuple[Places, Places]:
    """Go from row to row: for blocks of few rows."""
    places = np.array(_hop(block, None), np.int64)
    if places[-1] != len(block):
        raise SourceUnavailable("the server's data ended inside a row")
    return places[:-1], places[1:]


def _hop(block: bytes, rows: int | None) -> list[int]:
    """Give where the first rows begin, and where the last of them ends, or beyond the block."""
    places, place, end = [0], 0, len(block)
    while place < end and (rows is None or len(places) <= rows):
        length = int.from_bytes(block[place : place + 3], "little")
        place = end if length == JOINED else place + HEADER_BYTES + length
        places.append(place)
    return places


def _chained(block: bytes, *, is_short: bool) -> Places | None:
    """Find the beginnings of rows, all shorter than 64 KiB or, if so, `_SHORT`; None if not all are.

    What may be one has zeros in its length and before its bitmap, and leads to another, which has the next
    number, or to the end of the block.
    """
    zero = np.frombuffer(block, np.uint8) == 0
    may = zero[2:-2] & zero[4:]
    if is_short:
        may &= zero[1:-3]
    starts = np.flatnonzero(may)
    words = numbers_in(block, "<u4")
    heads = words[starts]
    ends = starts + HEADER_BYTES + (heads & JOINED)
    inside = ends < len(block) - HEADER_BYTES
    following = np.where(inside, ends, 0)
    in_step = ((words[following] >> 24) - (heads >> 24)) & 0xFF == 1  # packets are numbered
    leads = inside & _may_at(may, following) & in_step
    leads |= ends == len(block)
    starts, ends = starts[leads], ends[leads]
    if not len(starts) or starts[0] != 0:
        return None
    if (ends[:-1] != starts[1:]).any():
        kept = reached(starts, ends, 0)
        starts, ends = starts[kept], ends[kept]
    return starts if ends[-1] == len(block) else None


def _may_at(may: Flags, places: Places) -> Flags:
    """Look up flags at places, of which those behind the last have none."""
    return may[np.minimum(places, len(may) - 1)] & (places < len(may))
