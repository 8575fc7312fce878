"""Turns blocks of COPY's binary form into typed Arrow batches. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from rivet.plan.schema import Column, Fidelity, Kind
from rivet.source.cells import Cells, Unfit, bytes_in
from rivet.source.decoding import Decoder
from rivet.source.from_text import from_text
from rivet.source.misfit import Misfit, shown_value
from rivet.source.postgres.sent import Sent, text_of
from rivet.source.postgres.tuples import TupleReader
from rivet.source.postgres.values import WIDTHS, array_of


class BinaryDecoder(Decoder):
    """Decode blocks of COPY's binary form, all of one stream, in order.

    Args:
        sent: In what form each column comes, by name; markers come as truth values.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        sent: Mapping[str, Sent],
        *,
        nulled: Sequence[str] = (),
        row_names: Sequence[str] = (),
    ) -> None:
        super().__init__(columns, nulled=nulled, row_names=row_names)
        self._sent = [*(sent[c.name] for c in columns), *(Sent.BOOL for _ in nulled)]
        self._tuples = TupleReader([WIDTHS.get(form) for form in self._sent])

    @property
    def has_ended(self) -> bool:
        """Tell whether the block that ends the data was decoded."""
        return self._tuples.has_ended

    def _cells(self, block: bytes) -> Sequence[Cells]:
        return self._tuples.cells(block)

    def _array(self, index: int, cells: Cells) -> pa.Array:
        column, form = self._columns[index], self._sent[index]
        if form is Sent.TEXT:
            return self._typed(index, self._texts(index, cells))
        if form is Sent.BYTES:
            return bytes_in(cells)
        try:
            return array_of(form, cells, column.type)
        except Unfit as unfit:
            shown = text_of(form, cells.value(unfit.row) or b"")
            is_finite = form is Sent.NUMERIC and shown[-1].isdigit()
            why = f"has more digits than a {column.type}" if is_finite else "does not fit"
            raise Misfit(index, f"value {shown!r} {why}", unfit.row) from unfit

    def _typed(self, index: int, texts: pa.Array) -> pa.Array:
        column = self._columns[index]
        if column.type.kind is Kind.STRING:
            return texts
        is_free = column.fidelity is Fidelity.LOSSY
        return self._converted(index, lambda texts: from_text(texts, column.type, is_free=is_free), texts)

    def _shown(self, block: bytes, row: int, indexes: Sequence[int]) -> list[str | None]:
        cells = self._tuples.cells(block)
        values = ((i, cells[i].value(row)) for i in indexes)
        return [
            None if value is None else shown_value(self._columns[i], text_of(self._sent[i], value))
            for i, value in values
        ]
