"""Opens trees with readers as their own documents say, and gives what they made of the columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads

# What readers of whole folders pass over, in a key that no column has.
FOR_READERS = {"partition_key": "day", "manifest_name": "_manifest.json"}
OLDEST_DUCKDB_WITH_NULL = (1, 5)


def by_duckdb(root: Path, *options: str) -> pa.Table:
    """Read all below a root by a glob, with options of `read_parquet`, in order of `id`."""
    named = ", ".join((f"'{root}/**/*.parquet'", *options))
    with duckdb.connect() as duck:
        duck.execute("SET TimeZone = 'UTC'")
        return duck.execute(f"FROM read_parquet({named}) ORDER BY id").to_arrow_table()


def by_pyarrow(root: Path, **options: Any) -> pa.Table:
    """Open a root as a dataset, in order of `id`."""
    return pads.dataset(root, **options).to_table().sort_by("id")


def by_polars(root: Path, **options: Any) -> pa.Table:
    """Read all below a root by a glob, in order of `id`."""
    return pl.read_parquet(f"{root}/**/*.parquet", **options).sort("id").to_arrow()


# How the docs say that a tree made for readers is read: the key with its label, and all columns.
WHOLE: dict[str, Callable[[Path], pa.Table]] = {
    "duckdb": lambda root: by_duckdb(root, "hive_partitioning = true"),
    "pyarrow": lambda root: by_pyarrow(root, partitioning="hive"),
    "polars": lambda root: by_polars(root, hive_partitioning=True),
}
# How they say that any tree is read: by its files alone, whatever stands in the path.
FILES: dict[str, Callable[[Path], pa.Table]] = {
    "duckdb": lambda root: by_duckdb(root, "hive_partitioning = false"),
    "pyarrow": lambda root: (
        pads.dataset([str(p) for p in root.rglob("*.parquet")], format="parquet").to_table().sort_by("id")
    ),
    "polars": by_polars,
}


def values(table: pa.Table, column: str) -> list[Any]:
    """Give a column's values; moments as whole microseconds, so that no zone of a test's machine is asked."""
    array = table[column]
    if pa.types.is_timestamp(array.type):
        assert array.type.unit == "us"
        array = array.cast(pa.int64())
    found: list[Any] = array.to_pylist()
    return found


def label(moment: int | None) -> str | None:
    """Give the day of a moment in microseconds, or None."""
    if moment is None:
        return None
    return (dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=moment)).date().isoformat()
