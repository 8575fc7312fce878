"""Dates that stand for something else, and texts that stand for none: each has its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.refusing import MOMENT
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import manifests, rows_by_manifest
from tests.servers.sqlite import SqliteDatabase

NULLS = "__HIVE_DEFAULT_PARTITION__"


@pytest.mark.parametrize("scan", ["single", "per_partition"])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_gap_before_a_placeholder_costs_no_query_and_no_directory(
    tmp_path: Path, database: AnyDatabase, engine: str, scan: str
) -> None:
    """Thirty days, a 1900-01-01 and a 9999-12-31: as many partitions as days, and no scan more."""
    days = [f"2023-01-{day:02}" for day in range(1, 31)] + ["1900-01-01", "9999-12-31"]
    rows = ", ".join(f"({i}, '{day} 12:00:00')" for i, day in enumerate(days))
    database.execute(f"CREATE TABLE events (id int PRIMARY KEY, created_at {MOMENT[engine]})")
    database.execute("CREATE INDEX by_day ON events (created_at)")
    database.execute(f"INSERT INTO events VALUES {rows}")

    outcome = run_well(tmp_path, database.source, by_day(tmp_path / "tree", scan=scan), validate=True)

    assert outcome.scans == (1 if scan == "single" else len(days))
    assert sorted(rows_by_manifest(tmp_path / "tree")) == sorted(days)


def test_texts_that_are_no_date_are_counted_apart_from_null(
    tmp_path: Path, sqlite_database: SqliteDatabase
) -> None:
    """Empty text and the word NULL in the key are no NULL: refused by count, or NULL by policy."""
    sqlite_database.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, d TEXT);"
        "INSERT INTO t VALUES (1, '2023-05-01'), (2, ''), (3, NULL), (4, 'NULL')"
    )
    export = by_day(
        tmp_path / "tree", table="t", partition_by="d", partition_key="day", columns={"d": "date"}
    )

    refused = run_one(tmp_path, sqlite_database.source, export)
    assert refused.exit_code == 2
    assert "2 of 4 rows" in (refused.error or "")
    assert not (tmp_path / "tree").exists()

    outcome = run_well(tmp_path, sqlite_database.source, export | {"unrepresentable": "null"}, validate=True)
    assert (outcome.rows, outcome.null_rows, outcome.unrepresentable_rows) == (4, 3, {"d": 2})
    assert {label: len(found) for label, found in rows_by_manifest(tmp_path / "tree").items()} == {
        "2023-05-01": 1,
        NULLS: 3,
    }
    assert sorted(p.name for p in (tmp_path / "tree").iterdir() if p.is_dir()) == [
        "day=2023-05-01",
        f"day={NULLS}",
    ]
    assert manifests(tmp_path / "tree")[NULLS]["unrepresentable_rows"] == {"d": 2}
