"""In what queries a table is read: each row once, as the plan said, and as the server saw it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rivet.outcome import Reading
from tests.run.command import Told, run_command, write_config
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.refusing import MOMENT, by_query, refused
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import NULL, rows_by_manifest
from tests.servers.database import Database

ROWS, NULLS, DAYS = 3000, 30, 10
# Ten days of a table that lies in no order, every hundredth row without a day, and rows wide enough for
# planners to care.
FILL = {
    "postgres": "SELECT i, CASE WHEN i % 100 > 0 THEN timestamp '2023-01-01' + i * 7919 % 14400 * "
    "interval '1 minute' END, repeat(md5(i::text), 8) FROM generate_series(1, 3000) i; ANALYZE events",
    "mariadb": "SELECT seq, IF(seq % 100, TIMESTAMP '2023-01-01 00:00:00' + "
    "INTERVAL seq * 7919 % 14400 MINUTE, NULL), REPEAT(MD5(seq), 8) FROM seq_1_to_3000; ANALYZE TABLE events",
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
    "SELECT i, iif(i % 100, datetime(1672531200 + i * 7919 % 14400 * 60, 'unixepoch'), NULL), "
    "hex(randomblob(128)) FROM n",
}
SCAN = re.compile(r'(?:SELECT|COPY \(SELECT)\b.*\bFROM \S*["`]events["`](?!.*\bLIMIT 0\b)', re.DOTALL)
# The probe, and where windows are counted that, too.
PROBE, COUNT = 1, 1


def _create(database: AnyDatabase, engine: str, key: str = "id int PRIMARY KEY", tail: str = "") -> None:
    database.execute(f"CREATE TABLE events ({key}, created_at {MOMENT[engine]}, note varchar(400){tail})")
    database.execute(f"INSERT INTO events {FILL[engine]}")


def _planned(capsys: pytest.CaptureFixture[str], directory: Path, source: Any, export: Any) -> Told:
    return run_command(capsys, "plan", "--config", write_config(directory, source, export), "--json")


def _ids(root: Path) -> dict[str, list[int]]:
    return {value: sorted(row[0] for row in rows) for value, rows in rows_by_manifest(root).items()}


# With an index or without, what the config says, the way, and the scans.
SHAPES: list[tuple[bool, dict[str, Any], str, int]] = [
    (False, {"max_scan_rows": 700}, "single", 1),
    (False, {"scan": "per_partition"}, "per_partition", DAYS + 1),
    (True, {"max_scan_rows": 700}, "bounded", DAYS // 2 + 1),
    (True, {"scan": "per_partition", "max_sort_size": 1}, "per_partition", DAYS + 1),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_way_reads_each_row_once_in_the_queries_that_the_plan_said(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tree is the same whatever the way, and the log holds the probe, a count and the scans, no more."""
    _create(database, engine)
    trees = []
    for place, (is_indexed, more, way, scans) in enumerate(SHAPES):
        if is_indexed and not SHAPES[place - 1][0]:
            database.execute("CREATE INDEX by_day ON events (created_at)")
        root = tmp_path / f"{place}"
        export = by_day(root, **more)
        (planned,) = _planned(capsys, tmp_path, database.source, export).exports
        assert (planned["choice"]["way"], len(planned["scans"])) == (way, scans), planned
        assert planned["choice"]["why"]

        if isinstance(database, Database):
            with database.recording() as statements:
                outcome = run_well(tmp_path, database.source, export, validate=True)
            asked = [text for text in statements if SCAN.match(text)]
            assert len(asked) == PROBE + (COUNT if scans > 1 else 0) + scans
        else:
            outcome = run_well(tmp_path, database.source, export, validate=True)

        assert (outcome.rows, outcome.null_rows, outcome.scans) == (ROWS, NULLS, scans)
        reading = outcome.reading
        assert isinstance(reading, Reading)
        assert (reading.choice.way, reading.rows) == (way, ROWS)
        assert reading.bytes_read > ROWS * 256
        warned = [line for line in outcome.warnings if "passes over all" in line]
        assert len(warned) == (not is_indexed and scans > 1)
        trees.append(_ids(root))
    assert all(tree == trees[0] for tree in trees)
    assert len(trees[0]) == DAYS + 1
    assert trees[0][NULL] == list(range(100, ROWS + 1, 100))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_plan_tells_what_the_source_makes_of_it(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole table without an index, that index with one; rows, the table's size and how it lies."""
    _create(database, engine)
    export = by_day(tmp_path / "tree", scan="per_partition")
    (lacking,) = _planned(capsys, tmp_path, database.source, export).exports
    database.execute("CREATE INDEX by_day ON events (created_at)")
    told = _planned(capsys, tmp_path, database.source, export)
    (served,) = told.exports

    assert [a["index"] for a in lacking["estimate"]["accesses"]] == [None]
    assert [a["index"] for a in served["estimate"]["accesses"]] == ["by_day"]
    assert served["estimate"]["cost"] < lacking["estimate"]["cost"]
    assert 100 < served["estimate"]["rows"] < 1000
    assert served["estimate"]["table_bytes"] > ROWS * 256
    order = served["estimate"]["correlation"]
    assert abs(order) < 0.5 if engine == "postgres" else order is None
    (line,) = [line for line in told.lines if line.startswith("  estimate ")]
    assert "by index 'by_day'" in line
    assert ("not in the order of 'created_at' (correlation" in line) is (engine == "postgres")


IN_ORDER = {
    "postgres": "CREATE INDEX by_day ON events (created_at); CLUSTER events USING by_day; ANALYZE events",
    "mariadb": "DELETE FROM events WHERE created_at IS NULL; "
    "ALTER TABLE events DROP PRIMARY KEY, ADD PRIMARY KEY (created_at, id)",
    "sqlite": "CREATE TABLE kept (id int, created_at DATETIME, note varchar(400), "
    "PRIMARY KEY (created_at, id)) WITHOUT ROWID; "
    "INSERT INTO kept SELECT * FROM events WHERE created_at IS NOT NULL; "
    "DROP TABLE events; ALTER TABLE kept RENAME TO events",
}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_that_lies_in_order_is_sorted_by_no_server(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By a key that begins with the partition column rows come in order; else they are read as they lie."""
    _create(database, engine)
    database.execute(IN_ORDER[engine])
    export = by_day(tmp_path / "tree")

    told = _planned(capsys, tmp_path, database.source, export)
    outcome = run_well(tmp_path, database.source, export, validate=True)

    (planned,) = told.exports
    assert (planned["choice"]["way"], [scan["reach"] for scan in planned["scans"]]) == (
        "single",
        ["everything"],
    )
    assert outcome.reading is not None
    if engine == "postgres":
        assert planned["estimate"]["correlation"] > 0.99
        assert outcome.reading.sorter == "rivet"
    else:
        assert planned["sort_bytes"] == 0
        assert outcome.reading.sorter is None
    (line,) = [line for line in told.lines if line.startswith("  estimate ")]
    assert ("in the order of 'created_at'" in line) is (engine != "sqlite")
    assert outcome.rows == (ROWS if engine == "postgres" else ROWS - NULLS)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_too_large_to_sort_is_read_unsorted_and_sorted_here(
    tmp_path: Path, database: AnyDatabase, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is asked for no order, in temporary files it is made, and the rows are the same."""
    _create(database, engine)
    first = run_well(tmp_path, database.source, by_day(tmp_path / "tree", sort="source"))
    assert first.reading is not None
    assert (first.reading.sorter, first.reading.temporary_bytes) == ("source", 0)
    expected = _ids(tmp_path / "tree")
    monkeypatch.setattr("rivet.export.sorter.MEMORY_BYTES", 0)
    export = by_day(tmp_path / "other", max_sort_size=1)

    if isinstance(database, Database):
        with database.recording() as statements:
            outcome = run_well(tmp_path, database.source, export, validate=True)
        reads = [text for text in statements if SCAN.match(text) and "note" in text]
        assert [text for text in reads if "ORDER BY" in text] == []
        assert len(reads) >= 1
    else:
        outcome = run_well(tmp_path, database.source, export, validate=True)

    assert outcome.reading is not None
    assert (outcome.scans, outcome.reading.sorter) == (1, "rivet")
    assert outcome.reading.temporary_bytes > ROWS * 256
    assert _ids(tmp_path / "other") == expected


@pytest.mark.parametrize(
    ("engine", "more", "free", "key", "mend"),
    [
        ("sqlite", {"max_sort_size": 1, "sort": "source"}, 10**12, "max_sort_size", "set `sort: auto`"),
        ("mariadb", {"max_sort_size": 1}, 1000, "max_sort_size", "name a directory with room with TMPDIR"),
        ("postgres", {"sort": "rivet"}, 1000, "sort", "make room there"),
    ],
)
def test_a_sort_that_finds_no_room_is_refused_before_anything_is_read(
    tmp_path: Path,
    database: AnyDatabase,
    engine: str,
    more: dict[str, Any],
    free: int,
    key: str,
    mend: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exit 2 with the estimate, what is free or allowed, and the mend; nothing is made."""
    _create(database, engine)
    monkeypatch.setattr("rivet.plan.sorting._IN_MEMORY_BYTES", 0)
    monkeypatch.setattr("rivet.preparing.ordering.free_bytes", lambda: free)

    error, hint = refused(tmp_path, capsys, database.source, by_day(tmp_path / "tree", **more))

    assert error.startswith(f"$.exports[0].{key}: about ")
    assert mend in hint


@pytest.mark.parametrize("engine", ENGINES)
def test_one_pass_over_a_large_table_for_each_day_is_refused(
    tmp_path: Path,
    database: AnyDatabase,
    engine: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without an index, beyond some rows; with one it is not, nor where a query's text lets it serve."""
    _create(database, engine)
    monkeypatch.setattr("rivet.plan.ways.MAX_ROWS_PASSED", ROWS * DAYS)
    export = by_day(tmp_path / "tree", scan="per_partition")

    error, hint = refused(tmp_path, capsys, database.source, export)
    assert f"each of {DAYS + 1} scans passes over all 3,000 rows: 33,000 in all" in error
    assert hint.startswith("create an index that leads with 'created_at', or set `scan: auto`")

    database.execute("CREATE INDEX by_day ON events (created_at)")
    if engine == "postgres":  # which reads, of rows that lie anywhere, nearly all pages for a day
        database.execute("CLUSTER events USING by_day; ANALYZE events")
    for place, indexed in enumerate((export, by_query(export, "SELECT * FROM events"))):
        there = {"type": "local", "path": f"{tmp_path}/{place}/{{partition}}/"}
        outcome = run_well(tmp_path, database.source, {**indexed, "destination": there})
        assert (outcome.scans, outcome.rows) == (DAYS + 1, ROWS)
        assert [line for line in outcome.warnings if "passes over" in line] == []


def _probe_takes(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    def ticks() -> Iterator[float]:
        now = 0.0
        while True:
            yield now
            now += seconds

    clock = ticks()
    monkeypatch.setattr("rivet.preparing.prepare.monotonic", lambda: next(clock))


@pytest.mark.parametrize("engine", ["mariadb", "sqlite"])
def test_a_time_for_scans_becomes_rows_by_what_was_measured(
    tmp_path: Path,
    database: AnyDatabase,
    engine: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the probe at first, then by the last run's reading, or by its whole time; the plan says by what."""
    _create(database, engine)
    database.execute("CREATE INDEX by_day ON events (created_at)")
    _probe_takes(monkeypatch, 1.0)  # so that about 150 rows are read in a second
    root = tmp_path / "tree"
    export = by_day(root, max_scan_seconds=4.1)

    (planned,) = _planned(capsys, tmp_path, database.source, export).exports
    assert "a guess by the probe, which counted 3,000 rows in 1.0 s) allows: 615" in planned["choice"]["why"]
    outcome = run_well(tmp_path, database.source, export, validate=True)
    assert outcome.scans == len(planned["scans"]) == DAYS // 2 + 1

    path = root / "_rivet_export.json"
    facts = json.loads(path.read_text())
    assert facts["reading"]["rows"] == ROWS
    path.write_text(json.dumps(facts | {"reading": {"rows": ROWS, "seconds": 10}}))
    (planned,) = _planned(capsys, tmp_path, database.source, export).exports
    assert (
        f"by run {facts['run_id']!r}, which read 3,000 rows in 10.0 s) allows: 1,230"
        in planned["choice"]["why"]
    )
    assert len(planned["scans"]) == 4

    del facts["reading"]
    times = {"started_at": "2023-01-01T00:00:00.000000Z", "finished_at": "2023-01-01T00:00:01.000000Z"}
    path.write_text(json.dumps(facts | times))
    (planned,) = _planned(capsys, tmp_path, database.source, export).exports
    assert "which read 3,000 rows in 1.0 s" in planned["choice"]["why"]
    assert planned["choice"]["way"] == "single"


@pytest.mark.parametrize("engine", ["postgres"])
def test_a_time_that_cannot_be_kept_is_said_to_be(
    tmp_path: Path, database: AnyDatabase, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an index the one scan takes longer, and with one the largest day; the run goes on."""
    _create(database, engine)
    _probe_takes(monkeypatch, 1.0)

    for root, mend in (
        ("lacking", "need an index that leads with"),
        ("served", "a finer partition_granularity"),
    ):
        export = by_day(tmp_path / root, max_scan_seconds=1)
        outcome = run_one(tmp_path, database.source, export)
        (line,) = [text for text in outcome.warnings if "max_scan_seconds" in text]
        assert mend in line
        assert outcome.rows == ROWS
        if root == "lacking":
            database.execute("CREATE INDEX by_day ON events (created_at)")
            assert "the largest scan, 3,000 rows, takes about 20 s at 150 rows/s" in line
