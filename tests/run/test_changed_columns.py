"""Columns that change between runs, or while one is at work: a tree is consistent, and the change is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import rivet.preparing.prepare
from rivet.destination.local import LocalDestination
from rivet.events import Event
from rivet.validate import validate
from tests.run.altering import RETYPED, Altering, statement
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import assert_equal, export_file, make_events
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import manifests, rows_by_manifest

TOLD = {
    "added": ["'more' is new"],
    "dropped": ["'note' is gone"],
    "renamed": ["'remark' is new", "'note' is gone"],
    "retyped": ["'id' is ", ", was int"],
}


@pytest.mark.parametrize("change", TOLD)
@pytest.mark.parametrize("engine", ENGINES)
def test_what_changed_between_two_runs_is_told(
    tmp_path: Path, database: AnyDatabase, engine: str, change: str
) -> None:
    """The second run says what is new, gone or of another type; its manifests have one new schema."""
    make_events(database, engine)
    root = tmp_path / "tree"
    first = run_well(tmp_path, database.source, by_day(root))
    assert not any("columns have changed" in warning for warning in first.warnings)
    old = export_file(root)
    database.execute(statement(change, engine))
    told: list[Event] = []

    outcome = run_well(tmp_path, database.source, by_day(root), validate=True, listener=told.append)

    (warning,) = (w for w in outcome.warnings if "columns have changed" in w)
    assert old["run_id"] in warning
    assert all(part in warning for part in TOLD[change])
    assert [e.message for e in told if e.kind == "warning"].count(warning) == 1
    new = export_file(root)
    assert new["schema_fingerprint"] != old["schema_fingerprint"]
    for manifest in manifests(root).values():
        assert (manifest["schema"], manifest["schema_fingerprint"]) == (
            new["schema"],
            new["schema_fingerprint"],
        )
    third = run_well(tmp_path, database.source, by_day(root))
    assert (third.partitions_written, third.warnings) == (0, first.warnings)


def test_columns_stand_as_the_table_has_them(tmp_path: Path, mariadb_database: AnyDatabase) -> None:
    """A column added in front stands in front in every part, and the run says that places have changed."""
    make_events(mariadb_database, "mariadb")
    root = tmp_path / "tree"
    run_well(tmp_path, mariadb_database.source, by_day(root))
    mariadb_database.execute("ALTER TABLE events ADD COLUMN more int DEFAULT 5 FIRST")

    outcome = run_well(tmp_path, mariadb_database.source, by_day(root))

    assert any("other places: read them by name" in warning for warning in outcome.warnings)
    names = {tuple(pq.ParquetFile(part).schema_arrow.names) for part in root.rglob("*.parquet")}
    assert names == {("more", "id", "created_at", "note")}


@pytest.mark.parametrize("moment", ["described", "probed"])
@pytest.mark.parametrize("change", TOLD)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_change_while_a_run_is_at_work_is_not_half_seen(
    tmp_path: Path,
    database: AnyDatabase,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    change: str,
    moment: str,
) -> None:
    """The rows come in the columns that were described, or the run fails and nothing is published."""
    if engine == "sqlite":
        database.execute("PRAGMA journal_mode = WAL")  # else readers keep writers out
    make_events(database, engine)
    before = _rows(tmp_path / "before", database)
    root = tmp_path / "tree"
    altering = Altering(database, engine, statement(change, engine))
    outcome = run_one(
        tmp_path, database.source, by_day(root), listener=_at(moment, altering.come, monkeypatch)
    )
    altering.end()
    monkeypatch.undo()

    if outcome.status == "failed":
        assert (engine, moment) == ("mariadb", "described")  # its snapshot begins to hold tables at the probe
        assert outcome.exit_code in (2, 3)
        assert outcome.error is not None
        assert not root.exists()
    else:
        assert rows_by_manifest(root) == before
        names = {tuple(pq.ParquetFile(part).schema_arrow.names) for part in root.rglob("*.parquet")}
        assert names == {("id", "created_at", "note")}
    run_well(tmp_path, database.source, by_day(root), validate=True)
    assert_equal(root, database)


def _rows(root: Path, database: AnyDatabase) -> dict[str, Any]:
    root.mkdir()
    run_well(root, database.source, by_day(root / "tree"))
    return rows_by_manifest(root / "tree")


def _at(moment: str, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> Callable[[Event], None]:
    """Act once the table is described and nothing is probed, or once it is probed and nothing is read."""
    prepare = rivet.preparing.prepare.prepare

    def acting(*args: Any, **kwargs: Any) -> Any:
        if moment == "described":
            act()
        return prepare(*args, **kwargs)

    monkeypatch.setattr("rivet.exporting.prepare", acting)
    return lambda event: act() if event.kind == "planned" and moment == "probed" else None


@pytest.mark.parametrize("engine", ENGINES)
def test_a_kept_partition_of_an_older_type_is_told_by_validation(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """A column is retyped, a day purged and kept: the run warns, and validation names the old schema."""
    make_events(database, engine)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_day(root))
    first, second, *_ = sorted(label for label in rows_by_manifest(root) if label[0].isdigit())
    database.execute(f"DELETE FROM events WHERE created_at < '{second}'")
    database.execute(RETYPED[engine])

    outcome = run_well(tmp_path, database.source, by_day(root, vanished="keep"))

    assert any("columns have changed" in warning for warning in outcome.warnings)
    found = {(str(f.code), f.path) for f in validate(LocalDestination(root), depth="full").findings}
    assert ("partition_schema", f"created_at={first}") in found
