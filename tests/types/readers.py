"""Reads a tree with each reader of the docs, and writes values as the cases' module says."""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads


def read_by_duckdb(root: Path) -> pa.Table:
    """Read all parts of a tree, in order of their rows."""
    with duckdb.connect() as duck:
        duck.execute("SET TimeZone = 'UTC'")
        query = f"FROM read_parquet('{root}/**/*.parquet', hive_partitioning = false) ORDER BY id"
        return duck.execute(query).to_arrow_table()


def read_by_pyarrow(root: Path) -> pa.Table:
    """Read all parts of a tree, in order of their rows."""
    files = [str(path) for path in root.rglob("*.parquet")]
    return pads.dataset(files, format="parquet").to_table().sort_by("id")


def read_by_polars(root: Path) -> pa.Table:
    """Read all parts of a tree, in order of their rows."""
    return pl.read_parquet(f"{root}/**/*.parquet", hive_partitioning=False).sort("id").to_arrow()


READERS: dict[str, Callable[[Path], pa.Table]] = {
    "duckdb": read_by_duckdb,
    "pyarrow": read_by_pyarrow,
    "polars": read_by_polars,
}


def read_texts(column: pa.ChunkedArray, becomes: str) -> list[str | None]:
    """Write what a reader made of a column, by what it became."""
    return [None if value is None else _text(value, becomes) for value in _plain(column).to_pylist()]


def expected_texts(rendered: Sequence[str | None], becomes: str) -> list[str | None]:
    """Write what the database rendered in the same way: floats and decimals have several texts."""
    return [None if text is None else _normal(text, becomes) for text in rendered]


def element_of(becomes: str) -> str | None:
    """Give what the elements of a list become, or None for no list.

    >>> element_of("list<int32>")
    'int32'
    """
    return becomes[len("list<") : -1] if becomes.startswith("list<") else None


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """Write moments as whole microseconds, and the logical types of Parquet as what lies under them."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(array.storage)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        made = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
        return made.from_arrays(array.offsets, _plain(array.values), mask=array.is_null())
    if pa.types.is_date(kind):
        return array.cast(pa.date32()).cast(pa.int32())
    for is_such, in_microseconds in (
        (pa.types.is_time, pa.time64("us")),
        (pa.types.is_timestamp, pa.timestamp("us", tz=getattr(kind, "tz", None))),
        (pa.types.is_duration, pa.duration("us")),
    ):
        if is_such(kind):
            return array.cast(in_microseconds).cast(pa.int64())
    return array


def _text(value: object, becomes: str) -> str:
    element = element_of(becomes)
    if element is not None:
        assert isinstance(value, list)
        return json.dumps([None if item is None else _text(item, element) for item in value])
    if isinstance(value, bool):
        return str(int(value))
    if becomes == "uuid" and isinstance(value, bytes):
        return str(uuid.UUID(bytes=value))
    if isinstance(value, bytes):
        return value.hex()
    return repr(value) if isinstance(value, float) else str(value)


def _normal(text: str, becomes: str) -> str:
    element = element_of(becomes)
    if element is not None:
        return json.dumps([None if item is None else _normal(item, element) for item in json.loads(text)])
    if becomes == "float32":
        return repr(struct.unpack("f", struct.pack("f", float(text)))[0])
    if becomes == "float64":
        return repr(float(text))
    if becomes.startswith("decimal128"):
        scale = int(becomes.rstrip(")").split(",")[1])
        return str(Decimal(text).quantize(Decimal(1).scaleb(-scale), context=Context(prec=60)))
    return text
