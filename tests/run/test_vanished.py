"""Live partitions whose windows hold no rows any more: refused, removed or kept as the config says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.run.command import picture, run_command, write_config
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import assert_equal, assert_valid, export_file, make_events
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import NULL, rows_by_glob, rows_by_manifest, snapshot
from tests.servers.sqlite import SqliteDatabase

OLD_END = ("2023-01-01", "2023-01-02")
PURGE = "DELETE FROM events WHERE created_at < '2023-01-03'"
EMPTY = "DELETE FROM events"
LABELS = ("2023-01-01", "2023-01-02", "2023-01-03", "2023-01-04", "2023-01-06", "2023-01-08", NULL)
FIRST_FIVE = (
    "2023-01-01 (2 rows), 2023-01-02 (2 rows), 2023-01-03 (1 row), 2023-01-04 (1 row), 2023-01-06 (2 rows)"
)
HINT = "if that is right, set vanished: remove to remove them, or vanished: keep to keep them"


@pytest.fixture
def root(tmp_path: Path, database: AnyDatabase, engine: str) -> Path:
    """Give a tree of the first night."""
    make_events(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_day(root))
    return root


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (PURGE, "2 live partitions with 4 rows: 2023-01-01 (2 rows), 2023-01-02 (2 rows)"),
        ("DELETE FROM events WHERE id = 9", "1 live partition with 1 row: 2023-01-08 (1 row)"),
        (EMPTY, f"7 live partitions with 11 rows: {FIRST_FIVE} and 2 more"),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_purged_or_emptied_table_is_refused(
    tmp_path: Path,
    database: AnyDatabase,
    root: Path,
    capsys: pytest.CaptureFixture[str],
    change: str,
    told: str,
) -> None:
    """With `vanished` unset the run stops before it reads: labels, counts, choices, exit 2, no change."""
    database.execute(change)
    config = write_config(tmp_path, database.source, by_day(root))
    before = picture(tmp_path)

    for command in ("run", "plan"):
        ended = run_command(capsys, command, "--config", config, "--json")

        assert ended.exit_code == 2
        message = f"the source holds no rows any more for {told}"
        assert ended.errors == [f"Error: events: {message}", f"Hint: {HINT}"]
        assert picture(tmp_path) == before
    assert_valid(root)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_was_purged_is_removed_or_kept_on_request(
    tmp_path: Path, database: AnyDatabase, root: Path
) -> None:
    """`keep` leaves the purged days to the byte and marks them; `remove` then takes them away."""
    database.execute(PURGE)
    before = {label: picture(root / f"created_at={label}") for label in OLD_END}

    outcome = run_well(tmp_path, database.source, by_day(root, vanished="keep"), validate=True)

    assert (outcome.partitions_kept, outcome.partitions_removed, outcome.partitions_unchanged) == (2, 0, 5)
    assert {label: picture(root / f"created_at={label}") for label in OLD_END} == before
    assert_equal(root, database, kept=OLD_END)

    again = run_well(tmp_path, database.source, by_day(root, vanished="keep"), validate=True)
    assert (again.partitions_kept, again.rows) == (2, outcome.rows)
    assert_equal(root, database, kept=OLD_END)

    outcome = run_well(tmp_path, database.source, by_day(root, vanished="remove"), validate=True)
    assert (outcome.partitions_kept, outcome.partitions_removed, outcome.partitions_written) == (0, 2, 0)
    assert_equal(root, database)
    assert not any((root / f"created_at={label}").exists() for label in OLD_END)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_emptied_table_empties_the_tree_on_request(
    tmp_path: Path, database: AnyDatabase, root: Path
) -> None:
    """`keep` keeps all of it; `remove` leaves an export file of no rows, which validates; rows may return."""
    database.execute(EMPTY)

    outcome = run_well(tmp_path, database.source, by_day(root, vanished="keep"), validate=True)
    assert (outcome.partitions_kept, outcome.partitions) == (7, 7)
    assert_equal(root, database, kept=LABELS)

    outcome = run_well(tmp_path, database.source, by_day(root, vanished="remove"), validate=True)
    assert (outcome.partitions_removed, outcome.partitions, outcome.rows) == (7, 0, 0)
    assert [p.name for p in root.iterdir()] == ["_rivet_export.json"]
    assert_equal(root, database)

    outcome = run_well(tmp_path, database.source, by_day(root), validate=True)
    assert (outcome.partitions, outcome.rows) == (0, 0)
    database.execute("INSERT INTO events VALUES (1, '2023-01-01 00:00:00', 'again')")
    run_well(tmp_path, database.source, by_day(root), validate=True)
    assert_equal(root, database)


@pytest.mark.parametrize(
    ("change", "message", "scan"),
    [
        ("DELETE FROM events WHERE id = 5", "2023-01-03 (1 row)", "single"),
        ("DELETE FROM events WHERE id = 5", "2023-01-03 (1 row)", "per_partition"),
        ("UPDATE events SET created_at = '2023-01-04 00:00:00' WHERE id > 9", f"{NULL} (2 rows)", "single"),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_error_refuses_what_else_would_be_removed(
    tmp_path: Path, database: AnyDatabase, root: Path, change: str, message: str, scan: str
) -> None:
    """Under `vanished: error` a day emptied amid others, or NULLs filled in, stop the run too."""
    database.execute(change)
    before = snapshot(root)

    outcome = run_one(tmp_path, database.source, by_day(root, vanished="error", scan=scan))

    assert (outcome.exit_code, outcome.hint) == (2, HINT)
    assert outcome.error is not None
    assert outcome.error.endswith(f": {message}")
    assert snapshot(root) == before
    run_well(tmp_path, database.source, by_day(root, scan=scan))
    assert_equal(root, database)


@pytest.mark.parametrize("engine", ENGINES)
def test_kept_partitions_come_back_to_life(tmp_path: Path, database: AnyDatabase, root: Path) -> None:
    """Where the same rows return the kept files are live again as they are; others replace them."""
    rows = database.fetch("SELECT id, note FROM events WHERE created_at < '2023-01-03' ORDER BY id")
    assert [note for _, note in rows] == ["a", "b", "shrinks", "c"]
    database.execute(PURGE)
    run_well(tmp_path, database.source, by_day(root, vanished="keep"))
    first, second = (picture(root / f"created_at={label}") for label in OLD_END)
    database.execute("INSERT INTO events VALUES (1, '2023-01-01 00:00:00', 'a')")
    database.execute("INSERT INTO events VALUES (2, '2023-01-01 23:59:59.999999', 'b')")
    database.execute("INSERT INTO events VALUES (3, '2023-01-02 12:00:00', 'another')")

    outcome = run_well(tmp_path, database.source, by_day(root, vanished="keep"), validate=True)

    assert (outcome.partitions_kept, outcome.partitions_written, outcome.partitions_unchanged) == (0, 1, 6)
    assert_equal(root, database)
    assert picture(root / "created_at=2023-01-01") == first
    assert picture(root / "created_at=2023-01-02") != second


def test_what_was_kept_is_asked_for_again(tmp_path: Path, sqlite_database: SqliteDatabase) -> None:
    """Kept partitions are no exception for a run without a policy: it is refused as if they had just gone."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root))
    sqlite_database.execute(PURGE)
    run_well(tmp_path, sqlite_database.source, by_day(root, vanished="keep"))
    before = snapshot(root)

    outcome = run_one(tmp_path, sqlite_database.source, by_day(root))

    assert (outcome.exit_code, outcome.hint) == (2, HINT)
    assert snapshot(root) == before


@pytest.mark.parametrize("change", [PURGE, EMPTY])
def test_without_a_snapshot_nothing_changes_either(
    tmp_path: Path, mariadb_database: AnyDatabase, change: str
) -> None:
    """On an Aria table it is known only after the scan; then what was staged is dropped."""
    make_events(mariadb_database, "mariadb")
    mariadb_database.execute("ALTER TABLE events ENGINE = Aria")
    root = tmp_path / "tree"
    run_well(tmp_path, mariadb_database.source, by_day(root))
    mariadb_database.execute(change)
    before = snapshot(root)

    outcome = run_one(tmp_path, mariadb_database.source, by_day(root))

    assert (outcome.exit_code, outcome.hint) == (2, HINT)
    assert snapshot(root) == before
    assert_valid(root)
    run_well(tmp_path, mariadb_database.source, by_day(root, vanished="remove"), validate=True)
    assert_equal(root, mariadb_database)


@pytest.mark.parametrize("publish", ["proved", "eager"])
@pytest.mark.parametrize("engine", ENGINES)
def test_an_emptied_table_without_partitions_is_refused(
    tmp_path: Path, database: AnyDatabase, engine: str, publish: str
) -> None:
    """The one partition of an export without `partition_by` follows the same choices."""
    make_events(database, engine)
    root = tmp_path / "tree"
    export: dict[str, Any] = {
        "name": "events",
        "table": "events",
        "publish": publish,
        "destination": {"type": "local", "path": str(root)},
    }
    run_well(tmp_path, database.source, export)
    rows = rows_by_glob(root)
    database.execute(EMPTY)
    before = picture(root)

    outcome = run_one(tmp_path, database.source, export)

    assert (outcome.exit_code, outcome.hint) == (2, HINT)
    assert outcome.error is not None
    assert outcome.error.endswith("1 live partition with 11 rows: the whole export (11 rows)")
    assert picture(root) == before
    run_well(tmp_path, database.source, export | {"vanished": "keep"}, validate=True)
    assert rows_by_manifest(root) == {"": rows}
    assert [e["state"] for e in export_file(root)["partitions"]] == ["kept"]
    run_well(tmp_path, database.source, export | {"vanished": "remove"}, validate=True)
    assert [p.name for p in root.iterdir()] == ["_rivet_export.json"]
    assert json.loads((root / "_rivet_export.json").read_text())["row_count"] == 0
