"""Parts depend on the rows alone, not on the batches in which a source handed them over."""

from __future__ import annotations

from collections.abc import Sequence
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
from rivet.export.staged import StagedFile, StagedPart

SCHEMA = pa.schema(
    {
        "flag": pa.bool_(),
        "id": pa.int64(),
        "price": pa.decimal128(12, 2),
        "text": pa.string(),
        "bytes": pa.binary(),
        "moment": pa.timestamp("us"),
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
    ]
    return pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


ROWS = rows(6_000)  # the texts fill several pages


def copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Give a batch of its own buffers, which has a bitmap only where it has NULLs."""
    return pa.RecordBatch.from_pylist(batch.to_pylist(), schema=batch.schema)


def grouped(batches: Sequence[pa.RecordBatch], max_rows: int, max_bytes: int) -> list[RowGroup]:
    """Gather batches into row groups as the stager does."""
    groups = [RowGroup(max_rows, max_bytes)]
    for batch in batches:
        left = batch
        while (left := groups[-1].fill(left)).num_rows:
            groups.append(RowGroup(max_rows, max_bytes))
    return groups


def parts_of(batches: Sequence[pa.RecordBatch], max_file_size_bytes: int) -> tuple[StagedPart, ...]:
    """Write batches as parts."""
    destination = MemoryDestination()
    written = ParquetSettings("zstd", None, max_file_size_bytes, None, None)

    def stage(number: int) -> tuple[str, StagedFile]:
        return f"{number}.parquet", destination.stage(f"{number}.parquet", "20230101T000000Z-00000000")

    writer = PartitionWriter(SCHEMA, written, stage, lambda file: file.finish())
    for group in grouped(batches, 5_000, written.row_group_bytes):
        writer.write(group)
    parts = writer.close()
    for part in parts:
        part.file.publish()
    read = [pq.read_table(pa.BufferReader(destination.read(part.facts.path))) for part in parts]
    assert pa.concat_tables(read).equals(pa.Table.from_batches([ROWS]))
    return parts


@pytest.mark.parametrize("max_file_size_bytes", [100_000, 256 * 1024**2])
@settings(max_examples=20)
@given(cuts=st.sets(st.integers(1, len(ROWS) - 1), max_size=6), owned=st.booleans())
def test_parts_do_not_depend_on_batches(max_file_size_bytes: int, cuts: set[int], owned: bool) -> None:
    """However the rows are cut, and whether a batch is a slice or not, each part is the same to the byte."""
    ends = [0, *sorted(cuts), len(ROWS)]
    batches = [ROWS.slice(start, end - start) for start, end in pairwise(ends)]

    parts = parts_of([copied(b) for b in batches] if owned else batches, max_file_size_bytes)

    assert [p.facts for p in parts] == [p.facts for p in parts_of([ROWS], max_file_size_bytes)]


def test_a_row_group_ends_before_it_is_too_large() -> None:
    """It holds as many rows or bytes as it may, and one row at least."""
    assert [g.table().num_rows for g in grouped([ROWS], 1_024, 10**9)] == [1_024] * 5 + [880]

    groups = grouped([ROWS], 10**9, 10_000)

    assert all(6_000 < g.size_bytes <= 10_000 for g in groups[:-1])
    assert {g.table().num_rows for g in grouped([ROWS], 10**9, 1)} == {1}
