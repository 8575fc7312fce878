"""What the rows of a batch or a table say of when they were last changed: the values of the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from rivet.plan.cursor import Cursor, CursorValue
from rivet.plan.cursor_range import CursorRange


@dataclass(slots=True)
class RangeOfCursor:
    """The values of the cursor in a part, as its rows are written."""

    cursor: Cursor
    minimum: CursorValue | None = None
    maximum: CursorValue | None = None
    null_rows: int = 0

    def note(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Take further rows into account."""
        values = cursor_values(rows, self.cursor)
        self.null_rows += values.null_count
        ends = pc.min_max(values)
        least, most = _plain(ends["min"]), _plain(ends["max"])
        if least is not None and most is not None:
            self.minimum = least if self.minimum is None else min(self.minimum, least)
            self.maximum = most if self.maximum is None else max(self.maximum, most)

    def to_json(self) -> dict[str, object]:
        """Write what was found as a further key of a part."""
        return CursorRange(self.minimum, self.maximum, self.null_rows).to_json(self.cursor.kind)


def cursor_values(rows: pa.RecordBatch | pa.Table, cursor: Cursor) -> pa.Array | pa.ChunkedArray:
    """Give the value of each row: the column's own, or, where it is NULL, that of the fallback."""
    values = rows.column(cursor.column.name)
    return values if cursor.fallback is None else pc.coalesce(values, rows.column(cursor.fallback.name))


def reaches(values: pa.Array, since: CursorValue) -> pa.BooleanArray:
    """Tell of each value whether it is not below a bound; NULL is not."""
    if pa.types.is_decimal(values.type):  # of another scale than the bound, maybe
        return pa.array([v is not None and v >= since for v in values.to_pylist()], pa.bool_())
    numbers = (
        values.cast(_INTEGERS.get(values.type.bit_width, values.type))
        if pa.types.is_temporal(values.type)
        else values
    )
    least, most = _limits(numbers.type)
    if since > most:
        return pa.array([False] * len(values), pa.bool_())
    bound = pa.scalar(max(int(since), least), numbers.type)
    return pc.fill_null(pc.greater_equal(numbers, bound), fill_value=False)


_INTEGERS = {32: pa.int32(), 64: pa.int64()}


def _limits(kind: pa.DataType) -> Sequence[int]:
    """Give the least and the greatest value of a type of whole numbers, both closed."""
    if pa.types.is_unsigned_integer(kind):
        return 0, 2**kind.bit_width - 1
    return -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1


def _plain(scalar: pa.Scalar) -> CursorValue | None:
    value: CursorValue | None = scalar.value if pa.types.is_temporal(scalar.type) else scalar.as_py()
    return value
