"""What a column of dates or timestamps holds, as batches of its values pass by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from rivet.plan.schema import Kind
from rivet.plan.windows import units_per_day
from rivet.plan.zones import DAY_SECONDS
from rivet.source.sqlite import iso
from rivet.source.sqlite.readings import NO_MOMENT


@dataclass(slots=True)
class Span:
    """What a column of dates or timestamps holds.

    Attributes:
        kind: Of the column.
        edges: Seconds of a day that cut it into pieces.
        values: Rows that are not NULL.
        minimum: The smallest that is a date or timestamp, on the axis.
        maximum: The largest, closed.
        by_piece: Rows of each piece of a day that holds any, numbered as `counts_of_pieces` says.
        misfits: Moments of the calendar that are not of the kind, by what stands against it.
        with_t: A `T` stands between date and time somewhere.
        with_space: A space does.
    """

    kind: Kind
    edges: Sequence[int] = (0,)
    values: int = 0
    minimum: int | None = None
    maximum: int | None = None
    by_piece: Counter[int] = field(default_factory=Counter)
    misfits: Counter[str] = field(default_factory=Counter)
    with_t: bool = False
    with_space: bool = False

    @property
    def unrepresentable(self) -> int:
        """Count the values that are no date or timestamp at all."""
        return self.values - self.by_piece.total() - self.misfits.total()

    @property
    def separator(self) -> str | None:
        """Give what stands between date and time, or None where both do, and so text is not in order."""
        if self.with_t and self.with_space:
            return None
        return "T" if self.with_t else " "

    def add(self, examined: pa.Array) -> None:
        """Take account of further rows, as readings say what is examined."""
        self.values += len(examined) - examined.null_count
        if pa.types.is_int64(examined.type):
            values = pc.if_else(pc.equal(examined, NO_MOMENT), pa.scalar(None, pa.int64()), examined)
        else:
            values, misfits = iso.on_axis(examined, self.kind)
            self.misfits += misfits
            if self.kind is Kind.TIMESTAMP:
                texts = examined
                if values.null_count != examined.null_count:
                    texts = pc.if_else(values.is_valid(), examined, None)
                self.with_t = self.with_t or pc.any(pc.match_substring(texts, "T")).as_py() is True
                self.with_space = self.with_space or pc.any(pc.match_substring(texts, " ")).as_py() is True
        ends = pc.min_max(values).as_py()
        if ends["min"] is not None:
            self.minimum = min(ends["min"], ends["min"] if self.minimum is None else self.minimum)
            self.maximum = max(ends["max"], ends["max"] if self.maximum is None else self.maximum)
        for counted in pc.value_counts(self._pieces(values.drop_null())).to_pylist():
            self.by_piece[counted["values"]] += counted["counts"]

    def _pieces(self, values: pa.Array) -> pa.Array:
        if self.kind is Kind.DATE:
            return values
        per_second = units_per_day(self.kind) // DAY_SECONDS
        numbers = [
            pc.subtract(values, edge * per_second)
            .cast(pa.timestamp("us"))
            .cast(pa.date32())
            .cast(pa.int32())
            .cast(pa.int64())
            for edge in self.edges
        ]
        pieces = numbers[0]
        for number in numbers[1:]:
            pieces = pc.add(pieces, number)
        return pieces
