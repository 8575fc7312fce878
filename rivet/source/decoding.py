"""What decoders of blocks have in common: they make batches, and say where a value lies that does not fit.

Pure. A block holds whole rows in a form of one server's; no Python object is made per value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

import pyarrow as pa

from rivet.errors import ColumnError
from rivet.plan.schema import Column, ColumnType, Kind
from rivet.source.arrow import arrow_schema
from rivet.source.cells import MAX_BLOCK_BYTES, Cells, bytes_in, texts_in
from rivet.source.misfit import Misfit, first_refused, in_row, refused_value

T = TypeVar("T")


class Decoder(ABC):
    """Decode blocks into batches of exactly `arrow_schema(columns)`, and of markers after them.

    Args:
        nulled: Names of bool columns that the rows hold after all others, none of them NULL.
        row_names: Names of the columns by whose values people find a row.
    """

    def __init__(
        self, columns: Sequence[Column], *, nulled: Sequence[str] = (), row_names: Sequence[str] = ()
    ) -> None:
        markers = [Column(name, ColumnType(Kind.BOOL), "a marker of NULL") for name in nulled]
        self.schema = pa.schema([*arrow_schema(columns), *(pa.field(m.name, pa.bool_()) for m in markers)])
        self._columns = (*columns, *markers)
        self._tellers = [i for name in row_names for i, c in enumerate(columns) if c.name == name]
        self._rows = 0

    def decode(self, block: bytes) -> pa.RecordBatch:
        """Decode one block of whole rows; it must not be empty.

        Raises:
            ColumnError: A value does not fit its column's type, or its bytes are not UTF-8.
            SourceUnavailable: The block ends inside a row, or a row has not the number of columns.
        """
        try:
            batch = self._decoded(block)
        except Misfit as misfit:
            place = "" if misfit.row is None else ", " + self._place_of(block, misfit.row)
            raise refused_value(self._columns[misfit.index], str(misfit), place) from misfit
        self._rows += batch.num_rows
        return batch

    @abstractmethod
    def _cells(self, block: bytes) -> Sequence[Cells]:
        """Give the cells of a block, by column."""

    @abstractmethod
    def _array(self, index: int, cells: Cells) -> pa.Array:
        """Make the array of a column.

        Raises:
            Misfit: A value does not fit.
        """

    @abstractmethod
    def _shown(self, block: bytes, row: int, indexes: Sequence[int]) -> list[str | None]:
        """Give values of one row as a message shows them, also where they do not fit."""

    def _decoded(self, block: bytes) -> pa.RecordBatch:
        if len(block) > MAX_BLOCK_BYTES:
            raise ColumnError(
                f"a row takes {len(block)} bytes, expected at most {MAX_BLOCK_BYTES}",
                hint="leave its largest column out, or cut it in the query",
            )
        arrays = [self._array(index, cells) for index, cells in enumerate(self._cells(block))]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _texts(self, index: int, cells: Cells) -> pa.Array:
        try:
            return texts_in(cells)
        except pa.ArrowInvalid as exc:
            row = first_refused(bytes_in(cells), lambda values: values.cast(pa.string()))
            raise Misfit(index, "invalid UTF8 data", row) from exc

    def _place_of(self, block: bytes, row: int) -> str:
        names = [self._columns[i].name for i in self._tellers]
        shown = self._shown(block, row, self._tellers) if names else []
        return in_row(self._rows + row + 1, list(zip(names, shown, strict=True)))

    def _converted(self, index: int, convert: Callable[[pa.Array], T], values: pa.Array) -> T:
        try:
            return convert(values)
        except (ValueError, pa.ArrowCapacityError) as exc:
            raise Misfit(index, str(exc), first_refused(values, convert)) from exc
