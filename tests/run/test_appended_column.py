"""A column that is appended while an old partition stays: readers find each column by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from rivet.destination.local import LocalDestination
from rivet.validate import validate
from tests.readers.reading import by_duckdb, by_polars
from tests.run.altering import ADDED
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import export_file, make_events
from tests.run.running import by_day, run_well
from tests.run.trees import NULL, manifests

KEPT = "2023-01-01"
FOUND = ["id", "note", "more"]


def _newest(root: Path) -> Path:
    """Give any part that the last run has written."""
    return next(root.glob("day=2023-01-08/*.parquet"))


def _by_pyarrow(root: Path) -> pa.Table:
    parts = [str(path) for path in root.rglob("*.parquet")]
    dataset = pads.dataset(parts, schema=pq.read_schema(_newest(root)), format="parquet")
    return dataset.to_table().sort_by("id")


# As docs/readers.md says that a tree is read whose columns have changed.
BY_NAME: dict[str, Callable[[Path], pa.Table]] = {
    "duckdb": lambda root: by_duckdb(root, "hive_partitioning = true", "union_by_name = true"),
    "pyarrow": _by_pyarrow,
    "polars": lambda root: by_polars(
        root, schema=pl.read_parquet_schema(_newest(root)), missing_columns="insert"
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_an_old_partition_beside_new_ones_with_one_more_column(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """The new column stands last, is NULL in what was kept, and no value of another column moves."""
    make_events(database, engine)
    root = tmp_path / "tree"
    export = by_day(root, vanished="keep", partition_key="day")
    run_well(tmp_path, database.source, export)
    old = export_file(root)["schema_fingerprint"]
    rows = dict(database.fetch("SELECT id, note FROM events"))
    database.execute(f"DELETE FROM events WHERE id < 3; {ADDED}")

    outcome = run_well(tmp_path, database.source, export, validate=True)

    assert (outcome.partitions_kept, outcome.partitions_written) == (1, 6)
    names = {path.parent.name: pq.read_schema(path).names for path in root.rglob("*.parquet")}
    assert names.pop(f"day={KEPT}") == ["id", "created_at", "note"]
    assert {tuple(found) for found in names.values()} == {("id", "created_at", "note", "more")}
    for name, read in BY_NAME.items():
        table = read(root)
        found = {row["id"]: (row["note"], row["more"]) for row in table.select(FOUND).to_pylist()}
        expected: dict[Any, Any] = {i: (note, None if i < 3 else 5) for i, note in rows.items()}
        assert found == expected, name
    new = export_file(root)["schema_fingerprint"]
    told = {label: m["schema_fingerprint"] for label, m in manifests(root).items()}
    assert told.pop(KEPT) == old
    assert set(told.values()) == {new} != {old}
    assert NULL in told


@pytest.mark.parametrize("engine", ENGINES)
def test_validation_tells_which_partitions_have_an_older_schema(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """Partitions that were kept are noted, each with its columns and its schema's fingerprint."""
    make_events(database, engine)
    root = tmp_path / "tree"
    export = by_day(root, vanished="keep")
    run_well(tmp_path, database.source, export)
    old = export_file(root)["schema_fingerprint"]
    database.execute(f"DELETE FROM events WHERE id < 5; {ADDED}")
    run_well(tmp_path, database.source, export)

    verdict = validate(LocalDestination(root), "", depth="full", strict=False)

    assert verdict.passed
    assert (verdict.rows, verdict.partitions) == (11, 7)
    older = {f.path: f.message for f in verdict.findings if f.code == "partition_schema"}
    assert set(older) == {"created_at=2023-01-01", "created_at=2023-01-02"}
    assert all(old[:15] in message and "'more'" in message for message in older.values())
    assert {f.code for f in verdict.findings} == {"partition_schema"}
    assert validate(LocalDestination(root), "created_at=2023-01-01", strict=True).findings == ()
