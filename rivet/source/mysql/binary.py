"""Turns blocks of rows in the binary protocol into typed Arrow batches. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rivet.errors import SourceUnavailable
from rivet.plan.schema import Column, Fidelity, Kind
from rivet.source.arrow import arrow_type
from rivet.source.cells import Cells, Unfit, bytes_in
from rivet.source.decoding import Decoder
from rivet.source.from_text import from_text
from rivet.source.misfit import Misfit, shown_value
from rivet.source.mysql.rows import Lengths, RowReader
from rivet.source.mysql.values import is_moment, is_number, moments_of, numbers_of, text_of, width_of
from rivet.source.mysql.wire import Wire
from rivet.wording import counted


class BinaryDecoder(Decoder):
    """Decode blocks of whole packets of rows.

    Args:
        wires: In what form each column comes, in order; markers come as 0 or 1 behind all others.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        wires: Sequence[Wire],
        *,
        nulled: Sequence[str] = (),
        row_names: Sequence[str] = (),
    ) -> None:
        super().__init__(columns, nulled=nulled, row_names=row_names)
        if len(wires) != len(self._columns):
            described = counted(len(self._columns), "column")
            raise SourceUnavailable(f"the server gives {len(wires)} columns, and {described} were described")
        self._wires = wires
        self._rows_in = RowReader([width_of(wire) for wire in wires])

    def _cells(self, block: bytes) -> Sequence[Cells]:
        return self._rows_in.cells(block)

    def _array(self, index: int, cells: Cells) -> pa.Array:
        column, wire = self._columns[index], self._wires[index]
        kind = column.type.kind
        if is_number(wire):
            return self._converted(index, lambda numbers: _cast(numbers, column), numbers_of(wire, cells))
        if kind is Kind.BINARY:
            return bytes_in(cells)
        if is_moment(wire) and kind.is_temporal:
            try:
                return moments_of(cells, kind)
            except Unfit as unfit:
                shown = self._text_of(index, cells.value(unfit.row) or b"")
                raise Misfit(index, f"value {shown!r} does not fit", unfit.row) from unfit
        if width_of(wire) is not Lengths.ENCODED:
            raise SourceUnavailable(f"column {column.name!r} comes in another form than was described")
        texts = self._texts(index, cells)
        if kind is Kind.STRING:
            return texts
        is_free = column.fidelity is Fidelity.LOSSY
        values = self._converted(index, lambda texts: from_text(texts, column.type, is_free=is_free), texts)
        if kind is Kind.DECIMAL:
            self._converted(index, lambda values: values.validate(full=True), values)
        return values

    def _shown(self, block: bytes, row: int, indexes: Sequence[int]) -> list[str | None]:
        cells = self._rows_in.cells(block)
        return [self._shown_one(i, cells[i].value(row)) for i in indexes]

    def _shown_one(self, index: int, value: bytes | None) -> str | None:
        column = self._columns[index]
        if value is None:
            return None
        is_binary = column.type.kind is Kind.BINARY
        return shown_value(column, "0x" + value.hex() if is_binary else self._text_of(index, value))

    def _text_of(self, index: int, value: bytes) -> str:
        is_instant = self._columns[index].type.kind is Kind.INSTANT
        return text_of(self._wires[index], value) + ("Z" if is_instant else "")


def _cast(numbers: pa.Array, column: Column) -> pa.Array:
    """Give numbers the type of their column.

    Raises:
        ValueError: One has no place in it.
    """
    kind = column.type.kind
    if kind is Kind.BOOL:
        numbers = numbers.cast(pa.uint8())
        if (pc.max(numbers).as_py() or 0) > 1:
            raise ValueError("a value is neither 0 nor 1")
    return numbers.cast(arrow_type(column.type))
