"""Places that an export cannot have: foreign or another export's, or closed to it; nothing is touched."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.run.command import picture, run_command, write_config
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.refusing import events_table, refused
from tests.run.running import by_day, run_well
from tests.run.trees import rows_by_glob, snapshot
from tests.servers.sqlite import SqliteDatabase

# What the second export states, and what the message says of both.
OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "name": ({"name": "orders"}, "export 'events', and this one has 'orders'"),
    "column": ({"partition_by": "seen_on"}, "column 'created_at', and this one has 'seen_on'"),
    "key": ({"partition_key": "day"}, "key 'created_at', and this one has 'day'"),
    "granularity": ({"partition_granularity": "month"}, "granularity 'day', and this one has 'month'"),
    "manifest": (
        {"manifest_name": "_manifest.json"},
        "manifest_name 'manifest.json', and this one has '_man",
    ),
    "below": ({"path": "{partition}/parts"}, "template '{partition}', and this one has '{partition}/parts'"),
    "whole": ({"partition_by": None}, "column 'created_at', and this one has none"),
}


def _other(root: Path, changes: dict[str, Any]) -> dict[str, Any]:
    destination = {"type": "local", "path": f"{root}/{changes.get('path', '{partition}')}"}
    if "manifest_name" in changes:
        destination["manifest_name"] = changes["manifest_name"]
    export = by_day(root, **{k: v for k, v in changes.items() if k not in ("path", "manifest_name")})
    if export["partition_by"] is None:
        del export["partition_by"], export["partition_granularity"]
        destination["path"] = str(root)
    return export | {"destination": destination}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_root_that_holds_another_export_is_refused(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another name, column, key, granularity or layout is told as found and wanted; the tree stays."""
    database.execute(events_table(engine))
    database.execute("ALTER TABLE events ADD COLUMN seen_on date")
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_day(root))

    for changes, message in OTHERS.values():
        error, hint = refused(tmp_path, capsys, database.source, _other(root, changes))

        assert error.startswith(f"{root}/ holds an export with {message}")
        assert hint == "give the export a root of its own, or move the old tree away"


@pytest.mark.parametrize("case", ["name", "key", "granularity"])
def test_a_root_whose_export_file_is_lost_is_known_by_its_manifests(
    tmp_path: Path, sqlite_database: SqliteDatabase, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    """Without the export file, too, a tree is not given to another export."""
    sqlite_database.execute(events_table("sqlite"))
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root))
    (root / "_rivet_export.json").unlink()
    changes, message = OTHERS[case]

    error, _ = refused(tmp_path, capsys, sqlite_database.source, _other(root, changes))

    assert message in error


def test_a_tree_without_partitions_is_not_given_to_one_with_them(
    tmp_path: Path, sqlite_database: SqliteDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """An export that is one partition keeps its root when the config begins to partition it."""
    sqlite_database.execute(events_table("sqlite"))
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, _other(root, OTHERS["whole"][0]))

    error, _ = refused(tmp_path, capsys, sqlite_database.source, by_day(root))

    assert "holds an export with no column, and this one has 'created_at'" in error


def _refused_late(
    directory: Path, capsys: pytest.CaptureFixture[str], export: dict[str, Any], source: Any
) -> str:
    """Run an export that is refused once its rows are staged, and give the message; no byte has changed."""
    config = write_config(directory, source, export)
    before = snapshot(directory)
    directories = {p for p in directory.rglob("*") if p.is_dir()}
    told = run_command(capsys, "run", "--config", config, "--json")
    assert told.exit_code == 2
    assert snapshot(directory) == before
    assert {p for p in directory.rglob("*") if p.is_dir()} == directories
    (outcome,) = told.exports
    assert told.errors == [f"Error: events: {outcome['error']}", f"Hint: {outcome['hint']}"]
    return str(outcome["error"])


@pytest.mark.parametrize("over_a_tree", [False, True])
@pytest.mark.parametrize("name", ["manifest.json", "_SUCCESS"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_foreign_file_where_one_must_go_stops_the_run(
    tmp_path: Path,
    database: AnyDatabase,
    engine: str,
    capsys: pytest.CaptureFixture[str],
    name: str,
    *,
    over_a_tree: bool,
) -> None:
    """A manifest or marker of somebody else in a new partition is not replaced; nothing is published."""
    database.execute(events_table(engine))
    root = tmp_path / "tree"
    if over_a_tree:
        database.execute("DELETE FROM events WHERE id = 2")
        run_well(tmp_path, database.source, by_day(root))
        database.execute("INSERT INTO events VALUES (2, '2023-01-02 10:00:00', 'new', 2)")
        database.execute("UPDATE events SET note = 'changed' WHERE id = 1")
    foreign = root / "created_at=2023-01-02" / name
    foreign.parent.mkdir(parents=True)
    foreign.write_text('{"name": "another tool"}\n')

    error = _refused_late(tmp_path, capsys, by_day(root), database.source)

    assert error.startswith(f"{foreign} is not of this export")


@pytest.mark.parametrize(
    "stands", ["created_at=2023-01-02", "created_at=2023-01-02/manifest.json/x", "_rivet_export.json/x"]
)
def test_a_file_or_directory_in_the_way_stops_the_run(
    tmp_path: Path, sqlite_database: SqliteDatabase, capsys: pytest.CaptureFixture[str], stands: str
) -> None:
    """A file where a partition must go, or a directory for a file, is told before anything is published."""
    sqlite_database.execute(events_table("sqlite"))
    root = tmp_path / "tree"
    (root / stands).parent.mkdir(parents=True)
    (root / stands).write_text("in the way")

    error = _refused_late(tmp_path, capsys, by_day(root), sqlite_database.source)

    assert stands.removesuffix("/x") in error


@pytest.mark.parametrize("name", ["manifest.json", "_SUCCESS"])
def test_an_empty_directory_in_a_partition_of_its_own_stops_the_run(
    tmp_path: Path, sqlite_database: SqliteDatabase, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """What no listing shows is found before any partition is published, with its path and the mend."""
    sqlite_database.execute(events_table("sqlite"))
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root))
    sqlite_database.execute("UPDATE events SET note = 'changed'")
    stands = max(root.rglob(name))
    stands.unlink()
    stands.mkdir()

    error = _refused_late(tmp_path, capsys, by_day(root), sqlite_database.source)

    assert error == f"cannot stage {str(stands)!r}: Is a directory"


@pytest.mark.parametrize("stands", ["place", "place/deep", "place/deep/tree"])
def test_a_root_that_is_below_a_file_or_is_one(
    tmp_path: Path, sqlite_database: SqliteDatabase, capsys: pytest.CaptureFixture[str], stands: str
) -> None:
    """Where the root or one above it is a file, the run says so and the file stays."""
    sqlite_database.execute(events_table("sqlite"))
    (tmp_path / stands).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / stands).write_text("a file")

    error = _refused_late(tmp_path, capsys, by_day(tmp_path / "place/deep/tree"), sqlite_database.source)

    assert str(tmp_path / stands) in error


@contextmanager
def _without_rights(directory: Path) -> Iterator[None]:
    """Be a user without root's rights, who may read the directory and not write to it."""
    directory.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        directory.chmod(0o755)


@pytest.mark.parametrize("over_a_tree", [False, True])
def test_a_read_only_directory_is_denied(
    tmp_path: Path, sqlite_database: SqliteDatabase, capsys: pytest.CaptureFixture[str], *, over_a_tree: bool
) -> None:
    """Who may not write there gets exit 2 and the directory's name; the tree that stands is whole."""
    sqlite_database.execute(events_table("sqlite"))
    with tempfile.TemporaryDirectory() as name:  # pytest's own is closed to others
        ground = Path(name)
        ground.chmod(0o755)
        source = {"type": "sqlite", "path": str(ground / "source.db")}
        (ground / "source.db").write_bytes(sqlite_database.path.read_bytes())
        closed = ground / "closed"
        closed.mkdir()
        # This also loads every module before the rights are gone.
        run_well(tmp_path, source, by_day((closed if over_a_tree else ground) / "tree"), validate=True)
        config = write_config(
            ground, source, by_day(closed / "tree" if over_a_tree else closed / "deep/tree")
        )
        before = picture(closed)
        root = closed / "tree"
        with _without_rights(root if over_a_tree else closed):
            told = run_command(capsys, "run", "--config", config, "--json")

        assert told.exit_code == 2
        (outcome,) = told.exports
        assert str(closed) in outcome["error"]
        assert outcome["hint"]
        after = picture(closed)
        assert {k: v[2:] for k, v in after.items()} == {k: v[2:] for k, v in before.items()}
        if over_a_tree:
            assert len(rows_by_glob(root)) == 4
