"""Reads parts that stand one behind the other, and compares the rows of two rows of parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from rivet.errors import IntegrityError, ObjectNotFound
from rivet.export.bits import bits_of
from rivet.export.readable import WRITE_ANEW, ReadablePart

_BATCH_ROWS = 65_536


def rows_of(parts: Sequence[ReadablePart]) -> Iterator[pa.RecordBatch]:
    """Give the rows of parts in their order, in batches of at most a row group.

    Raises:
        IntegrityError: A part is gone, is no Parquet file, or has other columns than the first.
    """
    schema: pa.Schema | None = None
    for part in parts:
        try:
            with part.open() as opened:
                file = pq.ParquetFile(opened)
                own = pa.schema([field.remove_metadata() for field in file.schema_arrow])
                if schema is not None and own != schema:
                    raise IntegrityError(
                        f"{part.name} has other columns than the parts beside it", hint=WRITE_ANEW
                    )
                schema = own
                for batch in file.iter_batches(_BATCH_ROWS):
                    if batch.num_rows:
                        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        except (pa.ArrowException, ObjectNotFound) as error:
            raise IntegrityError(f"{part.name} cannot be read", hint=WRITE_ANEW) from error


def are_same(ours: Iterator[pa.RecordBatch], theirs: Iterator[pa.RecordBatch]) -> bool:
    """Tell whether the same rows come in the same order, however they are cut; floats by their bits."""
    left: pa.RecordBatch | None = None
    for batch in ours:
        rows = batch
        while rows.num_rows:
            left = next(theirs, None) if left is None or not left.num_rows else left
            if left is None:
                return False
            count = min(rows.num_rows, left.num_rows)
            if not _equal(rows.slice(0, count), left.slice(0, count)):
                return False
            rows, left = rows.slice(count), left.slice(count)
    return (left is None or not left.num_rows) and next(theirs, None) is None


def _equal(one: pa.RecordBatch, other: pa.RecordBatch) -> bool:
    if one.schema != other.schema:
        return False
    pairs = zip(one.columns, other.columns, strict=True)
    return all(
        mine.equals(theirs)
        for column, another in pairs
        for mine, theirs in zip(_exact(column), _exact(another), strict=True)
    )


def _exact(values: pa.Array) -> Iterator[pa.Array]:
    """Give what must be equal for values to be the same: of a list its lengths and elements."""
    bits = bits_of(values)
    if pa.types.is_list(bits.type):
        yield bits.value_lengths()
        yield from _exact(bits.flatten())
    else:
        yield bits
