"""A table of 300,000 rows comes back, value for value, through two readers, and its files suit readers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

from tests.run.conftest import YearTable
from tests.run.running import by_day, run_well
from tests.run.year import ROWS

KEY = "fell_on"
LABELS = {"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}
PARTITIONS = {"day": 366 + 1, "month": 12 + 1, "year": 1 + 1}


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB of its own, in UTC."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def _read_by_duckdb(duck: duckdb.DuckDBPyConnection, root: Path) -> None:
    duck.execute(
        f"CREATE VIEW tree AS FROM read_parquet('{root}/**/*.parquet', hive_partitioning = true, "
        "hive_types_autocast = false)"
    )


def _read_by_pyarrow(duck: duckdb.DuckDBPyConnection, root: Path) -> None:
    files = [str(path) for path in root.rglob("*.parquet")]
    key = pads.partitioning(pa.schema([(KEY, pa.string())]), flavor="hive")
    table = pads.dataset(files, format="parquet", partitioning=key, partition_base_dir=str(root)).to_table()
    duck.register("tree", table)


def _one(duck: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    row = duck.execute(query).fetchone()
    assert row is not None
    return tuple(row)


def _differences(duck: duckdb.DuckDBPyConnection, table: YearTable) -> dict[str, int]:
    """Count rows on one side only, and for each column the values that are not the database's."""
    counts = ", ".join(f"count(*) FILTER (e.{c} IS DISTINCT FROM t.{c})" for c in table.year.columns)
    joined = f"'{table.expected}' e JOIN tree t ON e.id = t.id"
    both, *differing = _one(duck, f"SELECT count(*), {counts} FROM {joined}")
    ids, read = _one(duck, "SELECT count(DISTINCT id), count(*) FROM tree")
    return {"missing": ROWS - ids, "alien": read - both, "twice": read - ids} | dict(
        zip(table.year.columns, differing, strict=True)
    )


@pytest.mark.parametrize(
    ("engine", "granularity"),
    [
        *(("postgres", granularity) for granularity in LABELS),
        *(("mariadb", granularity) for granularity in LABELS),
        ("sqlite", "day"),
    ],
)
def test_every_value_of_every_row_comes_back(
    tmp_path: Path, duck: duckdb.DuckDBPyConnection, year_table: YearTable, granularity: str
) -> None:
    """DuckDB and pyarrow read each value as the database renders it, in the directory of the row's date."""
    root = tmp_path / "tree"
    outcome = run_well(
        tmp_path, year_table.source, by_day(root, partition_granularity=granularity, partition_key=KEY)
    )

    assert (outcome.rows, outcome.partitions) == (ROWS, PARTITIONS[granularity])
    none_differs = dict.fromkeys(["missing", "alien", "twice", *year_table.year.columns], 0)
    for read in (_read_by_duckdb, _read_by_pyarrow):
        with duck.cursor() as cursor:
            cursor.execute("SET TimeZone = 'UTC'")
            read(cursor, root)
            assert _differences(cursor, year_table) == none_differs, read
            misplaced = f"{KEY} IS DISTINCT FROM strftime(created_at, '{LABELS[granularity]}')"
            assert _one(cursor, f"SELECT count(*) FROM tree WHERE {misplaced}") == (0,), read
            cursor.execute("DROP VIEW tree")
