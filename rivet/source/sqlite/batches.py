"""Turns the driver's batches into those of the contract, without a Python object for each value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

import pyarrow as pa

from rivet.errors import ColumnError
from rivet.plan.schema import Column, Kind
from rivet.source.arrow import arrow_schema
from rivet.source.sqlite.errors import translated
from rivet.source.sqlite.stream import RowStream
from rivet.source.sqlite.types import cast_hint

_MISMATCH = re.compile(r"Type mismatch in column (\d+)")


class SqliteBatches:
    """The rows of one scan; see the protocol of batches.

    SQLite says how many rows it gave only by giving them, so `server_rows` are those that came before its
    end of data.
    """

    def __init__(self, stream: RowStream, columns: Sequence[Column]) -> None:
        self._stream = stream
        self._columns = columns
        self._schema = arrow_schema(columns)
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
        rows = 0
        while (step := self._next(steps)) is not None:
            rows += step.num_rows
            yield self._typed(step)
        self._server_rows = rows

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
                raise self._problem(self._columns[int(mismatch[1])], "a value is of another class") from exc

    def _typed(self, table: pa.Table) -> pa.RecordBatch:
        arrays = [
            self._array(column, values.chunk(0), arrow_type)
            for column, values, arrow_type in zip(
                self._columns, table.columns, self._schema.types, strict=True
            )
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _array(self, column: Column, values: pa.Array, arrow_type: pa.DataType) -> pa.Array:
        try:
            if column.type.kind is Kind.STRING:
                values.validate(full=True)
            return values.cast(arrow_type)
        except pa.ArrowInvalid as exc:
            what = "a text is not valid UTF-8" if column.type.kind is Kind.STRING else str(exc)
            raise self._problem(column, what) from exc

    def _problem(self, column: Column, what: str) -> ColumnError:
        hint = "mend the bytes in the database" if column.type.kind is Kind.STRING else cast_hint(column.name)
        return ColumnError(
            f"column {column.name!r} ({column.source_type}) cannot be exported as {column.type}: {what}",
            hint=f"{hint}, or leave it out with `exclude`",
        )
