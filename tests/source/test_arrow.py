"""What readers make of the kinds that have no plain place in Parquet."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from uuid import UUID

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rivet.plan.schema import Column, ColumnType, Kind
from rivet.source.arrow import arrow_schema
from rivet.source.from_text import from_text

ONE = UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
COLUMNS = [
    Column("numbers", ColumnType(Kind.LIST, element=ColumnType(Kind.INT32)), "integer[]"),
    Column("ids", ColumnType(Kind.LIST, element=ColumnType(Kind.UUID)), "uuid[]"),
    Column("span", ColumnType(Kind.DURATION), "time"),
    Column("id", ColumnType(Kind.UUID), "uuid"),
    Column("document", ColumnType(Kind.JSON), "jsonb"),
]
VALUES = {
    "numbers": ['["1",null]', "[]", None],
    "ids": [f'["{ONE}",null]', "[]", None],
    "span": ["-00:00:01", None, None],
    "id": [str(ONE), None, None],
    "document": ['{"a": 1}', None, None],
}


@pytest.fixture
def part(tmp_path: Path) -> Path:
    """Write a row of values, one of empty lists and one of NULLs."""
    path = tmp_path / "part.parquet"
    arrays = [from_text(pa.array(VALUES[c.name], pa.string()), c.type) for c in COLUMNS]
    pq.write_table(pa.Table.from_arrays(arrays, schema=arrow_schema(COLUMNS)), path)
    return path


def test_parquet_says_what_they_are(part: Path) -> None:
    """Lists have the three levels of the format's rule; UUID and JSON their types; a duration none."""
    schema = pq.ParquetFile(part).schema
    leaves = {c.path: (c.physical_type, str(c.logical_type)) for c in map(schema.column, range(len(schema)))}

    assert leaves == {
        "numbers.list.element": ("INT32", "None"),
        "ids.list.element": ("FIXED_LEN_BYTE_ARRAY", "UUID"),
        "span": ("INT64", "None"),
        "id": ("FIXED_LEN_BYTE_ARRAY", "UUID"),
        "document": ("BYTE_ARRAY", "JSON"),
    }


def test_pyarrow_reads_the_same_schema(part: Path) -> None:
    """Types and the names of the source's types come back as they were."""
    table = pq.read_table(part)

    assert table.schema.equals(arrow_schema(COLUMNS), check_metadata=True)
    assert [c.to_pylist()[0] for c in table.columns] == [
        [1, None],
        [ONE, None],
        timedelta(seconds=-1),
        ONE,
        '{"a": 1}',
    ]


def test_duckdb_reads_them(part: Path) -> None:
    """It knows lists, UUID and JSON, and takes a duration for its microseconds."""
    read = duckdb.read_parquet(str(part))

    assert [str(t) for t in read.types] == ["INTEGER[]", "UUID[]", "BIGINT", "UUID", "JSON"]
    assert read.fetchall() == [
        ([1, None], [ONE, None], -1_000_000, ONE, '{"a": 1}'),
        ([], [], None, None, None),
        (None, None, None, None, None),
    ]


def test_polars_reads_them(part: Path) -> None:
    """It knows lists and durations, takes a UUID for its bytes, and JSON for text."""
    read = pl.scan_parquet(part).collect()

    assert read.dtypes[:4] == [pl.List(pl.Int32), pl.List(pl.Binary), pl.Duration("us"), pl.Binary]
    assert read.rows() == [
        ([1, None], [ONE.bytes, None], timedelta(seconds=-1), ONE.bytes, '{"a": 1}'),
        ([], [], None, None, None),
        (None, None, None, None, None),
    ]
