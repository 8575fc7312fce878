"""Reads what a Parquet file says of itself: rows, schema, and the span of the partition column."""

from __future__ import annotations

import io
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rivet.manifest.verify import Footer
from rivet.validate.thrift import decode_struct

_BATCH_ROWS = 131_072
# Thousands of columns in hundreds of row groups have no more.
MAX_FOOTER_BYTES = 64 * 1024**2

# Arrow's own spelling of types where a manifest has another.
_TYPE_NAMES = {
    "float": "float32",
    "double": "float64",
    "date32[day]": "date32",
    "timestamp[us, tz=UTC]": "timestamp[us, UTC]",
}
# The integers that stand for the values of a partition column, on its axis.
_AXIS_TYPES = {
    pa.date32(): pa.int32(),
    pa.timestamp("us"): pa.int64(),
    pa.timestamp("us", tz="UTC"): pa.int64(),
}

# NULL rows, minimum and maximum.
_Span = tuple[int, int | None, int | None]


def read_footer(file: BinaryIO, column: str | None, *, from_rows: bool) -> Footer:
    """Read a part's footer; a file that is damaged raises nearly anything.

    Args:
        column: The partition column, or None.
        from_rows: Take its span from the rows themselves, not from statistics, which may lie.
    """
    parquet = pq.ParquetFile(file)
    schema = parquet.schema_arrow
    described = tuple((f.name, type_name(f.type), f.nullable) for f in schema)
    rows = parquet.metadata.num_rows
    index = -1 if column is None else schema.get_field_index(column)
    integers = _AXIS_TYPES.get(schema.field(index).type) if index >= 0 else None
    if column is None or integers is None:
        return Footer(rows, described)
    span = None if from_rows else _span_of_statistics(_metadata(file), column, integers.byte_width)
    return Footer(rows, described, *(span or _span_of_rows(parquet, column)))


def footer_bytes(file: BinaryIO) -> int:
    """Give the length of a part's footer, of which its last bytes tell.

    Raises:
        ValueError: It is more than the file has, or than `MAX_FOOTER_BYTES`.
    """
    end = file.seek(0, io.SEEK_END)
    file.seek(max(0, end - 8))
    length = int.from_bytes(file.read(4), "little")
    file.seek(0)
    if length > min(end, MAX_FOOTER_BYTES):
        raise ValueError(
            f"the file of {end} bytes has a footer of {length}, expected at most {MAX_FOOTER_BYTES}"
        )
    return length


def type_name(arrow_type: pa.DataType) -> str:
    """Name an Arrow type as a manifest's schema does."""
    if pa.types.is_decimal128(arrow_type):
        return f"decimal128({arrow_type.precision},{arrow_type.scale})"
    if pa.types.is_list(arrow_type):
        return f"list<{type_name(arrow_type.value_type)}>"
    if isinstance(arrow_type, pa.BaseExtensionType):
        return str(arrow_type.extension_name).removeprefix("arrow.")
    name = str(arrow_type)
    return _TYPE_NAMES.get(name, name)


def _metadata(file: BinaryIO) -> dict[int, Any]:
    """Give the struct `FileMetaData` of parquet.thrift; its length and a magic word end the file."""
    end = file.seek(-8, io.SEEK_END)
    length = int.from_bytes(file.read(4), "little")
    file.seek(end - length)
    return decode_struct(file.read(length))


def _span_of_statistics(metadata: dict[int, Any], column: str, byte_width: int) -> _Span | None:
    """Give the span; None where a row group has no statistics of it.

    The numbers are field ids of parquet.thrift.
    """
    nulls, bounds = 0, list[int]()
    for group in metadata[4]:  # RowGroup
        chunk = next(c[3] for c in group[1] if c[3][3] == [column.encode()])  # ColumnMetaData
        statistics = chunk.get(12, {})
        null_count, minimum, maximum = (statistics.get(field) for field in (3, 6, 5))
        if null_count is None:
            return None
        nulls += null_count
        if minimum is not None and maximum is not None:
            if len(minimum) != byte_width or len(maximum) != byte_width:
                raise ValueError(f"the statistics of {column!r} are not of {byte_width} bytes")
            bounds += (int.from_bytes(bound, "little", signed=True) for bound in (minimum, maximum))
        elif null_count != group[3]:
            return None
    return nulls, min(bounds, default=None), max(bounds, default=None)


def _span_of_rows(parquet: pq.ParquetFile, column: str) -> _Span:
    nulls, bounds = 0, list[int]()
    for batch in parquet.iter_batches(_BATCH_ROWS, columns=[column], use_threads=False):
        values = batch.column(batch.schema.get_field_index(column))
        nulls += values.null_count
        span = pc.min_max(values.view(_AXIS_TYPES[values.type])).as_py()
        bounds += [bound for bound in span.values() if bound is not None]
    return nulls, min(bounds, default=None), max(bounds, default=None)
