"""`mode: chunked` with some windows alone, with unchanged rows, and after a run that failed at a chunk."""

from __future__ import annotations

import itertools
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from rivet.config.read_settings import AskedWindows
from rivet.run import run
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.keeping import WAYS as KEYS
from tests.run.keeping import asked_chunks, make_indexed_events
from tests.run.nights import SECOND_NIGHT, assert_valid, make_events, source_rows
from tests.run.running import by_day, run_one, run_well, settings
from tests.run.test_kill import _ask, _driver
from tests.run.trees import NULL, Rows, rows_by_manifest
from tests.servers.sqlite import SqliteDatabase

WAYS = {way: {"mode": "chunked", **keys} for way, keys in KEYS.items()}


@pytest.fixture
def events(database: AnyDatabase, engine: str) -> AnyDatabase:
    """Give a table of a few days, with indexes for each way to cut."""
    return make_indexed_events(database, engine)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("engine", ENGINES)
def test_some_windows_are_read_in_chunks(tmp_path: Path, events: AnyDatabase, way: str) -> None:
    """The windows that are asked for are cut, and no other chunk is read."""
    root, labels = tmp_path / "tree", ("2023-01-02", "2023-01-09", NULL)
    export = by_day(root, **WAYS[way])
    run_well(tmp_path, events.source, export)
    before = source_rows(events)
    events.execute(SECOND_NIGHT.replace("created_at = '2023-01-05", "note = '2023-01-05"))
    after = source_rows(events)

    with asked_chunks() as chunks:
        outcome = run(
            settings(tmp_path, events.source, export),
            asked=AskedWindows(partitions=labels),
            listener=lambda _: None,
        )

    assert outcome.exit_code == 0, outcome.exports[0].error
    assert rows_by_manifest(root) == before | {label: after[label] for label in labels}
    assert sum(chunk.expected_rows or 0 for chunk in chunks) == sum(len(after[label]) for label in labels)
    assert_valid(root)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("engine", ENGINES)
def test_chunks_of_the_same_rows_leave_a_partition_alone(
    tmp_path: Path, events: AnyDatabase, way: str
) -> None:
    """The rows of a partition come in one order, so that the next night finds them unchanged."""
    export = by_day(tmp_path / "tree", **WAYS[way])
    run_well(tmp_path, events.source, export)

    again = run_well(tmp_path, events.source, export)

    assert (again.partitions_written, again.partitions_unchanged) == (0, again.partitions)


@pytest.mark.parametrize("way", ["range", "page"])
@pytest.mark.parametrize("engine", ENGINES)
def test_wherever_a_run_failed_no_chunk_is_read_again(
    tmp_path: Path, events: AnyDatabase, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `resume: reuse` the next run reads the chunks of what is missing alone, and the tree is right."""
    monkeypatch.setattr("rivet.attempt.attempt._EAGER_GROUP_PARTITIONS", 1)
    rows = sum(map(len, source_rows(events).values()))
    for number in itertools.count(step=3):
        root = tmp_path / str(number)
        export = by_day(root, publish="eager", resume="reuse", vanished="keep", **WAYS[way])
        with asked_chunks(failing_at=number) as seen:
            outcome = run_one(tmp_path, events.source, export)
        if outcome.status == "complete":
            assert number >= len(seen) == rows
            break
        assert (outcome.exit_code, outcome.error) == (3, "the server went away")

        with asked_chunks() as chunks:
            run_well(tmp_path, events.source, export)

        assert len(seen) + len(chunks) == rows
        assert rows_by_manifest(root) == source_rows(events)
        assert_valid(root)


NO_DAY = {
    "postgres": "UPDATE events SET created_at = 'infinity' WHERE id IN (3, 9)",
    "mariadb": "SET sql_mode = ''; UPDATE events SET created_at = '0000-00-00' WHERE id IN (3, 9)",
    "sqlite": "UPDATE events SET created_at = 'some day' WHERE id IN (3, 9)",
}


@pytest.mark.parametrize("engine", ENGINES)
def test_moments_of_no_calendar_are_cut_with_the_null_rows(
    tmp_path: Path, events: AnyDatabase, engine: str
) -> None:
    """They are written as NULL, counted as such, and are no key: a key that holds them is refused."""
    events.execute(NO_DAY[engine])
    export = by_day(tmp_path / "tree", unrepresentable="null", **WAYS["page"])

    outcome = run_well(tmp_path, events.source, export, validate=True)
    refused = run_one(tmp_path, events.source, export | WAYS["composite"])

    rows = rows_by_manifest(tmp_path / "tree")
    assert [row[0] for row in sorted(rows[NULL])] == [3, 9, 10, 11]
    assert (outcome.rows, outcome.null_rows, outcome.scans) == (11, 4, 11)
    assert outcome.unrepresentable_rows == {"created_at": 2}
    assert refused.exit_code == 2
    assert "holds 2 values that fit no calendar" in (refused.error or "")


def test_a_descending_key_of_sqlite_is_no_rowid(tmp_path: Path, sqlite_database: SqliteDatabase) -> None:
    """`INTEGER PRIMARY KEY DESC` may hold NULL in many rows, and each of them is exported."""
    sqlite_database.execute(
        "CREATE TABLE events(id INTEGER PRIMARY KEY DESC, created_at DATETIME, note TEXT);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)"
        " INSERT INTO events SELECT NULLIF(i, i / 10 * 10), '2023-01-02 03:00:00', 'note ' || i FROM n"
    )
    run_well(tmp_path, sqlite_database.source, by_day(tmp_path / "tree", **WAYS["page"]))
    assert rows_by_manifest(tmp_path / "tree") == source_rows(sqlite_database)


@pytest.mark.parametrize(
    ("way", "publish", "kills"),
    [
        ("range", "proved", 3),
        ("page", "eager", 3),
        *(
            pytest.param(way, publish, 50, marks=pytest.mark.long)
            for way in ("range", "page")
            for publish in ("proved", "eager")
        ),
    ],
)
def test_killed_at_random_changes_the_next_run_reads_no_finished_chunk_again(
    tmp_path: Path, sqlite_database: SqliteDatabase, way: str, publish: str, kills: int
) -> None:
    """Killed once or twice, each partition is old or new, and no chunk that was noted is read again."""
    make_events(sqlite_database, "sqlite")
    expected, root = source_rows(sqlite_database), tmp_path / "tree"
    export = by_day(root, publish=publish, resume="reuse", **WAYS[way])
    settings(tmp_path, sqlite_database.source, export)
    changes = random.Random(kills)
    killed = change = 0
    seen: dict[str, Rows] = {}
    with _driver(tmp_path / "rivet.yaml") as driver:
        for number in range(kills):
            shutil.rmtree(root, ignore_errors=True)
            for _ in range(1 + number % 2):
                change = changes.randrange(110)
                answer = _ask(driver, change)
                assert answer in ("killed", "0")
                killed += answer == "killed"
                seen = rows_by_manifest(root)
                assert all(rows == expected[label] for label, rows in seen.items()), change
            export_file = _export_file(root)
            done = {} if export_file.get("status") == "complete" else seen
            noted = _noted(root) if "pending" in export_file else set()

            with asked_chunks() as chunks:
                run_well(tmp_path, sqlite_database.source, export)

            assert rows_by_manifest(root) == expected, change
            assert_valid(root)
            assert not (root / "_rivet_staging").exists(), change
            read = sum(chunk.expected_rows or 0 for chunk in chunks)
            kept = {path for path, _ in noted} - {f"created_at={label}" for label in done}
            rows = sum(len(rows) for label, rows in expected.items() if label not in done)
            assert read == rows - sum(path in kept for path, _ in noted), change
    assert killed >= kills // 2


def _noted(root: Path) -> set[tuple[str, str]]:
    """Give what killed runs have noted as finished: the path of the partition, and which chunk of one row."""
    notes = [json.loads(path.read_text()) for path in _whole_notes(root)]
    return {(note["path"], json.dumps(note["chunk"])) for note in notes}


def _whole_notes(root: Path) -> list[Path]:
    return [path for path in root.glob("_rivet_staging/*/*.json") if path.read_text().endswith("}\n")]


def _export_file(root: Path) -> dict[str, Any]:
    path = root / "_rivet_export.json"
    return dict(json.loads(path.read_text())) if path.exists() else {}
