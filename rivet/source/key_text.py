"""Writes the values of a key as text that loses nothing, for the page that goes on behind them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from rivet.plan.calendar import format_day, format_timestamp
from rivet.plan.schema import Column, Kind


def key_texts(last: pa.RecordBatch, key: Sequence[Column]) -> tuple[str, ...]:
    """Write the key of a row: numbers in digits, text as it is, bytes in hex, moments without a zone.

    Args:
        last: One row, none of whose key columns is NULL.
    """
    return tuple(_text(last.column(c.name)[0], c) for c in key)


def _text(value: pa.Scalar, column: Column) -> str:
    kind = column.type.kind
    if kind is Kind.DATE:
        return format_day(value.value)
    if kind.is_temporal:
        return format_timestamp(value.value, utc=False, separator=" ")
    read = value.as_py()
    if isinstance(read, bytes):
        return read.hex()
    if kind is Kind.DECIMAL:
        return format(read, "f")
    if isinstance(read, str | int | float):
        # Of a float the shortest text that gives it back, as a double.
        return str(int(read)) if kind is Kind.BOOL else str(read)
    raise TypeError(f"column {column.name!r} is {column.type}, of which no key can be made")
