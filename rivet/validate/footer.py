"""Reads what a Parquet file says of itself: rows, schema, and the span of the partition column."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from rivet.manifest.verify import Footer
from rivet.validate.thrift import Reader

_BATCH_ROWS = 131_072
# Thousands of columns in hundreds of row groups have no more.
MAX_FOOTER_BYTES = 64 * 1024**2
# Nearly every footer of one row group is in it; of a store, four times as much is there by now.
_TAIL_BYTES = 16 * 1024
# A file ends with the length of its footer and a magic word.
_TRAILER_BYTES = 8

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


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a part.

    Attributes:
        data: Some of the last bytes, or all there are.
        footer_bytes: The length of the footer by its own word, without what follows it.
    """

    data: bytes
    footer_bytes: int


def read_tail(file: BinaryIO) -> Tail:
    """Read the end of a part, which tells how long its footer is.

    Raises:
        ValueError: It is longer than the file, or than `MAX_FOOTER_BYTES`.
    """
    size_bytes = file.seek(0, io.SEEK_END)
    file.seek(max(0, size_bytes - _TAIL_BYTES))
    data = file.read(_TAIL_BYTES)
    length = int.from_bytes(data[-_TRAILER_BYTES:][:4], "little")
    if length > min(size_bytes, MAX_FOOTER_BYTES):
        raise ValueError(
            f"the file of {size_bytes} bytes has a footer of {length}, expected at most {MAX_FOOTER_BYTES}"
        )
    return Tail(data, length)


def read_footer(file: BinaryIO, tail: Tail, column: str | None, *, from_rows: bool) -> Footer:
    """Read a part's footer; a file that is damaged raises nearly anything.

    Args:
        column: The partition column, or None.
        from_rows: Take its span from the rows themselves, not from statistics, which may lie.
    """
    end = _end_of(file, tail)
    parquet = pq.ParquetFile(pa.BufferReader(end))
    schema, metadata = parquet.schema_arrow, parquet.metadata
    described = tuple([(f.name, type_name(f.type), f.nullable) for f in schema])
    index = -1 if column is None else schema.get_field_index(column)
    integers = _AXIS_TYPES.get(schema.field(index).type) if index >= 0 else None
    if column is None or integers is None:
        return Footer(metadata.num_rows, described)
    span = None
    if not from_rows:
        span = _span_of_statistics(end, metadata.num_row_groups, column, integers.byte_width)
    if span is None:
        span = _span_of_rows(pq.ParquetFile(file, metadata=metadata), column)
    return Footer(metadata.num_rows, described, *span)


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


def _end_of(file: BinaryIO, tail: Tail) -> bytes:
    """Give the footer and what follows it, which to pyarrow is a file as far as it holds no rows."""
    length = tail.footer_bytes + _TRAILER_BYTES
    if length <= len(tail.data):
        return tail.data[-length:]
    file.seek(-length, io.SEEK_END)
    return file.read(length)


def _span_of_statistics(footer: bytes, row_groups: int, column: str, byte_width: int) -> _Span | None:
    """Give the span; None where a row group has no statistics of it.

    The numbers are field ids of parquet.thrift.

    Raises:
        ValueError: The statistics are those of another type, or a row group has not got the column.
    """
    seen, nulls, bounds = 0, 0, list[int]()
    for chunk in islice(_chunks(footer, column), row_groups):
        seen += 1
        statistics = chunk.get(12, {})
        null_count, minimum, maximum = (statistics.get(field) for field in (3, 6, 5))
        if null_count is None:
            return None
        nulls += null_count
        if minimum is not None and maximum is not None:
            if len(minimum) != byte_width or len(maximum) != byte_width:
                raise ValueError(f"the statistics of {column!r} are not of {byte_width} bytes")
            bounds += (int.from_bytes(bound, "little", signed=True) for bound in (minimum, maximum))
        elif null_count != chunk[5]:
            return None
    if seen != row_groups:
        raise ValueError(f"{column!r} is in {seen} of {row_groups} row groups")
    return nulls, min(bounds, default=None), max(bounds, default=None)


def _chunks(footer: bytes, column: str) -> Iterator[dict[int, Any]]:
    """Give what `ColumnMetaData` says of a column in each row group; what comes after is not looked at."""
    path = [column.encode()]
    reader = Reader(footer)
    for field in reader.fields():  # FileMetaData
        if field == 4:
            for _ in reader.elements():
                yield from _chunks_of_group(reader, path)


def _chunks_of_group(reader: Reader, path: list[bytes]) -> Iterator[dict[int, Any]]:
    is_found = False
    for field in reader.fields():  # RowGroup
        if field == 1:
            for _ in reader.elements():
                if not is_found and (chunk := _chunk(reader, path)) is not None:
                    is_found = True
                    yield chunk


def _chunk(reader: Reader, path: list[bytes]) -> dict[int, Any] | None:
    """Take a `ColumnChunk`: give number of values and statistics of the column, None of another one."""
    taken: dict[int, Any] = {}
    for field in reader.fields():
        if field == 3:
            for inner in reader.fields():
                if inner == 3 or (inner in (5, 12) and taken.get(3) == path):
                    taken[inner] = reader.value()
    return taken if taken.get(3) == path else None


def _span_of_rows(parquet: pq.ParquetFile, column: str) -> _Span:
    import pyarrow.compute as pc  # takes longer than all the footers of a year

    nulls, bounds = 0, list[int]()
    for batch in parquet.iter_batches(_BATCH_ROWS, columns=[column], use_threads=False):
        values = batch.column(batch.schema.get_field_index(column))
        nulls += values.null_count
        span = pc.min_max(values.view(_AXIS_TYPES[values.type])).as_py()
        bounds += [bound for bound in span.values() if bound is not None]
    return nulls, min(bounds, default=None), max(bounds, default=None)
