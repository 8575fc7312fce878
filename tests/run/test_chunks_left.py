"""What of finished chunks is kept: after damage, with other settings, in buckets, by one run itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rivet.destination.local import LocalDestination
from rivet.errors import DestinationUnavailable, SourceUnavailable
from rivet.export.pages import Pages
from rivet.plan.scans import Scan
from rivet.publish.steps import Steps
from tests.run.buckets import PREFIX, STORES, Bucket, copied
from tests.run.buckets import export as in_bucket
from tests.run.keeping import (
    ROWS,
    STAGED,
    all_rows,
    as_one,
    fail_after,
    go_on,
    in_chunks,
    moments_of,
)
from tests.run.nights import assert_valid, export_file, make_events, source_rows
from tests.run.running import run_one, run_well
from tests.run.trees import NULL, manifests, rows_by_glob, rows_by_manifest
from tests.servers.sqlite import SqliteDatabase


def test_after_a_complete_run_nothing_is_taken_over(tmp_path: Path, sqlite_database: SqliteDatabase) -> None:
    """Killed when its export file was complete and its chunks were not swept yet, a run has left nothing."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    export = in_chunks(root, "page")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalDestination, "sweep", lambda *_: None)
        run_well(tmp_path, sqlite_database.source, export)
    assert len(list(root.glob("_rivet_staging/*/*.json"))) == ROWS
    sqlite_database.execute("UPDATE events SET note = 'next night'")

    outcome, read = go_on(tmp_path, sqlite_database, export)

    assert (read, outcome.consistency) == (ROWS, "snapshot")
    assert rows_by_manifest(root) == source_rows(sqlite_database)
    assert not (root / "_rivet_staging").exists()


OTHERS: list[dict[str, Any]] = [
    {"resume": "redo"},
    {"chunk_size": 2},
    {"chunk_by_key": ["created_at", "id"]},
    {"exclude": ["note"]},
    {"compression": "gzip"},
    {"max_file_size": "1MB"},
    {"mode": "full"},
]


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: next(iter(other)))
def test_what_was_cut_or_written_otherwise_is_not_taken_over(
    tmp_path: Path, sqlite_database: SqliteDatabase, other: dict[str, Any]
) -> None:
    """Where a setting differs that rows or bytes depend on, all is read, and what was staged is gone."""
    make_events(sqlite_database, "sqlite")
    sqlite_database.execute("CREATE UNIQUE INDEX by_day ON events (created_at, id)")
    export = in_chunks(tmp_path / "tree", "page")
    fail_after(tmp_path, sqlite_database, export, 6)
    assert list((tmp_path / "tree").glob(STAGED)) != []
    changed = export | other
    if other.get("mode") == "full":
        changed = {key: value for key, value in changed.items() if not key.startswith("chunk_")}

    outcome = run_well(tmp_path, sqlite_database.source, changed, validate=True)

    assert (outcome.rows, outcome.consistency) == (ROWS, "snapshot")
    assert not any("keeps" in line for line in outcome.warnings)
    assert {read for _, runs in moments_of(tmp_path / "tree").values() for read in runs} == {
        export_file(tmp_path / "tree")["run_id"]
    }
    assert not (tmp_path / "tree" / "_rivet_staging").exists()


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize("way", ["range", "page"])
@pytest.mark.parametrize(
    ("damage", "what"),
    [(_flip, "part"), (_cut, "part"), (Path.unlink, "part"), (_cut, "note"), (Path.unlink, "note")],
)
def test_what_was_damaged_meanwhile_is_read_again(
    tmp_path: Path, sqlite_database: SqliteDatabase, way: str, damage: Any, what: str
) -> None:
    """A part is taken over if its size and digest are what was noted; pages behind one that is not go too."""
    make_events(sqlite_database, "sqlite")
    export = as_one(tmp_path / "tree", way)
    fail_after(tmp_path, sqlite_database, export, 6)
    notes = sorted((tmp_path / "tree").glob("_rivet_staging/*/chunk-*.json"))
    assert len(notes) == 6
    struck = notes[3]
    if what == "part":
        struck = struck.parent / json.loads(struck.read_text())["parts"][0]["staged"]
    damage(struck)

    _, read = go_on(tmp_path, sqlite_database, export)

    assert read == ROWS - (5 if way == "range" else 3)
    assert rows_by_glob(tmp_path / "tree") == all_rows(sqlite_database)


@pytest.mark.parametrize("way", ["range", "page"])
@pytest.mark.parametrize("store", STORES)
def test_a_bucket_keeps_chunks_too(
    tmp_path: Path, sqlite_database: SqliteDatabase, bucket: Bucket, way: str
) -> None:
    """After two runs that failed the third reads what is left; nobody sees anything before, nothing stays."""
    make_events(sqlite_database, "sqlite")
    export = in_chunks(Path(), way) | in_bucket(bucket) | {"mode": "chunked", "resume": "reuse"}
    environ = bucket.environment
    fail_after(tmp_path, sqlite_database, export, 4, environ=environ)
    fail_after(tmp_path, sqlite_database, export, 3, environ=environ)
    keys = [key.removeprefix(PREFIX) for key in bucket.keys(PREFIX)]
    assert not [key for key in keys if key.endswith(".parquet")]
    assert {key.split("/")[0] for key in keys} == {"_rivet_export.json", "_rivet_staging"}
    assert len({key.split("/")[1] for key in keys if "/" in key}) == 1

    _, read = go_on(tmp_path, sqlite_database, export, environ=environ)

    assert read == ROWS - 7
    tree = copied(bucket, tmp_path / "copy")
    assert rows_by_manifest(tree) == source_rows(sqlite_database)
    assert not [key for key in bucket.keys(PREFIX) if "_rivet_staging" in key]
    assert {len(runs) for _, runs in moments_of(tree).values()} <= {1, 2, 3}
    assert_valid(tree)


@pytest.mark.parametrize("way", ["range", "page"])
def test_a_run_that_begins_anew_keeps_its_own_chunks(
    tmp_path: Path, sqlite_database: SqliteDatabase, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the source fails in a way that may pass, the second attempt of the run reads the rest."""
    make_events(sqlite_database, "sqlite")
    monkeypatch.setattr("rivet.retrying.FIRST_PAUSE_SECONDS", 0.0)
    root = tmp_path / "tree"
    read, seen = Pages.read, list[Scan]()

    def reading(pages: Pages, relation: Any, column: Any, scan: Scan) -> Any:
        seen.append(scan)
        if len(seen) == 6:
            raise SourceUnavailable("the server went away")
        return read(pages, relation, column, scan)

    monkeypatch.setattr(Pages, "read", reading)
    outcome = run_well(tmp_path, {**sqlite_database.source, "retries": 1}, as_one(root, way), validate=True)

    assert len(seen) == ROWS + 1
    assert outcome.scans == ROWS - 5
    assert rows_by_glob(root) == all_rows(sqlite_database)
    (manifest,) = manifests(root).values()
    assert [part.get("read_in_attempt", 2) for part in manifest["parts"]] == [1] * 5 + [2] * 6
    assert manifest["source"]["consistency"] == "none"
    assert not (root / "_rivet_staging").exists()
    assert "killed_runs" not in export_file(root)


def test_a_partition_that_could_not_be_published_is_not_read_again(
    tmp_path: Path, sqlite_database: SqliteDatabase
) -> None:
    """What failed was the destination: its chunks are there, and the next run publishes them."""
    make_events(sqlite_database, "sqlite")
    root = tmp_path / "tree"
    export = in_chunks(root, "page")
    take = Steps.take

    def failing(steps: Steps, group: Any) -> Any:
        failed = {
            p.partition.path: DestinationUnavailable("no room") for p in group if p.partition.value == NULL
        }
        return take(steps, [p for p in group if p.partition.path not in failed]) | failed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Steps, "take", failing)
        outcome = run_one(tmp_path, sqlite_database.source, export)
    assert (outcome.exit_code, outcome.partitions_written) == (3, 6)

    _, read = go_on(tmp_path, sqlite_database, export)

    assert read == 0
    assert rows_by_manifest(root) == source_rows(sqlite_database)
    assert list(root.glob(STAGED)) == []
