"""Reads the cells of rows whose beginnings are known: of all rows at once, column by column. Pure.

The form is that of `rivet.source.postgres.tuples`. To fetch bytes from as many places as there are rows costs
nearly the same whether they are four or forty. So columns that stand together and have values of one width
each are fetched at once, lengths and values, and with them the length of what follows.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rivet.source.cells import Cells, Flags, Places, numbers_in

LENGTH_BYTES = 4

_NEXT = "next"
# Of a table of hundreds of columns not every block is copied as a whole.
_MOST_TOGETHER = 16


@dataclass(frozen=True)
class Stretch:
    """Columns that are fetched at once.

    Attributes:
        widths: Of each column how many bytes every value has.
        has_next: Whether another column follows, of whose values that is not known.
        next_width: How many bytes those have that are not NULL, or None where they differ.
    """

    widths: tuple[int, ...]
    has_next: bool = False
    next_width: int | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name the lengths in what is fetched."""
        return tuple(f"length {n}" for n in range(len(self.widths)))

    @cached_property
    def kind(self) -> np.dtype[np.void]:
        """Give the NumPy type of what is fetched: lengths as they lie, and values."""
        fields = [
            part
            for name, width in zip(self.names, self.widths, strict=True)
            for part in ((name, "=i4"), (f"value of {name}", f"V{width}"))
        ]
        return np.dtype([*fields, *([(_NEXT, "=i4")] if self.has_next else [])])

    def fetch(self, block: bytes, places: Places) -> npt.NDArray[np.void] | None:
        """Fetch from places in a block, none below zero; None where one of them is too near its end."""
        size = self.kind.itemsize
        if not len(places) or places.max() > len(block) - size:
            return None
        return numbers_in(block, f"V{size}")[places].view(self.kind)

    def is_whole(self, found: npt.NDArray[np.void]) -> bool:
        """Tell whether every value has the length of its column; then none is NULL."""
        return all(
            bool((found[name] == as_it_lies(width)).all())
            for name, width in zip(self.names, self.widths, strict=True)
        )

    def may_begin(self, found: npt.NDArray[np.void]) -> Flags:
        """Tell which of the places from which this was fetched the first fields of a row may have."""
        may: Flags = np.ones(len(found), np.bool_)
        for name, width in zip(self.names, self.widths, strict=True):
            is_null = found[name] == as_it_lies(-1)
            may &= is_null | (found[name] == as_it_lies(width))
            if is_null.any():
                return may  # of those it is not known where the next field is
        if self.has_next:
            following: npt.NDArray[np.int32] = _in_order(found[_NEXT])
            may &= (following == -1) | (
                following >= 0 if self.next_width is None else following == self.next_width
            )
        return may


def stretches_of(widths: Sequence[int | None], with_nulls: frozenset[int]) -> list[Stretch]:
    """Cut columns into stretches; one that held NULL before likely does again, and ends one.

    >>> [(s.widths, s.has_next) for s in stretches_of([8, 4, None, None, 1], frozenset())]
    [((8, 4), True), ((), True), ((1,), False)]
    >>> [(s.widths, s.has_next) for s in stretches_of([8, 4, 1], frozenset({1}))]
    [((8,), True), ((1,), False)]
    """
    stretches, together = [], list[int]()
    for index, width in enumerate(widths):
        if width is None or index in with_nulls or len(together) == _MOST_TOGETHER:
            stretches.append(Stretch(tuple(together), has_next=True, next_width=width))
            together = []
        else:
            together.append(width)
    return [*stretches, Stretch(tuple(together))] if together else stretches


class Walk:
    """Goes through rows from left to right.

    Args:
        places: Where the first field of each begins, in order. Where one is no row's, what it finds there is
            meaningless, and its end lies beyond the block or leads to no row.
    """

    def __init__(self, block: bytes, places: Places) -> None:
        self.columns: list[Cells] = []
        self._block = block
        self._places = places
        self._sizes = numbers_in(block, "=i4")  # as they lie; to compare them needs no other order
        self._failed: Flags | None = None

    def go(self, stretch: Stretch) -> None:
        """Read the columns of a stretch."""
        found = stretch.fetch(self._block, self._places) if stretch.widths else None
        if found is None or not stretch.is_whole(found):
            for width in stretch.widths:
                self._read(width, self._lengths())
            if stretch.has_next:
                self._read(stretch.next_width, self._lengths())
            return
        for name, width in zip(stretch.names, stretch.widths, strict=True):
            values = self._places + LENGTH_BYTES
            self.columns.append(Cells(self._block, values, width, None, found[f"value of {name}"]))
            self._places = values + width
        if stretch.has_next:
            self._read(stretch.next_width, found[_NEXT])

    def ends(self) -> Places:
        """Give where each row ends; beyond the block where it cannot be."""
        if self._failed is None:
            return self._places
        return np.where(self._failed, len(self._block) + 1, self._places)

    def _lengths(self) -> npt.NDArray[np.int32]:
        places, last = self._places, len(self._block) - LENGTH_BYTES
        if len(places) and places.max() > last:
            self._fail(places > last)
            self._places = places = np.minimum(places, last)
        return self._sizes[places]

    def _read(self, width: int | None, found: npt.NDArray[np.int32]) -> None:
        """Read a column of which the lengths were found."""
        is_null = None
        if width is not None and (found == as_it_lies(width)).all():
            lengths: int | Places = width
        else:
            lengths, is_null, wrong = _told(found, width, len(self._block))
            self._fail(wrong)
        values = self._places + LENGTH_BYTES
        self.columns.append(Cells(self._block, values, lengths, is_null))
        self._places = values + lengths

    def _fail(self, wrong: Flags | None) -> None:
        if wrong is not None:
            self._failed = wrong if self._failed is None else self._failed | wrong


def _told(
    found: npt.NDArray[np.int32], width: int | None, most: int
) -> tuple[Places, Flags | None, Flags | None]:
    """Give lengths as they lie in the block as numbers, which are NULL, and which are no lengths at all."""
    lengths = _in_order(found)
    is_null = wrong = None
    if len(lengths) and (width is not None or lengths.min() < 0 or lengths.max() > most):
        is_null = lengths == -1
        wrong = ((lengths < -1) | (lengths > most)) if width is None else ((lengths != width) & ~is_null)
        lengths = np.where(is_null | wrong, 0, lengths)
        is_null = is_null if is_null.any() else None
        wrong = wrong if wrong.any() else None
    return lengths.astype(np.int64), is_null, wrong


def _in_order(lengths: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    return lengths.byteswap() if sys.byteorder == "little" else lengths


def as_it_lies(number: int) -> int:
    """Give what this machine reads where a length lies, of which the greatest byte is the first."""
    return int.from_bytes(number.to_bytes(LENGTH_BYTES, "big", signed=True), sys.byteorder, signed=True)
