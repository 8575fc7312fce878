"""What was damaged or deleted by hand between two nights is whole again after the next run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.run.command import picture
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import SECOND_NIGHT, assert_equal, export_file, make_events
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import snapshot
from tests.servers.sqlite import SqliteDatabase

DAY = "created_at=2023-01-02"


def _part(day: Path) -> Path:
    (part,) = day.glob("*.parquet")
    return part


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def _edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes, indent=2) + "\n")


def _delete(*paths: Path) -> None:
    for path in paths:
        path.unlink()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a flipped byte in a part": lambda day: _flip(_part(day)),
    "a part cut short": lambda day: _part(day).write_bytes(_part(day).read_bytes()[:-9]),
    "a part emptied": lambda day: _part(day).write_bytes(b""),
    "a part deleted": lambda day: _delete(_part(day)),
    "a part renamed": lambda day: _part(day).rename(day / _part(day).name.replace("_00000.", "_00001.")),
    "a part copied": lambda day: shutil.copy(_part(day), day / _part(day).name.replace("_00000.", "_00001.")),
    "the marker deleted": lambda day: _delete(day / "_SUCCESS"),
    "the marker emptied": lambda day: (day / "_SUCCESS").write_bytes(b""),
    "another's marker": lambda day: shutil.copy(day.parent / "created_at=2023-01-01/_SUCCESS", day),
    "the manifest deleted": lambda day: _delete(day / "manifest.json"),
    "the manifest emptied": lambda day: (day / "manifest.json").write_bytes(b""),
    "the manifest edited": lambda day: _edit(day / "manifest.json", row_count=3),
    "another's manifest": lambda day: shutil.copy(day.parent / "created_at=2023-01-01/manifest.json", day),
    "manifest and marker deleted": lambda day: _delete(day / "manifest.json", day / "_SUCCESS"),
    "the partition deleted": shutil.rmtree,
    "all of its files deleted": lambda day: _delete(*day.iterdir()),
    "the partition moved": lambda day: day.rename(day.parent / "moved"),
    "the export file deleted": lambda day: _delete(day.parent / "_rivet_export.json"),
    "the export file deleted, and a part": lambda day: _delete(day.parent / "_rivet_export.json", _part(day)),
    "all but the export file deleted": lambda day: _delete(*day.parent.glob("*/*")),
}


@pytest.mark.parametrize(
    ("damage", "second"),
    [
        *((damage, False) for damage in DAMAGE),
        # The same on a night on which the damaged day has other rows, and others have none any more.
        ("a part deleted", True),
        ("the marker deleted", True),
        ("the manifest deleted", True),
        ("the manifest edited", True),
        ("the partition deleted", True),
        ("the export file deleted", True),
    ],
)
def test_the_next_run_mends(
    tmp_path: Path, sqlite_database: SqliteDatabase, damage: str, *, second: bool
) -> None:
    """Whatever was lost or altered, the next run ends right and leaves the whole partitions alone."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root))
    DAMAGE[damage](root / DAY)
    shutil.rmtree(root / "moved", ignore_errors=True)
    whole = root / "created_at=2023-01-04"
    before = picture(whole) if whole.exists() else None
    if second:
        sqlite_database.execute(SECOND_NIGHT)

    run_well(tmp_path, sqlite_database.source, by_day(root), validate=True)

    assert_equal(root, sqlite_database)
    if "all but" not in damage:
        assert picture(whole) == before


@pytest.mark.parametrize(
    "damage", ["a flipped byte in a part", "the manifest deleted", "the partition deleted"]
)
@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_a_damaged_partition_of_a_server_is_read_again(
    tmp_path: Path, database: AnyDatabase, engine: str, damage: str
) -> None:
    """On servers, too, only the damaged partition is written anew."""
    make_events(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_day(root))
    DAMAGE[damage](root / DAY)

    outcome = run_well(tmp_path, database.source, by_day(root), validate=True)

    assert (outcome.partitions_written, outcome.partitions_unchanged) == (1, 6)
    assert_equal(root, database)


@pytest.mark.parametrize("content", ["", "{}", '{"export_version": 99}', "[1]", "half of a {"])
def test_an_export_file_that_cannot_be_read_stops_the_run(
    tmp_path: Path, sqlite_database: SqliteDatabase, content: str
) -> None:
    """What the tree holds cannot be told then: exit 4 and the mend, which works; nothing changes before."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root))
    (root / "_rivet_export.json").write_text(content)
    before = snapshot(root)

    outcome = run_one(tmp_path, sqlite_database.source, by_day(root))

    assert outcome.exit_code == 4
    assert f"{root}/_rivet_export.json" in (outcome.error or "")
    assert outcome.hint == "restore the file; or remove it, and the next run rebuilds it from the manifests"
    assert snapshot(root) == before
    (root / "_rivet_export.json").unlink()
    run_well(tmp_path, sqlite_database.source, by_day(root), validate=True)
    assert_equal(root, sqlite_database)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_tree_is_adopted_with_what_vanished_from_it(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """With the export file lost, days that have vanished since are still known, and go as the policy says."""
    make_events(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_day(root))
    (root / "_rivet_export.json").unlink()
    database.execute(SECOND_NIGHT)
    database.execute("DELETE FROM events WHERE created_at < '2023-01-02'")
    before = snapshot(root)

    refused = run_one(tmp_path, database.source, by_day(root))
    assert refused.exit_code == 2
    assert snapshot(root) == before

    outcome = run_well(tmp_path, database.source, by_day(root, vanished="remove"), validate=True)
    assert outcome.partitions_removed == 3
    assert_equal(root, database)


@pytest.mark.parametrize("left", ["markers and parts", "parts", "one day's marker and part"])
def test_what_nothing_lists_any_more_is_foreign(
    tmp_path: Path, sqlite_database: SqliteDatabase, left: str
) -> None:
    """Where export file and manifests are both lost, files are nobody's: never removed, and told."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root))
    lost = [root / DAY / "manifest.json"] if left.startswith("one") else root.rglob("manifest.json")
    _delete(root / "_rivet_export.json", *lost)
    if left == "parts":
        _delete(*root.rglob("_SUCCESS"))
    before = snapshot(root)

    outcome = run_one(tmp_path, sqlite_database.source, by_day(root))

    if left == "parts":
        assert outcome.exit_code == 0
        assert any("7 foreign Parquet files in the tree" in warning for warning in outcome.warnings)
        assert before.items() <= snapshot(root).items()
    else:
        assert outcome.exit_code == 2
        assert "/_SUCCESS is not of this export" in (outcome.error or "")
        assert snapshot(root) == before


def test_what_a_killed_run_staged_is_swept_and_nothing_else(
    tmp_path: Path, sqlite_database: SqliteDatabase
) -> None:
    """Staged files of a run that the export file records go; those of an unknown run are foreign."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root))
    ours = root / "_rivet_staging" / export_file(root)["run_id"] / "left"
    other = root / "_rivet_staging" / "20200101T000000Z-00000000" / "left"
    for path in (ours, other):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"PAR1")

    run_well(tmp_path, sqlite_database.source, by_day(root), validate=True)

    assert not ours.parent.exists()
    assert other.read_bytes() == b"PAR1"


@pytest.mark.parametrize("adopted", [False, True])
def test_a_partition_copied_under_another_name_is_told(
    tmp_path: Path, sqlite_database: SqliteDatabase, *, adopted: bool
) -> None:
    """A copy that somebody made under the root is not removed; the run warns that readers will count it."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root))
    copy = root / "created_at=2023-01-02.bak"
    shutil.copytree(root / DAY, copy)
    before = snapshot(copy)
    if adopted:
        (root / "_rivet_export.json").unlink()

    outcome = run_well(tmp_path, sqlite_database.source, by_day(root))

    assert snapshot(copy) == before
    assert any(f"1 foreign Parquet file in the tree, such as '{copy.name}/" in w for w in outcome.warnings)
    shutil.rmtree(copy)
    assert_equal(root, sqlite_database)
