"""A run that is killed at any moment leaves every partition old or new, and the next run ends right."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rivet.destination.local import LocalDestination
from rivet.validate import validate
from tests.run.running import by_day, run_well, settings
from tests.run.trees import NULL, Rows, is_ready, rows_by_glob, rows_by_manifest, snapshot
from tests.servers.sqlite import SqliteDatabase

FIRST_NIGHT = """
CREATE TABLE events (id INTEGER PRIMARY KEY, created_at DATETIME, note TEXT);
INSERT INTO events VALUES (1, '2023-01-01 00:00:00', 'a'), (2, '2023-01-01 23:59:59.999999', 'b'),
 (3, '2023-01-02 12:00:00', 'shrinks'), (4, '2023-01-02 13:00:00', 'c'),
 (5, '2023-01-03 01:00:00', 'empties'), (6, '2023-01-04 01:00:00', 'stays'),
 (7, NULL, 'filled in'), (8, '2023-01-06 01:00:00', 'd');
"""
SECOND_NIGHT = """
DELETE FROM events WHERE id IN (3, 5);
UPDATE events SET created_at = '2023-01-05 05:00:00' WHERE id = 7;
INSERT INTO events VALUES (9, '2023-01-01 10:00:00', 'late');
"""


def _source_rows(database: SqliteDatabase) -> dict[str, Rows]:
    from datetime import datetime

    rows: dict[str, Rows] = {}
    for key, created_at, note in database.fetch("SELECT id, created_at, note FROM events"):
        label = NULL if created_at is None else created_at[:10]
        moment = None if created_at is None else datetime.fromisoformat(created_at)
        rows.setdefault(label, []).append((key, moment, note))
    return {label: sorted(group, key=repr) for label, group in rows.items()}


@contextmanager
def _driver(config: Path, word: str = "run") -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.run.kill_driver", word, "--config", str(config), "--quiet"]
    # What runs say on standard error is shown where the test fails.
    driver = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield driver
    finally:
        driver.kill()
        driver.communicate()


def _ask(driver: subprocess.Popen[str], change: int, signal: str = "SIGKILL") -> str:
    assert driver.stdin is not None
    assert driver.stdout is not None
    driver.stdin.write(f"{change} {signal}\n")
    driver.stdin.flush()
    return driver.stdout.readline().strip()


# A kill at every change where the order matters most, at every few where it only differs in grouping.
@pytest.mark.parametrize(("publish", "step"), [("proved", 1), ("eager", 3)])
def test_killed_at_any_change_the_tree_is_old_or_new_and_the_next_run_ends_right(
    tmp_path: Path, sqlite_database: SqliteDatabase, publish: str, step: int
) -> None:
    """Killed anywhere, each partition is old or new by its manifest; the same command then makes it right."""
    root, before = tmp_path / "tree", tmp_path / "before"
    sqlite_database.execute(FIRST_NIGHT)
    export = by_day(root, publish=publish)
    run_well(tmp_path, sqlite_database.source, export)
    (root / "created_at=2023-01-01" / "notes.txt").write_text("foreign")
    old = _source_rows(sqlite_database)
    assert rows_by_manifest(root) == old
    shutil.copytree(root, before)
    sqlite_database.execute(SECOND_NIGHT)
    new = _source_rows(sqlite_database)
    settings(tmp_path, sqlite_database.source, export)
    with _driver(tmp_path / "rivet.yaml") as driver:
        answer, change = "", 0
        for change in range(0, 500, step):
            shutil.rmtree(root)
            shutil.copytree(before, root)
            answer = _ask(driver, change)
            seen = rows_by_manifest(root)
            for label in {*old, *new}:
                assert seen.get(label, []) in (old.get(label, []), new.get(label, [])), (change, label)
            for partition in root.glob("created_at=*"):
                if (partition / "_SUCCESS").exists():
                    assert is_ready(partition), (change, partition)
            if answer != "killed":
                break
            run_well(tmp_path, sqlite_database.source, export)
            assert rows_by_manifest(root) == new, change
            assert rows_by_glob(root) == sorted((r for rows in new.values() for r in rows), key=repr), change
            assert all(is_ready(partition) for partition in root.glob("created_at=*")), change
            assert not (root / "_rivet_staging").exists(), change
            assert (root / "created_at=2023-01-01" / "notes.txt").read_text() == "foreign"

    assert answer == "0"
    assert change > 20
    assert rows_by_manifest(root) == new


def test_stopped_at_any_change_the_tree_is_whole_for_every_reader(
    tmp_path: Path, sqlite_database: SqliteDatabase
) -> None:
    """SIGTERM lets the partitions in hand be finished: no row twice by glob, no marker missing."""
    root, before = tmp_path / "tree", tmp_path / "before"
    sqlite_database.execute(FIRST_NIGHT)
    export = by_day(root)
    run_well(tmp_path, sqlite_database.source, export)
    old = _source_rows(sqlite_database)
    shutil.copytree(root, before)
    sqlite_database.execute(SECOND_NIGHT)
    new = _source_rows(sqlite_database)
    settings(tmp_path, sqlite_database.source, export)
    answers = []
    with _driver(tmp_path / "rivet.yaml") as driver:
        for change in range(500):
            shutil.rmtree(root)
            shutil.copytree(before, root)
            answers.append(_ask(driver, change, "SIGTERM"))
            seen = rows_by_manifest(root)
            for label in {*old, *new}:
                assert seen.get(label, []) in (old.get(label, []), new.get(label, [])), (change, label)
            standing = sorted((row for rows in seen.values() for row in rows), key=repr)
            assert rows_by_glob(root) == standing, change
            partitions = [p for p in root.glob("created_at=*") if any(p.iterdir())]
            assert all(is_ready(partition) for partition in partitions), change
            assert not (root / "_rivet_lock.json").exists(), change
            if answers[-1] == "0" and seen == new:
                break

    assert answers.count("130") > 20
    assert run_well(tmp_path, sqlite_database.source, export, validate=True).rows == 7
    assert rows_by_manifest(root) == new


def test_a_first_run_that_is_killed_leaves_nothing_that_the_next_does_not_mend(
    tmp_path: Path, sqlite_database: SqliteDatabase
) -> None:
    """Killed anywhere on its way into an empty place, a run is made good by the next one."""
    root = tmp_path / "tree"
    sqlite_database.execute(FIRST_NIGHT)
    export = by_day(root)
    settings(tmp_path, sqlite_database.source, export)
    rows = _source_rows(sqlite_database)
    with _driver(tmp_path / "rivet.yaml") as driver:
        answer = ""
        for change in range(0, 500, 3):
            shutil.rmtree(root, ignore_errors=True)
            answer = _ask(driver, change)
            assert set(rows_by_manifest(root)) <= set(rows)
            run_well(tmp_path, sqlite_database.source, export)
            assert rows_by_manifest(root) == rows, change
            assert not (root / "_rivet_staging").exists(), change
            if answer != "killed":
                break

    assert answer == "0"


def test_a_run_that_fails_before_it_publishes_leaves_the_tree_as_it_was(
    tmp_path: Path, sqlite_database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose proof fails changes no byte under the root, and leaves nothing where nothing was."""
    from rivet.errors import IntegrityError

    def fail(*_: object, **__: object) -> None:
        raise IntegrityError("the account does not add up")

    root = tmp_path / "deep" / "tree"
    sqlite_database.execute(FIRST_NIGHT)
    monkeypatch.setattr("rivet.attempt.attempt.prove", fail)
    with pytest.raises(AssertionError):
        run_well(tmp_path, sqlite_database.source, by_day(root))
    assert not root.parent.exists()

    monkeypatch.undo()
    run_well(tmp_path, sqlite_database.source, by_day(root))
    before = snapshot(root)
    sqlite_database.execute(SECOND_NIGHT)
    monkeypatch.setattr("rivet.attempt.attempt.prove", fail)
    with pytest.raises(AssertionError):
        run_well(tmp_path, sqlite_database.source, by_day(root))

    assert snapshot(root) == before


def test_runs_that_publish_nothing_leave_a_whole_tree_whole(
    tmp_path: Path, sqlite_database: SqliteDatabase
) -> None:
    """A run killed before it published, then one that fails: the tree validates as what it still is."""
    root = tmp_path / "tree"
    sqlite_database.execute(FIRST_NIGHT)
    export = by_day(root)
    run_well(tmp_path, sqlite_database.source, export)
    old = rows_by_manifest(root)
    sqlite_database.execute(SECOND_NIGHT)
    settings(tmp_path, sqlite_database.source, export)
    with _driver(tmp_path / "rivet.yaml") as driver:
        for change in range(6, 12):  # the run is recorded, and stages
            assert _ask(driver, change) == "killed"
            assert _ask(driver, 9, "SIGTERM") == "130"
            assert rows_by_manifest(root) == old, change
            verdict = validate(LocalDestination(root), depth="full")
            assert verdict.passed, (change, verdict.findings)


@pytest.mark.parametrize(
    ("publish", "step"), [("proved", 7), pytest.param("eager", 1, marks=pytest.mark.long)]
)
def test_killed_while_it_adds_rows_a_run_loses_none_and_none_comes_twice(
    tmp_path: Path, sqlite_database: SqliteDatabase, publish: str, step: int
) -> None:
    """Killed anywhere, each partition has all of its new rows or none; the next run adds the others."""
    root, before = tmp_path / "tree", tmp_path / "before"
    sqlite_database.execute(FIRST_NIGHT)
    adding = {"mode": "incremental", "cursor_column": "id", "strategy": "append", "publish": publish}
    export = by_day(root, **adding)
    run_well(tmp_path, sqlite_database.source, export)
    old = _source_rows(sqlite_database)
    shutil.copytree(root, before)
    sqlite_database.execute(
        "INSERT INTO events VALUES (9, '2023-01-01 10:00:00', 'new'), (10, '2023-01-02 10:00:00', 'new'),"
        " (11, NULL, 'new'), (12, '2023-01-07 10:00:00', 'new')"
    )
    new = _source_rows(sqlite_database)
    settings(tmp_path, sqlite_database.source, export)
    with _driver(tmp_path / "rivet.yaml") as driver:
        answer, change = "", 0
        for change in range(0, 500, step):
            shutil.rmtree(root)
            shutil.copytree(before, root)
            answer = _ask(driver, change)
            seen = rows_by_manifest(root)
            for label in {*old, *new}:
                assert seen.get(label, []) in (old.get(label, []), new.get(label, [])), (change, label)
            if answer != "killed":
                break
            run_well(tmp_path, sqlite_database.source, export)
            assert rows_by_manifest(root) == new, change
            assert rows_by_glob(root) == sorted((r for rows in new.values() for r in rows), key=repr), change
            assert validate(LocalDestination(root), "", depth="full", strict=True).passed, change

    assert answer == "0"
    assert change > 20
    assert rows_by_manifest(root) == new


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.long)])
def test_killed_while_it_merges_parts_no_row_changes(
    tmp_path: Path, sqlite_database: SqliteDatabase, step: int
) -> None:
    """Killed anywhere, each partition has its rows once by its manifest; the same command ends it."""
    root, before = tmp_path / "tree", tmp_path / "before"
    sqlite_database.execute(FIRST_NIGHT)
    export = by_day(root, mode="incremental", cursor_column="id", strategy="append")
    for key in range(9, 12):
        run_well(tmp_path, sqlite_database.source, export)
        sqlite_database.execute(
            f"INSERT INTO events VALUES ({2 * key}, '2023-01-01 10:00:00', 'n'), ({2 * key + 1}, NULL, 'n')"
        )
    run_well(tmp_path, sqlite_database.source, export)
    rows = _source_rows(sqlite_database)
    shutil.copytree(root, before)
    config = tmp_path / "rivet.yaml"
    with _driver(config, "compact") as driver, _driver(config) as runs:
        answer, change = "", 0
        for change in range(0, 500, step):
            shutil.rmtree(root)
            shutil.copytree(before, root)
            answer = _ask(driver, change)
            assert rows_by_manifest(root) == rows, change
            if answer != "killed":
                break
            if change % 2:  # the next run ends what was begun, as well as the same command
                assert _ask(runs, 10_000) == "0"
            assert _ask(driver, 10_000) == "0"
            assert rows_by_manifest(root) == rows, change
            assert rows_by_glob(root) == sorted((r for some in rows.values() for r in some), key=repr), change
            assert len(list(root.rglob("*.parquet"))) == len(rows), change
            assert validate(LocalDestination(root), "", depth="full", strict=True).passed, change

    assert answer == "0"
    assert change > 20
