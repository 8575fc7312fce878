"""A re-run over changed data leaves the tree equal to the query, and alone what has not changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.command import picture
from tests.run.conftest import ENGINES, AnyDatabase, YearTable
from tests.run.nights import SECOND_NIGHT, assert_equal, export_file, make_events, source_rows
from tests.run.refusing import by_query
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import NULL, rows_by_glob, rows_by_manifest
from tests.servers.sqlite import SqliteDatabase

WAYS = [{"scan": "single"}, {"scan": "per_partition"}, {"publish": "eager"}]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way.values()))
@pytest.mark.parametrize("engine", ENGINES)
def test_the_tree_follows_the_table(
    tmp_path: Path, database: AnyDatabase, engine: str, way: dict[str, str]
) -> None:
    """Days emptied, shrunk and new, rows moved, NULLs filled in: no stale part, partition or row is left."""
    make_events(database, engine)
    root = tmp_path / "tree"
    export = by_day(root, **way)
    run_well(tmp_path, database.source, export, validate=True)
    assert_equal(root, database)
    days = {label: root / f"created_at={label}" for label in source_rows(database)}
    untouched = {label: picture(days[label]) for label in ("2023-01-01", "2023-01-04", "2023-01-08")}

    database.execute(SECOND_NIGHT)
    outcome = run_well(tmp_path, database.source, export, validate=True)

    assert_equal(root, database)
    assert {label: picture(days[label]) for label in untouched} == untouched
    assert not days["2023-01-03"].exists()
    assert not days[NULL].exists()
    assert (outcome.rows, outcome.null_rows, outcome.partitions) == (10, 0, 7)
    assert (outcome.partitions_written, outcome.partitions_unchanged, outcome.partitions_removed) == (4, 3, 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_over_the_same_rows_changes_no_partition(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """Parts, manifests and markers keep their inodes and times; only the export file tells of the run."""
    make_events(database, engine)
    root = tmp_path / "tree"
    first = run_well(tmp_path, database.source, by_day(root), validate=True)
    before = {name: seen for name, seen in picture(root).items() if "=" in name}
    began = export_file(root)["run_id"]

    outcome = run_well(tmp_path, database.source, by_day(root), validate=True)

    assert {name: seen for name, seen in picture(root).items() if "=" in name} == before
    assert (outcome.partitions_written, outcome.partitions_unchanged, outcome.bytes_written) == (0, 7, 0)
    assert outcome.rows == first.rows
    assert export_file(root)["run_id"] != began
    assert_equal(root, database)


@pytest.mark.parametrize("engine", ["postgres"])
def test_large_partitions_whose_rows_are_the_same_are_left_alone(
    tmp_path: Path, year_table: YearTable
) -> None:
    """How a server happens to cut its stream into packets tells on no byte of a part."""
    export = by_day(tmp_path / "tree", partition_granularity="month", max_file_size="500KB")
    first = run_well(tmp_path, year_table.source, export)

    outcome = run_well(tmp_path, year_table.source, export)

    assert (outcome.partitions_written, outcome.partitions_unchanged) == (0, first.partitions_written)


@pytest.mark.parametrize("engine", ENGINES)
def test_foreign_files_are_left_alone(tmp_path: Path, database: AnyDatabase, engine: str) -> None:
    """Notes, and Parquet of others, stay to the byte, also where their partition goes; readers are warned."""
    make_events(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_day(root))
    gone = root / "created_at=2023-01-03"
    (own,) = gone.glob("*.parquet")
    stays = root / "created_at=2023-01-02"
    notes = [root / "README.txt", gone / "notes.txt", gone / "sub" / "_SUCCESS", stays / "x"]
    for note in notes:
        note.parent.mkdir(exist_ok=True)
        note.write_text("foreign")
    # Its name is like Rivet's, but no run of this tree had that id.
    other = stays / "events__2023-01-02_20200101T000000Z-00000000_00000.parquet"
    other.write_bytes(own.read_bytes())
    before = {path: picture(path)["."][1:] for path in (*notes, other)}

    database.execute(SECOND_NIGHT)
    outcome = run_well(tmp_path, database.source, by_day(root))

    assert {path: picture(path)["."][1:] for path in (*notes, other)} == before
    assert rows_by_manifest(root) == source_rows(database)
    assert sorted(p.name for p in gone.iterdir()) == ["notes.txt", "sub"]
    assert any("1 foreign Parquet file in the tree" in warning for warning in outcome.warnings)
    other.unlink()
    assert_equal(root, database)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_export_without_partitions_follows_its_table(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """One partition at the root itself is replaced whole where a row changed, and else left alone."""
    make_events(database, engine)
    root = tmp_path / "tree"
    export = {"name": "events", "table": "events", "destination": {"type": "local", "path": str(root)}}
    run_well(tmp_path, database.source, export, validate=True)
    before = picture(root)

    again = run_well(tmp_path, database.source, export, validate=True)
    assert (again.partitions_written, again.partitions_unchanged) == (0, 1)
    after = picture(root)
    changed = {name for name in before if before[name] != after[name]}
    assert changed <= {".", "_rivet_export.json"}

    (root / "notes.txt").write_text("foreign")
    database.execute(SECOND_NIGHT)
    outcome = run_well(tmp_path, database.source, export, validate=True)

    expected = sorted((row for rows in source_rows(database).values() for row in rows), key=repr)
    assert rows_by_manifest(root) == {"": expected}
    assert rows_by_glob(root) == expected
    assert (outcome.partitions_written, outcome.rows) == (1, 10)
    assert (root / "notes.txt").read_text() == "foreign"


def test_windows_that_were_given_empty_partitions_lose_them(
    tmp_path: Path, sqlite_database: SqliteDatabase
) -> None:
    """A tree that was made with `skip_empty: false` becomes one without empty partitions, and back."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root, skip_empty=False), validate=True)
    assert rows_by_manifest(root)["2023-01-05"] == []

    outcome = run_well(tmp_path, sqlite_database.source, by_day(root), validate=True)
    assert outcome.partitions_removed == 2
    assert_equal(root, sqlite_database)

    outcome = run_well(tmp_path, sqlite_database.source, by_day(root, skip_empty=False), validate=True)
    assert (outcome.partitions_written, outcome.partitions_unchanged) == (2, 7)
    assert rows_by_glob(root) == sorted(
        (row for rows in source_rows(sqlite_database).values() for row in rows), key=repr
    )


def test_a_query_that_changes_meaning_is_the_same_export(
    tmp_path: Path, sqlite_database: SqliteDatabase
) -> None:
    """Another query under the same name and root replaces what the first one gave."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root), validate=True)
    query = "SELECT * FROM events WHERE note <> 'stays'"

    outcome = run_one(tmp_path, sqlite_database.source, by_query(by_day(root), query), validate=True)

    assert (outcome.error, outcome.partitions_removed, outcome.partitions_unchanged) == (None, 1, 6)
    sqlite_database.execute("DELETE FROM events WHERE note = 'stays'")
    assert_equal(root, sqlite_database)
