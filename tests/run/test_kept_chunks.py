"""With `resume: reuse` a run in chunks goes on where one that failed has ended, amidst a partition."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rivet.run import plan
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.keeping import (
    READS,
    ROWS,
    STAGED,
    WAYS,
    all_rows,
    as_one,
    fail_after,
    go_on,
    in_chunks,
    make_indexed_events,
    moments_of,
)
from tests.run.nights import export_file, make_events, source_rows
from tests.run.running import run_well, settings
from tests.run.trees import manifests, rows_by_glob, rows_by_manifest
from tests.servers.database import Database
from tests.servers.sqlite import SqliteDatabase


@pytest.fixture
def events(database: AnyDatabase, engine: str) -> AnyDatabase:
    """Give a table of a few days, with indexes for each way to cut."""
    return make_indexed_events(database, engine)


@pytest.mark.parametrize(
    ("engine", "way", "number"),
    [
        ("sqlite", "range", 1),
        ("sqlite", "page", 9),
        ("sqlite", "composite", 4),
        *((engine, way, 4) for engine in ("postgres", "mariadb") for way in WAYS),
        *(
            pytest.param(engine, way, number, marks=pytest.mark.long)
            for engine in ENGINES
            for way in WAYS
            for number in (1, 9)
        ),
    ],
)
def test_no_finished_chunk_is_read_again(tmp_path: Path, events: AnyDatabase, way: str, number: int) -> None:
    """The next run asks for the others alone, as the plan says, and manifests say whose rows are whose."""
    root, chunks = tmp_path / "tree", ROWS - (way == "composite")  # whose rows with NULL are one
    export = in_chunks(root, way)
    fail_after(tmp_path, events, export, number)
    assert rows_by_glob(root) == []
    config = settings(tmp_path, events.source, export)
    (planned,) = plan(config, listener=lambda _: None)

    outcome, read = go_on(tmp_path, events, export)

    assert len(planned.scans or ()) == read == chunks - number
    kept = [line for line in outcome.warnings if f"keeps {number} chunk" in line]
    assert len(kept) == 1
    assert kept[0] in planned.warnings
    assert rows_by_manifest(root) == source_rows(events)
    assert outcome.consistency == export_file(root)["source"]["consistency"] == "none"
    moments = moments_of(root).values()
    assert all((consistency == "none") == (len(runs) > 1) for consistency, runs in moments)
    assert len(set.union(*(runs for _, runs in moments))) == 2
    assert list(root.glob(STAGED)) == []

    again = run_well(tmp_path, events.source, export)
    assert (again.partitions_written, again.consistency) == (0, "snapshot")


@pytest.mark.parametrize(("engine", "way"), [("postgres", "page"), ("mariadb", "range")])
def test_the_servers_log_shows_no_finished_chunk(tmp_path: Path, events: Database, way: str) -> None:
    """As many statements for rows come as chunks are left, after three runs that failed."""
    root = tmp_path / "tree"
    export = as_one(root, way)
    done = 0
    for number in (3, 2, 4):
        with events.recording() as statements:
            fail_after(tmp_path, events, export, number)
        assert len([text for text in statements if READS.match(text)]) == number
        done += number

    with events.recording() as statements:
        _, read = go_on(tmp_path, events, export)

    assert len([text for text in statements if READS.match(text)]) == read == ROWS - done
    assert rows_by_glob(root) == all_rows(events)
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


@pytest.mark.parametrize(
    ("engine", "way"),
    [
        ("sqlite", "range"),
        ("sqlite", "page"),
        ("postgres", "page"),
        ("mariadb", "range"),
        pytest.param("postgres", "range", marks=pytest.mark.long),
        pytest.param("mariadb", "page", marks=pytest.mark.long),
    ],
)
def test_chunks_whose_counts_have_changed_are_read_again(
    tmp_path: Path, events: AnyDatabase, way: str
) -> None:
    """Rows that came or went since are seen by their count, and no count in the tree is not the source's."""
    export = as_one(tmp_path / "tree", way)
    _refill(events)
    fail_after(tmp_path, events, export, 7)
    before = tmp_path / "before"
    shutil.copytree(tmp_path / "tree", before)
    for name, change, expected in CHANGES:
        shutil.rmtree(tmp_path / "tree")
        shutil.copytree(before, tmp_path / "tree")
        _refill(events)
        events.execute(change)

        _, read = go_on(tmp_path, events, export)

        assert read == expected[way], name
        rows = all_rows(events)
        assert rows_by_glob(tmp_path / "tree") == rows, name


@pytest.mark.parametrize("way", ["range", "page"])
def test_a_row_that_was_changed_since_is_as_it_was_read(
    tmp_path: Path, sqlite_database: SqliteDatabase, way: str
) -> None:
    """What no count tells is not seen, be it the first moment of all; the manifest says of what run it is."""
    make_events(sqlite_database, "sqlite")
    old = source_rows(sqlite_database)
    export = in_chunks(tmp_path / "tree", way)
    fail_after(tmp_path, sqlite_database, export, 4)
    sqlite_database.execute("UPDATE events SET created_at = '2023-01-01 00:00:01' WHERE id = 1")
    sqlite_database.execute("UPDATE events SET note = 'read later' WHERE id > 4")

    _, read = go_on(tmp_path, sqlite_database, export)

    assert read == ROWS - 4
    new = source_rows(sqlite_database)
    kept = {label: old[label] for label in ("2023-01-01", "2023-01-02")}
    assert rows_by_manifest(tmp_path / "tree") == new | kept
    run_id = export_file(tmp_path / "tree")["run_id"]
    moments = moments_of(tmp_path / "tree")
    assert all((runs == {run_id}) == (label not in kept) for label, (_, runs) in moments.items())


def _refill(events: AnyDatabase) -> None:
    values = ", ".join(f"({i}, '2023-01-0{1 + i % 3} 12:00:00', 'n{i}')" for i in range(1, ROWS + 1))
    events.execute(f"DELETE FROM events; INSERT INTO events VALUES {values}")
