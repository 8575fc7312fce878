"""Columns and settings that change between two nights: every partition follows, and no old part is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.run.command import picture
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import assert_equal, assert_valid, make_events
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import manifests, rows_by_glob, rows_by_manifest, snapshot
from tests.servers.sqlite import SqliteDatabase

ADDED = "ALTER TABLE events ADD COLUMN more int"
DROPPED = "ALTER TABLE events DROP COLUMN note"
RETYPED = {
    "postgres": "ALTER TABLE events ALTER COLUMN id TYPE bigint",
    "mariadb": "ALTER TABLE events MODIFY id bigint",
    "sqlite": "ALTER TABLE events RENAME TO older; CREATE TABLE events (id TEXT PRIMARY KEY, "
    "created_at DATETIME, note varchar(40)); INSERT INTO events SELECT * FROM older; DROP TABLE older",
}


def _schemas(root: Path) -> set[str]:
    return {str(pq.ParquetFile(part).schema_arrow) for part in root.rglob("*.parquet")}


@pytest.mark.parametrize("change", ["added", "dropped", "retyped"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_change_of_columns_reaches_every_partition(
    tmp_path: Path, database: AnyDatabase, engine: str, change: str
) -> None:
    """A column added, dropped or of another type is so in all parts; one schema stands in the whole tree."""
    make_events(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_day(root))
    old = _schemas(root)
    database.execute({"added": ADDED, "dropped": DROPPED, "retyped": RETYPED[engine]}[change])

    outcome = run_well(tmp_path, database.source, by_day(root), validate=True)

    assert (outcome.partitions_written, outcome.partitions_unchanged) == (7, 0)
    assert len(_schemas(root)) == 1
    assert _schemas(root) != old
    assert_equal(root, database)


def test_a_kept_partition_keeps_its_old_columns(tmp_path: Path, sqlite_database: SqliteDatabase) -> None:
    """What is kept is not written again; validation notes the older schema and passes."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root))
    sqlite_database.execute(f"DELETE FROM events WHERE id < 3; {ADDED}")

    outcome = run_well(tmp_path, sqlite_database.source, by_day(root, vanished="keep"), validate=True)

    assert outcome.verdict is not None
    assert [(f.code, f.level) for f in outcome.verdict.findings] == [("partition_schema", "note")]
    assert_equal(root, sqlite_database, kept=["2023-01-01"])


THOUSANDS = {
    "postgres": "SELECT i, timestamp '2023-02-01' + i * interval '1 second', md5(i::text) "
    "FROM generate_series(100, 6099) i",
    "mariadb": "SELECT seq, TIMESTAMP '2023-02-01 00:00:00' + INTERVAL seq SECOND, MD5(seq) "
    "FROM seq_100_to_6099",
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 6099) "
    "SELECT i, datetime(1675209600 + i, 'unixepoch'), hex(randomblob(16)) FROM n",
}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_partition_changes_its_number_of_parts(tmp_path: Path, database: AnyDatabase, engine: str) -> None:
    """With a small `max_file_size` a day is several parts; with a larger one it is one, and none is left."""
    make_events(database, engine)
    database.execute(f"INSERT INTO events {THOUSANDS[engine]}")
    root = tmp_path / "tree"
    small, large = by_day(root, max_file_size="64KiB"), by_day(root)
    day = root / "created_at=2023-02-01"

    run_well(tmp_path, database.source, small, validate=True)
    parts = manifests(root)["2023-02-01"]["parts"]
    assert len(parts) > 2
    assert all(p["size_bytes"] <= 64 * 1024 for p in parts)
    assert {p["path"] for p in parts} == {p.name for p in day.glob("*.parquet")}
    assert_equal(root, database)

    outcome = run_well(tmp_path, database.source, large, validate=True)
    assert outcome.partitions_written == 1
    assert len(list(day.glob("*.parquet"))) == 1
    assert_equal(root, database)

    outcome = run_well(tmp_path, database.source, small, validate=True)
    assert outcome.partitions_written == 1
    assert len(list(day.glob("*.parquet"))) == len(parts)
    assert_equal(root, database)


@pytest.mark.parametrize(
    ("first", "second", "codec"),
    [
        ({}, {"compression": "snappy"}, "SNAPPY"),
        ({"compression": "none"}, {"compression": "gzip", "compression_level": 9}, "GZIP"),
        ({"compression_level": 1}, {"compression_level": 19}, "ZSTD"),
    ],
)
def test_another_compression_is_written(
    tmp_path: Path,
    sqlite_database: SqliteDatabase,
    first: dict[str, Any],
    second: dict[str, Any],
    codec: str,
) -> None:
    """A change of codec or level that changes the bytes writes every partition anew, in that codec."""
    make_events(sqlite_database, "sqlite")
    sqlite_database.execute(f"INSERT INTO events {THOUSANDS['sqlite']}")
    sqlite_database.execute("DELETE FROM events WHERE id < 100")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root, **first))

    outcome = run_well(tmp_path, sqlite_database.source, by_day(root, **second), validate=True)

    assert (outcome.partitions_written, outcome.partitions_unchanged) == (1, 0)
    (part,) = root.rglob("*.parquet")
    assert pq.ParquetFile(part).metadata.row_group(0).column(0).compression == codec
    assert_equal(root, sqlite_database)


# More days than an eager run publishes at a time.
DAYS = {
    "postgres": "SELECT i, date '2024-01-01' + i, 'x' FROM generate_series(100, 169) i",
    "mariadb": "SELECT seq, TIMESTAMP '2024-01-01 00:00:00' + INTERVAL seq DAY, 'x' FROM seq_100_to_169",
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 169) "
    "SELECT i, datetime('2024-01-01', '+' || i || ' days'), 'x' FROM n",
}


@pytest.mark.parametrize("engine", ENGINES)
def test_eager_publishing_ends_at_the_same_tree(tmp_path: Path, database: AnyDatabase, engine: str) -> None:
    """In groups or at once, the tree is the same; what is unchanged stays, and what vanished is refused."""
    make_events(database, engine)
    database.execute(f"INSERT INTO events {DAYS[engine]}")
    root = tmp_path / "tree"
    eager = by_day(root, publish="eager")
    run_well(tmp_path, database.source, eager, validate=True)
    assert_equal(root, database)
    day = root / "created_at=2024-04-29"
    assert day.is_dir()
    before = picture(day)

    database.execute("DELETE FROM events WHERE id IN (5, 130)")
    database.execute("UPDATE events SET note = 'changed' WHERE id IN (101, 165)")
    whole = snapshot(root)
    refused = run_one(tmp_path, database.source, eager | {"vanished": "error"})
    assert refused.exit_code == 2
    assert snapshot(root) == whole

    outcome = run_well(tmp_path, database.source, eager, validate=True)
    assert (outcome.partitions_written, outcome.partitions_removed) == (2, 2)
    assert picture(day) == before
    assert_equal(root, database)


def test_a_manifest_name_for_readers_of_whole_folders(
    tmp_path: Path, sqlite_database: SqliteDatabase
) -> None:
    """With `_manifest.json` a re-run finds its own files all the same."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    export = by_day(root)
    export["destination"] = export["destination"] | {"manifest_name": "_manifest.json"}
    run_well(tmp_path, sqlite_database.source, export)
    rows = rows_by_glob(root)

    outcome = run_well(tmp_path, sqlite_database.source, export, validate=True)

    assert (outcome.partitions_written, outcome.partitions_unchanged) == (0, 7)
    assert rows_by_glob(root) == rows
    assert rows_by_manifest(root) == {}
    assert_valid(root)
