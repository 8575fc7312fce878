"""With `resume: reuse` a run in chunks goes on where one that failed has ended, amidst a partition."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rivet.errors import DestinationUnavailable, SourceUnavailable
from rivet.export.pages import Pages
from rivet.plan.scans import Scan
from rivet.publish.steps import Steps
from rivet.run import plan
from tests.run.buckets import PREFIX, STORES, Bucket, copied
from tests.run.buckets import export as in_bucket
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import assert_valid, export_file, make_events, source_rows
from tests.run.running import by_day, run_one, run_well, settings
from tests.run.trees import NULL, Rows, manifests, rows_by_glob, rows_by_manifest
from tests.servers.database import Database
from tests.servers.sqlite import SqliteDatabase

ROWS = 11
WAYS: dict[str, dict[str, Any]] = {
    "range": {"chunk_column": "id", "chunk_size": 1},
    "page": {"chunk_by_key": ["id"], "chunk_size": 1},
    "composite": {"chunk_by_key": ["created_at", "id"], "chunk_size": 1},
}
STAGED = "_rivet_staging/*/*"
READS = re.compile(r"COPY \(SELECT .*\) TO STDOUT|SELECT CONVERT\(CONCAT_WS", re.DOTALL)


@contextmanager
def _chunks(failing_at: int | None = None) -> Iterator[list[Scan]]:
    """Collect the chunks that are asked of the source, which goes away at the one of that number."""
    read = Pages.read
    seen: list[Scan] = []

    def reading(pages: Pages, relation: Any, column: Any, scan: Scan) -> Any:
        if len(seen) == failing_at:
            raise SourceUnavailable("the server went away")
        seen.append(scan)
        return read(pages, relation, column, scan)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pages, "read", reading)
        yield seen


@pytest.fixture
def events(database: AnyDatabase, engine: str) -> AnyDatabase:
    """Give a table of a few days, with indexes for each way to cut."""
    make_events(database, engine)
    database.execute("CREATE UNIQUE INDEX by_day ON events (created_at, id)")
    return database


def _export(root: Path, way: str, **more: Any) -> dict[str, Any]:
    return by_day(root, mode="chunked", resume="reuse", **WAYS[way]) | more


def _whole(root: Path, way: str) -> dict[str, Any]:
    """Give an export of all rows as one partition."""
    export = _export(root, way, destination={"type": "local", "path": f"{root}/"})
    return {key: value for key, value in export.items() if not key.startswith("partition_")}


def _fail(
    directory: Path, database: AnyDatabase, export: dict[str, Any], number: int, **more: Any
) -> list[Scan]:
    """Let a run fail after so many chunks, and give them."""
    with _chunks(failing_at=number) as seen:
        outcome = run_one(directory, database.source, export, **more)
    assert (outcome.exit_code, outcome.error) == (3, "the server went away")
    assert len(seen) == number
    return seen


def _go_on(directory: Path, database: AnyDatabase, export: dict[str, Any], **more: Any) -> tuple[Any, int]:
    """Let the next run finish, and give its outcome and the number of chunks that it asked for."""
    with _chunks() as seen:
        outcome = run_well(directory, database.source, export, validate=True, **more)
    assert outcome.scans == len(seen)
    return outcome, len(seen)


def _all_rows(database: AnyDatabase) -> Rows:
    return sorted(itertools.chain(*source_rows(database).values()), key=repr)


def _moments(root: Path) -> dict[str, tuple[str, set[str]]]:
    """Give by label how consistent a partition is, and the runs that have read its rows."""
    return {
        label: (
            manifest["source"]["consistency"],
            {part.get("read_by", manifest["run_id"]) for part in manifest["parts"]},
        )
        for label, manifest in manifests(root).items()
    }


@pytest.mark.parametrize("number", [1, 4, 9])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("engine", ENGINES)
def test_no_finished_chunk_is_read_again(tmp_path: Path, events: AnyDatabase, way: str, number: int) -> None:
    """The next run asks for the others alone, as the plan says, and manifests say whose rows are whose."""
    root, chunks = tmp_path / "tree", ROWS - (way == "composite")  # whose rows with NULL are one
    export = _export(root, way)
    _fail(tmp_path, events, export, number)
    assert rows_by_glob(root) == []
    config = settings(tmp_path, events.source, export)
    (planned,) = plan(config, listener=lambda _: None)

    outcome, read = _go_on(tmp_path, events, export)

    assert len(planned.scans or ()) == read == chunks - number
    kept = [line for line in outcome.warnings if f"keeps {number} chunk" in line]
    assert len(kept) == 1
    assert kept[0] in planned.warnings
    assert rows_by_manifest(root) == source_rows(events)
    assert outcome.consistency == export_file(root)["source"]["consistency"] == "none"
    moments = _moments(root).values()
    assert all((consistency == "none") == (len(runs) > 1) for consistency, runs in moments)
    assert len(set.union(*(runs for _, runs in moments))) == 2
    assert list(root.glob(STAGED)) == []

    again = run_well(tmp_path, events.source, export)
    assert (again.partitions_written, again.consistency) == (0, "snapshot")


@pytest.mark.parametrize("way", ["range", "page"])
@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_the_servers_log_shows_no_finished_chunk(tmp_path: Path, events: Database, way: str) -> None:
    """As many statements for rows come as chunks are left, after three runs that failed."""
    root = tmp_path / "tree"
    export = _whole(root, way)
    done = 0
    for number in (3, 2, 4):
        with events.recording() as statements:
            _fail(tmp_path, events, export, number)
        assert len([text for text in statements if READS.match(text)]) == number
        done += number

    with events.recording() as statements:
        _, read = _go_on(tmp_path, events, export)

    assert len([text for text in statements if READS.match(text)]) == read == ROWS - done
    assert rows_by_glob(root) == _all_rows(events)
    (manifest,) = manifests(root).values()
    assert manifest["source"]["consistency"] == "none"
    assert len({part.get("read_by", manifest["run_id"]) for part in manifest["parts"]}) == 4
    assert list(root.glob(STAGED)) == []


CHANGES: list[tuple[str, str, dict[str, int]]] = [
    # What has changed since seven chunks were finished, ids 1 to 7, and how many are read for it then.
    ("nothing", "SELECT 1", {"range": 4, "page": 4}),
    ("a row behind", "INSERT INTO events VALUES (12, '2023-01-08 09:00:00', 'new')", {"range": 5, "page": 5}),
    ("a row before", "INSERT INTO events VALUES (0, '2023-01-01 09:00:00', 'new')", {"range": 5, "page": 12}),
    ("a row is gone", "DELETE FROM events WHERE id = 3", {"range": 4, "page": 10}),
    ("a row is gone behind", "DELETE FROM events WHERE id = 9", {"range": 3, "page": 3}),
    (
        "one row behind for one before",
        "DELETE FROM events WHERE id = 3; INSERT INTO events VALUES (12, NULL, 'new')",
        {"range": 5, "page": 11},
    ),
]


@pytest.mark.parametrize("way", ["range", "page"])
@pytest.mark.parametrize("engine", ENGINES)
def test_chunks_whose_counts_have_changed_are_read_again(
    tmp_path: Path, events: AnyDatabase, way: str
) -> None:
    """Rows that came or went since are seen by their count, and no count in the tree is not the source's."""
    export = _whole(tmp_path / "tree", way)
    _refill(events)
    _fail(tmp_path, events, export, 7)
    before = tmp_path / "before"
    shutil.copytree(tmp_path / "tree", before)
    for name, change, expected in CHANGES:
        shutil.rmtree(tmp_path / "tree")
        shutil.copytree(before, tmp_path / "tree")
        _refill(events)
        events.execute(change)

        _, read = _go_on(tmp_path, events, export)

        assert read == expected[way], name
        rows = _all_rows(events)
        assert rows_by_glob(tmp_path / "tree") == rows, name


@pytest.mark.parametrize("way", ["range", "page"])
def test_a_row_that_was_changed_since_is_as_it_was_read(
    tmp_path: Path, sqlite_database: SqliteDatabase, way: str
) -> None:
    """What no count tells is not seen, be it the first moment of all; the manifest says of what run it is."""
    make_events(sqlite_database, "sqlite")
    old = source_rows(sqlite_database)
    export = _export(tmp_path / "tree", way)
    _fail(tmp_path, sqlite_database, export, 4)
    sqlite_database.execute("UPDATE events SET created_at = '2023-01-01 00:00:01' WHERE id = 1")
    sqlite_database.execute("UPDATE events SET note = 'read later' WHERE id > 4")

    _, read = _go_on(tmp_path, sqlite_database, export)

    assert read == ROWS - 4
    new = source_rows(sqlite_database)
    kept = {label: old[label] for label in ("2023-01-01", "2023-01-02")}
    assert rows_by_manifest(tmp_path / "tree") == new | kept
    run_id = export_file(tmp_path / "tree")["run_id"]
    moments = _moments(tmp_path / "tree")
    assert all((runs == {run_id}) == (label not in kept) for label, (_, runs) in moments.items())


def _refill(events: AnyDatabase) -> None:
    values = ", ".join(f"({i}, '2023-01-0{1 + i % 3} 12:00:00', 'n{i}')" for i in range(1, ROWS + 1))
    events.execute(f"DELETE FROM events; INSERT INTO events VALUES {values}")


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
    export = _export(tmp_path / "tree", "page")
    _fail(tmp_path, sqlite_database, export, 6)
    assert list((tmp_path / "tree").glob(STAGED)) != []
    changed = export | other
    if other.get("mode") == "full":
        changed = {key: value for key, value in changed.items() if not key.startswith("chunk_")}

    outcome = run_well(tmp_path, sqlite_database.source, changed, validate=True)

    assert (outcome.rows, outcome.consistency) == (ROWS, "snapshot")
    assert not any("keeps" in line for line in outcome.warnings)
    assert {read for _, runs in _moments(tmp_path / "tree").values() for read in runs} == {
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
@pytest.mark.parametrize("damage", [_flip, _cut, Path.unlink])
@pytest.mark.parametrize("what", ["part", "note"])
def test_what_was_damaged_meanwhile_is_read_again(
    tmp_path: Path, sqlite_database: SqliteDatabase, way: str, damage: Any, what: str
) -> None:
    """A part is taken over if its size and digest are what was noted; pages behind one that is not go too."""
    make_events(sqlite_database, "sqlite")
    export = _whole(tmp_path / "tree", way)
    _fail(tmp_path, sqlite_database, export, 6)
    notes = sorted((tmp_path / "tree").glob("_rivet_staging/*/chunk-*.json"))
    assert len(notes) == 6
    struck = notes[3]
    if what == "part":
        struck = struck.parent / json.loads(struck.read_text())["parts"][0]["staged"]
    if (damage, what) == (_flip, "note"):  # one bit of a note may mean nothing; a cut one is none
        damage = _cut
    damage(struck)

    _, read = _go_on(tmp_path, sqlite_database, export)

    assert read == ROWS - (5 if way == "range" else 3)
    assert rows_by_glob(tmp_path / "tree") == _all_rows(sqlite_database)


@pytest.mark.parametrize("way", ["range", "page"])
@pytest.mark.parametrize("store", STORES)
def test_a_bucket_keeps_chunks_too(
    tmp_path: Path, sqlite_database: SqliteDatabase, bucket: Bucket, way: str
) -> None:
    """After two runs that failed the third reads what is left; nobody sees anything before, nothing stays."""
    make_events(sqlite_database, "sqlite")
    export = _export(Path(), way) | in_bucket(bucket) | {"mode": "chunked", "resume": "reuse"}
    environ = bucket.environment
    _fail(tmp_path, sqlite_database, export, 4, environ=environ)
    _fail(tmp_path, sqlite_database, export, 3, environ=environ)
    keys = [key.removeprefix(PREFIX) for key in bucket.keys(PREFIX)]
    assert not [key for key in keys if key.endswith(".parquet")]
    assert {key.split("/")[0] for key in keys} == {"_rivet_export.json", "_rivet_staging"}
    assert len({key.split("/")[1] for key in keys if "/" in key}) == 1

    _, read = _go_on(tmp_path, sqlite_database, export, environ=environ)

    assert read == ROWS - 7
    tree = copied(bucket, tmp_path / "copy")
    assert rows_by_manifest(tree) == source_rows(sqlite_database)
    assert not [key for key in bucket.keys(PREFIX) if "_rivet_staging" in key]
    assert {len(runs) for _, runs in _moments(tree).values()} <= {1, 2, 3}
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
    outcome = run_well(tmp_path, {**sqlite_database.source, "retries": 1}, _whole(root, way), validate=True)

    assert len(seen) == ROWS + 1
    assert outcome.scans == ROWS - 5
    assert rows_by_glob(root) == _all_rows(sqlite_database)
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
    export = _export(root, "page")
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

    _, read = _go_on(tmp_path, sqlite_database, export)

    assert read == 0
    assert rows_by_manifest(root) == source_rows(sqlite_database)
    assert list(root.glob(STAGED)) == []
