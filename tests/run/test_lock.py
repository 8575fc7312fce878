"""What the lock of an export keeps out, and what goes on beside it."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from rivet.lock.holder import Holder
from rivet.lock.process import Process
from rivet.lock.turn import Turn
from tests.run.command import run_command, write_config
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import snapshot
from tests.servers.sqlite import SqliteDatabase

LOCK = "_rivet_lock.json"
HELD = Holder("20230102T030405Z-0123abcd", Process("db1", 7), "2023-01-02T03:04:05Z", "", "token").encode()
TABLE = """
CREATE TABLE events (id INTEGER PRIMARY KEY, created_at DATETIME);
INSERT INTO events VALUES (1, '2023-01-01 00:00:00'), (2, '2023-01-02 12:00:00'), (3, NULL);
"""


@pytest.fixture
def root(tmp_path: Path, sqlite_database: SqliteDatabase) -> Path:
    """Give a tree whose lock another host holds."""
    sqlite_database.execute(TABLE)
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root))
    (root / LOCK).write_bytes(HELD)
    return root


def test_a_run_that_finds_a_lock_changes_nothing(
    root: Path, tmp_path: Path, sqlite_database: SqliteDatabase
) -> None:
    """It ends with 5 and the holder's name; the tree is as it was, and the source was asked nothing."""
    before = snapshot(root)
    sqlite_database.path.unlink()
    outcome = run_one(tmp_path, sqlite_database.source, by_day(root))

    assert (outcome.exit_code, outcome.status) == (5, "failed")
    assert "run '20230102T030405Z-0123abcd' on host 'db1', process 7" in (outcome.error or "")
    assert snapshot(root) == before


def test_merging_that_finds_a_lock_changes_nothing(
    root: Path, tmp_path: Path, sqlite_database: SqliteDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends with 5 and the holder's name, where there is nothing to merge as well."""
    before = snapshot(root)
    told = run_command(
        capsys, "compact", "--config", write_config(tmp_path, sqlite_database.source, by_day(root))
    )

    assert told.exit_code == 5
    assert any("run '20230102T030405Z-0123abcd' on host 'db1'" in line for line in told.errors)
    assert snapshot(root) == before


def test_plan_check_and_validation_heed_no_lock(
    root: Path, tmp_path: Path, sqlite_database: SqliteDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """They go on beside it, leave it alone, and take it for no finding, not even a strict one."""
    config = write_config(tmp_path, sqlite_database.source, by_day(root))
    before = snapshot(root)
    commands: list[list[str | Path]] = [
        ["plan", "--config", config],
        ["check", "--config", config],
        ["run", "--dry-run", "--config", config],
        ["validate", "--config", config, "--strict"],
        ["validate", "--prefix", root, "--strict"],
    ]
    for command in commands:
        told = run_command(capsys, *command, "--json")
        assert told.exit_code == 0, told
    assert snapshot(root) == before


def test_lock_off_heeds_none(root: Path, tmp_path: Path, sqlite_database: SqliteDatabase) -> None:
    """Who asks for it runs beside the lock, which stays another's."""
    sqlite_database.execute("INSERT INTO events VALUES (4, '2023-01-03 00:00:00')")
    outcome = run_well(tmp_path, sqlite_database.source, by_day(root, lock="off"))

    assert outcome.rows == 4
    assert (root / LOCK).read_bytes() == HELD


def test_a_run_leaves_no_lock(tmp_path: Path, sqlite_database: SqliteDatabase) -> None:
    """Neither a run that succeeds nor one that is refused does, and the latter no directory either."""
    sqlite_database.execute(TABLE)
    root = tmp_path / "deep" / "tree"
    refused = run_one(tmp_path, sqlite_database.source, by_day(root, max_partitions=1))
    assert refused.exit_code == 2
    assert not root.parent.exists()
    run_well(tmp_path, sqlite_database.source, by_day(root))
    assert not (root / LOCK).exists()


@pytest.mark.parametrize("seconds", ["-1", "soon", "nan", "1.5"])
def test_a_wait_is_a_number_of_seconds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seconds: str
) -> None:
    """Anything else than a whole number is refused before the config is read."""
    told = run_command(capsys, "run", "--config", tmp_path / "none.yaml", "--wait", seconds)

    assert told.exit_code == 2
    assert "--wait" in " ".join(told.lines)


def test_the_lock_is_its_owners_and_the_tree_is_the_umasks(
    tmp_path: Path, sqlite_database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the umask lets others do with the tree, they cannot read who is at work on it."""
    sqlite_database.execute(TABLE)
    root = tmp_path / "tree"
    seen: list[int] = []
    hold = Turn.hold

    def held(turn: Turn) -> None:
        hold(turn)
        seen.append(stat.S_IMODE((root / LOCK).stat().st_mode))

    monkeypatch.setattr(Turn, "hold", held)
    for umask, file_mode, directory_mode in ((0o000, 0o666, 0o777), (0o027, 0o640, 0o750)):
        before = os.umask(umask)
        try:
            run_well(tmp_path, sqlite_database.source, by_day(root))
        finally:
            os.umask(before)
        for path in (root, *root.rglob("*")):
            assert stat.S_IMODE(path.stat().st_mode) == (directory_mode if path.is_dir() else file_mode)
        shutil.rmtree(root)
    assert seen == [0o600, 0o600]
