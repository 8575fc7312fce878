"""Parts depend on the rows alone, not on the batches in which a source handed them over."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivet.destination.memory import MemoryDestination
from rivet.export.parts import ParquetSettings, PartitionWriter
from rivet.export.row_groups import RowGroup
from rivet.export.staged import StagedFile
from rivet.manifest.model import Part

UUIDS = pa.list_(pa.field("element", pa.uuid()))
STORED = pa.list_(pa.field("element", pa.binary(16)))
SCHEMA = pa.schema(
    {
        "flag": pa.bool_(),
        "id": pa.int64(),
        "price": pa.decimal128(12, 2),
        "text": pa.string(),
        "bytes": pa.binary(),
        "moment": pa.timestamp("us"),
        "list": pa.list_(pa.field("element", pa.string())),
        "numbers": pa.list_(pa.field("element", pa.int32())),
        "uuid": pa.uuid(),
        "uuids": UUIDS,
        "json": pa.json_(pa.string()),
        "span": pa.duration("us"),
    }
)


def rows(count: int) -> pa.RecordBatch:
    """Make rows of very different sizes, with NULLs only in some stretches."""
    columns: list[Sequence[Any]] = [
        [None if i % 7 == 3 else i % 2 == 0 for i in range(count)],
        list(range(count)),
        [None if 1_000 < i < 1_500 else i for i in range(count)],
        [None if i < 40 else f"{i * 7919 % 10_007:x}" * (i % 200) for i in range(count)],
        [b"\0" * (3_000 if i % 997 == 5 else i % 3) for i in range(count)],
        [i // 50 for i in range(count)],
        [None if i % 11 == 4 else [None, "é" * (i % 31)][: i % 3] for i in range(count)],
        [None if 2_000 < i < 2_100 else list(range(500 if i % 499 == 7 else i % 4)) for i in range(count)],
        [None if i % 5 == 0 else uuid(i) for i in range(count)],
        [[None, uuid(i)] if i % 3 else [] for i in range(count)],
        [None if i < 3_000 else f'{{"i": {i}}}' for i in range(count)],
        [-i for i in range(count)],
    ]
    arrays = [array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def array(values: Sequence[Any], arrow_type: pa.DataType) -> pa.Array:
    """Make a column; Arrow itself makes no lists of its extension types."""
    if arrow_type == UUIDS:
        return pa.array(values, STORED).cast(arrow_type)
    return pa.array(values, arrow_type)


def uuid(number: int) -> bytes:
    """Make the bytes of a UUID."""
    return number.to_bytes(16, "big")


ROWS = rows(6_000)  # the texts fill several pages


def copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Give a batch of its own buffers, which has a bitmap only where it has NULLs."""
    columns = [c.cast(STORED) if c.type == UUIDS else c for c in batch.columns]
    arrays = [array(c.to_pylist(), t) for c, t in zip(columns, batch.schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def grouped(batches: Sequence[pa.RecordBatch], max_rows: int, max_bytes: int) -> list[RowGroup]:
    """Gather batches into row groups as the stager does."""
    groups = [RowGroup(max_rows, max_bytes)]
    for batch in batches:
        left = batch
        while (left := groups[-1].fill(left)).num_rows:
            groups.append(RowGroup(max_rows, max_bytes))
    return groups


def parts_of(batches: Sequence[pa.RecordBatch], max_file_size_bytes: int) -> list[tuple[Part, bytes]]:
    """Write batches as parts, and give what is said of each with its bytes."""
    destination = MemoryDestination()
    written = ParquetSettings("zstd", None, max_file_size_bytes, None, None)

    def stage(number: int) -> tuple[str, StagedFile]:
        return f"{number}.parquet", destination.stage(f"{number}.parquet", "20230101T000000Z-00000000")

    writer = PartitionWriter(written, stage, lambda file: file.finish())
    for group in grouped(batches, 5_000, written.row_group_bytes):
        writer.write(group)
    parts = writer.close()
    destination.publish([part.file for part in parts])
    return [(part.facts, destination.read(part.facts.path)) for part in parts]


@cache
def parts_of_all(max_file_size_bytes: int) -> list[tuple[Part, bytes]]:
    """Write all rows as one batch, and see that they can be read back."""
    parts = parts_of([ROWS], max_file_size_bytes)
    read = [pq.read_table(pa.BufferReader(data)) for _, data in parts]
    assert pa.concat_tables(read).equals(pa.Table.from_batches([ROWS]))
    return parts


@pytest.mark.parametrize("max_file_size_bytes", [200_000, 256 * 1024**2])
@settings(max_examples=12)
@given(cuts=st.sets(st.integers(1, len(ROWS) - 1), max_size=6), owned=st.booleans())
def test_parts_do_not_depend_on_batches(max_file_size_bytes: int, cuts: set[int], owned: bool) -> None:
    """However the rows are cut, and whether a batch is a slice or not, each part is the same to the byte."""
    ends = [0, *sorted(cuts), len(ROWS)]
    batches = [ROWS.slice(start, end - start) for start, end in pairwise(ends)]

    parts = parts_of([copied(b) for b in batches] if owned else batches, max_file_size_bytes)

    assert parts == parts_of_all(max_file_size_bytes)


def test_a_row_group_ends_before_it_is_too_large() -> None:
    """It holds as many rows or bytes as it may, and one row at least."""
    assert [g.table().num_rows for g in grouped([ROWS], 1_024, 10**9)] == [1_024] * 5 + [880]

    groups = grouped([ROWS], 10**9, 10_000)

    assert all(6_000 < g.size_bytes <= 10_000 for g in groups[:-1])
    assert {g.table().num_rows for g in grouped([ROWS], 10**9, 1)} == {1}


def test_values_in_lists_have_dictionaries_and_statistics_as_others_do() -> None:
    """Where values repeat they have a dictionary, in lists too, and every column of values has statistics."""
    ((_, data),) = parts_of_all(256 * 1024**2)
    group = pq.ParquetFile(pa.BufferReader(data)).metadata.row_group(0)
    columns = {c.path_in_schema: c for c in map(group.column, range(group.num_columns))}

    assert all(c.is_stats_set and c.has_column_index for c in columns.values())
    with_dictionary = {path for path, c in columns.items() if c.has_dictionary_page}
    assert with_dictionary == {"moment", "bytes", "json", "list.list.element"}
