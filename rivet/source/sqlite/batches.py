"""Turns the driver's batches into those of the contract, without a Python object for each value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from rivet.errors import ColumnError
from rivet.plan.schema import Column, Kind
from rivet.source.arrow import arrow_schema
from rivet.source.misfit import Misfit, first_refused, in_row, shortened, worded
from rivet.source.sqlite import iso
from rivet.source.sqlite.errors import translated
from rivet.source.sqlite.stream import RowStream
from rivet.source.sqlite.types import misfit_hint, override_hint

_MISMATCH = re.compile(r"Type mismatch in column (\d+)")
_TEXT_KINDS = (Kind.STRING, Kind.JSON)
_BYTES_HINT = "write {} for the bytes, or leave it out with `exclude`"


class SqliteBatches:
    """The rows of one scan; see the protocol of batches.

    SQLite says how many rows it gave only by giving them, so `server_rows` are those that came before its
    end of data.

    Args:
        nulled: Names of the columns that have a marker.
        row_names: Names of the columns by whose values people find a row.
        count_bad_texts: Counts, in all rows, the texts of a column that are not valid UTF-8.
    """

    def __init__(
        self,
        stream: RowStream,
        columns: Sequence[Column],
        nulled: frozenset[str],
        row_names: Sequence[str],
        count_bad_texts: Callable[[Column], int],
    ) -> None:
        self._stream = stream
        self._columns = columns
        marked = [pa.field(c.name, pa.bool_()) for c in columns if c.name in nulled]
        self._schema = pa.schema([*arrow_schema(columns), *marked])
        self._tellers = [i for name in row_names for i, c in enumerate(columns) if c.name == name]
        self._count_bad_texts = count_bad_texts
        self._rows = 0
        self._server_rows: int | None = None

    def __enter__(self) -> Self:
        self._stream.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.__exit__(kind, error, trace)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        steps = iter(self._stream)
        while (step := self._next(steps)) is not None:
            batch = self._typed(step)
            self._rows += batch.num_rows
            yield batch
        self._server_rows = self._rows

    @property
    def server_rows(self) -> int:
        """Give the rows that came before the end of data."""
        if self._server_rows is None:
            raise RuntimeError("the rows are counted only once all batches were read")
        return self._server_rows

    def _next(self, steps: Iterator[pa.Table]) -> pa.Table | None:
        with translated("the source failed while it was read"):
            try:
                return next(steps, None)
            except OSError as exc:
                mismatch = _MISMATCH.search(str(exc))
                if mismatch is None:
                    raise
                raise _problem(self._columns[int(mismatch[1])], "a value is of another class") from exc

    def _typed(self, table: pa.Table) -> pa.RecordBatch:
        try:
            arrays = [self._array(index, table) for index in range(len(self._columns))]
        except Misfit as misfit:
            raise self._column_error(misfit, table) from misfit
        markers = [values.chunk(0).cast(pa.bool_()) for values in table.columns[len(self._columns) :]]
        return pa.RecordBatch.from_arrays([*arrays, *markers], schema=self._schema)

    def _array(self, index: int, table: pa.Table) -> pa.Array:
        column, wanted = self._columns[index], self._schema.types[index]
        values = table.column(index).chunk(0)
        try:
            return _exact(values, column.type.kind, wanted)
        except pa.ArrowInvalid as exc:
            row = first_refused(values, lambda some: _exact(some, column.type.kind, wanted))
            raise Misfit(index, str(exc), row) from exc

    def _column_error(self, misfit: Misfit, table: pa.Table) -> ColumnError:
        column, what, hint = self._columns[misfit.index], worded(str(misfit)), None
        if column.type.kind in _TEXT_KINDS:
            what, hint = self._bad_texts(column), _BYTES_HINT.format(override_hint(column.name, "binary"))
        place = "" if misfit.row is None else ", " + self._place_of(table, misfit.row)
        return _problem(column, what + place, hint)

    def _place_of(self, table: pa.Table, row: int) -> str:
        found = []
        for index in self._tellers:
            try:
                value = self._array(index, table)[row].as_py()
            except Misfit:
                value = table.column(index)[row].cast(pa.binary()).as_py().decode(errors="backslashreplace")
            found.append((self._columns[index].name, value))
        return in_row(self._rows + row + 1, [(name, _shown(value)) for name, value in found])

    def _bad_texts(self, column: Column) -> str:
        with translated("cannot count the texts that are not valid UTF-8"):
            count = self._count_bad_texts(column)
        return "1 text is not valid UTF-8" if count == 1 else f"{count:,} texts are not valid UTF-8, one"


def _exact(values: pa.Array, kind: Kind, wanted: pa.DataType) -> pa.Array:
    if kind in _TEXT_KINDS:
        values.validate(full=True)
    cast = _cast(values, kind, wanted)
    # Arrow rounds to the nearest float without a word.
    if kind is Kind.FLOAT32 and pc.all(pc.equal(cast, values)).as_py() is False:
        raise pa.ArrowInvalid("a value lies between two of them")
    return cast


def _shown(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bytes):
        return "0x" + shortened(value.hex())
    return repr(shortened(value)) if isinstance(value, str) else str(value)


def _cast(values: pa.Array, kind: Kind, arrow_type: pa.DataType) -> pa.Array:
    if kind is Kind.DATE and pa.types.is_int64(values.type):
        return values.cast(pa.int32()).cast(arrow_type)
    try:
        return values.cast(arrow_type)
    except pa.ArrowInvalid:
        if not (kind.is_temporal and pa.types.is_string(values.type)):
            raise
        read, _ = iso.on_axis(values, kind)  # Arrow does not know all forms
        if read.null_count != values.null_count:
            raise
        return read.cast(arrow_type)


def _problem(column: Column, what: str, hint: str | None = None) -> ColumnError:
    return ColumnError(
        f"column {column.name!r} ({column.source_type}) cannot be exported as {column.type}: {what}",
        hint=hint or misfit_hint(column.name),
    )
