"""`rivet compact` merges the parts that runs have added, and changes no row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rivet.destination.local import LocalDestination
from rivet.validate import validate
from tests.run.appending import appending, assert_accounted
from tests.run.buckets import PATH, STORES, Bucket, copied, rows_in_store
from tests.run.changing import DAYS, assert_holds, make_orders, orders
from tests.run.command import Told, run_command, write_config
from tests.run.conftest import AnyDatabase
from tests.run.nights import export_file
from tests.run.running import run_well
from tests.run.trees import NULL, Rows, manifests, snapshot

SECOND, THIRD = DAYS[1], DAYS[2]
GROWN = {SECOND, THIRD, NULL}


def _grow(directory: Path, database: AnyDatabase, export: dict[str, Any], **more: Any) -> dict[str, Rows]:
    """Export the table, and add rows to three partitions on two nights; give the rows of the table."""
    run_well(directory, database.source, export, **more)
    for night in range(2):
        at = f"2023-02-01 12:00:00.00001{night}"
        rows = [
            f"({100 * night + n}, {day}, '{at}', 'é')"
            for n, day in enumerate((f"'{SECOND}'", f"'{THIRD}'", "NULL"))
        ]
        database.execute(f"INSERT INTO orders VALUES {', '.join(rows)}")
        run_well(directory, database.source, export, **more)
    return orders(database)


def _compact(
    capsys: pytest.CaptureFixture[str], directory: Path, database: AnyDatabase, export: dict[str, Any]
) -> Told:
    config = write_config(directory, database.source, export)
    return run_command(capsys, "compact", "--config", config, "--json")


def _part_counts(root: Path) -> dict[str, int]:
    return {label: len(manifest["parts"]) for label, manifest in manifests(root).items()}


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_parts_become_one_and_rows_stay(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Partitions of one run are left alone, and so is all of them the second time; nights go on behind it."""
    make_orders(database, engine)
    root, export = tmp_path / "tree", appending(tmp_path / "tree")
    rows = _grow(tmp_path, database, export)
    before, mark = snapshot(root), export_file(root)["watermark"]
    assert {label for label, parts in _part_counts(root).items() if parts == 3} == GROWN

    told = _compact(capsys, tmp_path, database, export)

    assert told.exit_code == 0, told.errors
    assert told.exports[0]["partitions_written"] == 3
    assert_holds(root, rows)
    assert set(_part_counts(root).values()) == {1}
    after = snapshot(root)
    left_alone = {p for p in before if p != "_rivet_export.json" and not any(label in p for label in GROWN)}
    assert {p: before[p] for p in left_alone} == {p: after[p] for p in left_alone}
    assert export_file(root)["watermark"] == mark
    assert_accounted(root)
    assert validate(LocalDestination(root), "", depth="full", strict=True).passed

    assert _compact(capsys, tmp_path, database, export).exports[0]["partitions_written"] == 0
    assert snapshot(root) == after
    database.execute(f"INSERT INTO orders VALUES (7, '{SECOND}', '2023-02-01 12:00:00.000012', 'behind it')")
    assert run_well(tmp_path, database.source, export).partitions_written == 1
    assert_holds(root, orders(database))
    assert_accounted(root)


def test_parts_are_as_large_as_the_config_says(
    tmp_path: Path, sqlite_database: AnyDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows keep their order, part after part, and each part tells its own bounds."""
    make_orders(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    rows = _grow(tmp_path, sqlite_database, appending(root))
    smaller = appending(root, max_file_size="200B", compression="none")

    told = _compact(capsys, tmp_path, sqlite_database, smaller)

    assert told.exit_code == 0, told.errors
    assert _part_counts(root)[SECOND] > 1
    assert manifests(root)[SECOND]["compression"] == "none"
    assert_holds(root, rows)
    assert_accounted(root)


@pytest.mark.parametrize("store", STORES)
def test_parts_are_merged_in_a_bucket(
    tmp_path: Path,
    sqlite_database: AnyDatabase,
    bucket: Bucket,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its readers find each row once, and nothing is left of what was staged."""
    make_orders(sqlite_database, "sqlite")
    export = appending(tmp_path) | {"destination": {**bucket.section, "prefix": PATH}}
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)
    rows = _grow(tmp_path, sqlite_database, export, environ=bucket.environment)

    told = _compact(capsys, tmp_path, sqlite_database, export)

    assert told.exit_code == 0, told.errors
    root = copied(bucket, tmp_path / "after")
    assert set(_part_counts(root).values()) == {1}
    assert_holds(root, rows)
    assert_accounted(root)
    assert rows_in_store(bucket) == sorted((row for some in rows.values() for row in some), key=repr)
    assert not list(root.rglob("*_rivet_staging*"))


def _damage_part(root: Path) -> None:
    part = next((root / f"created_at={SECOND}").glob("*.parquet"))
    data = bytearray(part.read_bytes())
    data[10] ^= 1
    part.write_bytes(data)


def _remove_part(root: Path) -> None:
    next((root / f"created_at={THIRD}").glob("*.parquet")).unlink()


def _alter_manifest(root: Path) -> None:
    path = root / f"created_at={SECOND}" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"x": 1}))


@pytest.mark.parametrize("damage", [_damage_part, _remove_part, _alter_manifest])
def test_what_is_damaged_is_not_merged(
    tmp_path: Path, sqlite_database: AnyDatabase, capsys: pytest.CaptureFixture[str], damage: Any
) -> None:
    """A byte that has changed is not written anew as if it were right; nothing at all is changed."""
    make_orders(sqlite_database, "sqlite")
    root, export = tmp_path / "tree", appending(tmp_path / "tree")
    _grow(tmp_path, sqlite_database, export)
    damage(root)
    before = snapshot(root)

    told = _compact(capsys, tmp_path, sqlite_database, export)

    assert told.exit_code == 4
    assert "--partition" in told.exports[0]["hint"]
    assert snapshot(root) == before


def test_rows_that_were_written_wrongly_are_never_published(
    tmp_path: Path,
    sqlite_database: AnyDatabase,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was staged is read again beside what stands, and one value that differs is enough."""
    make_orders(sqlite_database, "sqlite")
    root, export = tmp_path / "tree", appending(tmp_path / "tree")
    _grow(tmp_path, sqlite_database, export)
    before = snapshot(root)
    write = pq.ParquetWriter.write_table

    def wrong(writer: pq.ParquetWriter, table: pa.Table, *given: Any, **named: Any) -> None:
        notes = pa.array(["x", *table["note"].to_pylist()[1:]], table["note"].type)
        write(writer, table.set_column(table.column_names.index("note"), "note", notes), *given, **named)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", wrong)
    told = _compact(capsys, tmp_path, sqlite_database, export)
    monkeypatch.undo()

    assert told.exit_code == 4
    assert "merged, its rows are not those that stand" in told.exports[0]["error"]
    assert snapshot(root) == before


def test_what_cannot_be_merged_is_said(
    tmp_path: Path, sqlite_database: AnyDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where nothing stands, where another export does, and where the last run has not reached its end."""
    make_orders(sqlite_database, "sqlite")
    root, export = tmp_path / "tree", appending(tmp_path / "tree")
    told = _compact(capsys, tmp_path, sqlite_database, export)
    assert (told.exit_code, told.exports[0]["hint"]) == (2, "run the export first")
    assert not root.exists()
    _grow(tmp_path, sqlite_database, export)
    before = snapshot(root)
    assert _compact(capsys, tmp_path, sqlite_database, export | {"name": "others"}).exit_code == 2
    path = root / "_rivet_export.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "partial"}))
    told = _compact(capsys, tmp_path, sqlite_database, export)
    assert told.exit_code == 2
    assert "the last run has not reached its end" in told.exports[0]["error"]
    assert {**snapshot(root), path.name: b""} == {**before, path.name: b""}
