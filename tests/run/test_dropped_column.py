"""`partition_column: drop`: the files are without the column, whose values the path tells."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.dataset as ds
import pytest

from rivet.run import check
from tests.run import running
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.trees import NULL, manifests, rows_by_manifest

DROP = {"partition_by": "day", "partition_column": "drop", "table": "t"}
TABLE = """
CREATE TABLE t (day DATE, n INTEGER);
INSERT INTO t VALUES ('2023-01-01', 1), ('2023-01-01', 2), ('0001-01-01', 3), ('9999-12-31', 4), (NULL, 5);
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_the_path_gives_the_column_back(tmp_path: Path, database: AnyDatabase) -> None:
    """Files hold the other columns, manifests the day, readers see both, and the tree validates."""
    database.execute(TABLE)
    outcome = running.run_well(
        tmp_path, database.source, running.by_day(tmp_path / "tree", **DROP), validate=True
    )

    assert outcome.rows == 5
    assert outcome.warnings == ()
    assert rows_by_manifest(tmp_path / "tree") == {
        "2023-01-01": [(1,), (2,)],
        "0001-01-01": [(3,)],
        "9999-12-31": [(4,)],
        NULL: [(5,)],
    }
    for label, manifest in manifests(tmp_path / "tree").items():
        day = None if label == NULL else label
        assert [c["name"] for c in manifest["schema"]] == ["n"]
        assert [(p["minimum"], p["maximum"]) for p in manifest["parts"]] == [(day, day)]
    query = f"FROM read_parquet('{tmp_path}/tree/**/*.parquet', hive_partitioning = true) ORDER BY n"
    assert duckdb.sql(f"SELECT n, day {query}").fetchall() == [
        *((1, date(2023, 1, 1)), (2, date(2023, 1, 1)), (3, date(1, 1, 1)), (4, date(9999, 12, 31))),
        (5, None),
    ]


def test_pyarrow_opens_the_folder(tmp_path: Path, sqlite_database: AnyDatabase) -> None:
    """Where readers skip the manifests, the folder is a dataset, though the key has the column's name."""
    sqlite_database.execute(TABLE)
    export = running.by_day(tmp_path / "tree", **DROP)
    export["destination"]["manifest_name"] = "_manifest.json"
    running.run_well(tmp_path, sqlite_database.source, export)

    table = ds.dataset(tmp_path / "tree", partitioning="hive").to_table().sort_by("n")

    assert table.to_pydict() == {
        "n": [1, 2, 3, 4, 5],
        "day": ["2023-01-01", "2023-01-01", "0001-01-01", "9999-12-31", None],
    }


def test_to_drop_later_and_to_keep_again_writes_every_partition_anew(
    tmp_path: Path, sqlite_database: AnyDatabase
) -> None:
    """The schema is another, so all partitions change together, and the tree stays valid."""
    sqlite_database.execute(TABLE)
    for column, written in (("keep", 4), ("drop", 4), ("drop", 0), ("keep", 4)):
        export = running.by_day(tmp_path / "tree", **{**DROP, "partition_column": column})
        outcome = running.run_well(tmp_path, sqlite_database.source, export, validate=True)

        assert (outcome.partitions_written, outcome.rows) == (written, 5)


@pytest.mark.parametrize(
    ("table", "changes", "words"),
    [
        ("day DATE, n INTEGER", {"partition_granularity": "month"}, "the path tells a month only"),
        ("day TIMESTAMP, n INTEGER", {}, "the path tells a day only, from which column 'day' (TIMESTAMP)"),
        ("day DATE", {}, "'day' is the only column"),
    ],
)
def test_what_the_path_does_not_tell_is_kept(
    tmp_path: Path, sqlite_database: AnyDatabase, table: str, changes: dict[str, Any], words: str
) -> None:
    """Run and check refuse to drop a time of day, a day of a month, or the last column, before writing."""
    sqlite_database.execute(f"CREATE TABLE t ({table})")
    export = running.by_day(tmp_path / "tree", **DROP) | changes
    outcome = running.run_one(tmp_path, sqlite_database.source, export)
    (checked,) = check(running.settings(tmp_path, sqlite_database.source, export), listener=lambda _: None)

    assert (outcome.exit_code, outcome.error) == (checked.exit_code, checked.error)
    assert outcome.exit_code == 2
    assert outcome.error is not None
    assert outcome.error.startswith("$.exports[0].partition_column: ")
    assert words in outcome.error
    assert "partition_column: keep" in (outcome.hint or "")
    assert not (tmp_path / "tree").exists()
