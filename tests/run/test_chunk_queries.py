"""The queries of chunks: as many as planned, each short and served by an index, or told of and refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rivet.outcome import PlanOutcome
from rivet.run import plan
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.running import run_one, settings
from tests.run.trees import rows_by_glob
from tests.servers.database import Database
from tests.servers.sqlite import SqliteDatabase

ROWS = 20_000
CREATE = {
    "postgres": """
CREATE TABLE ledger (id bigint PRIMARY KEY, day date NOT NULL, code text NOT NULL, number int, note text);
INSERT INTO ledger
SELECT i, date '2024-01-01' + (i / 10000)::int, 'c' || i * 7919 % 20011, -i, repeat('x', 50)
FROM generate_series(1, 20000) AS i;
CREATE UNIQUE INDEX by_code ON ledger (day, code); ANALYZE ledger
""",
    "mariadb": """
CREATE TABLE ledger (id bigint PRIMARY KEY, day date NOT NULL, code varchar(20) NOT NULL, number int,
    note varchar(50));
INSERT INTO ledger SELECT seq, '2024-01-01' + INTERVAL seq DIV 10000 DAY, CONCAT('c', seq * 7919 % 20011),
    -CAST(seq AS SIGNED), REPEAT('x', 50) FROM seq_1_to_20000;
CREATE UNIQUE INDEX by_code ON ledger (day, code); ANALYZE TABLE ledger
""",
    "sqlite": """
CREATE TABLE ledger (id INTEGER PRIMARY KEY, day DATE NOT NULL, code TEXT NOT NULL, number INT, note TEXT);
WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 20000)
INSERT INTO ledger SELECT i, date('2024-01-01', (i / 10000) || ' days'), 'c' || (i * 7919 % 20011), -i,
    'x' FROM s;
CREATE UNIQUE INDEX by_code ON ledger (day, code)
""",
}
READS = re.compile(
    r'COPY \((SELECT .*"ledger" .*)\) TO STDOUT|(SELECT rivet\.`id`, rivet\..*`ledger` .*)', re.DOTALL
)
SCANS = {"postgres": "Seq Scan", "mariadb": "ALL"}
RANDOM = {"postgres": "random", "mariadb": "rand", "sqlite": "random"}
BY_DAY = {"partition_by": "day", "partition_key": "d"}


def _export(root: Path, **keys: Any) -> dict[str, Any]:
    template = "{partition}/" if "partition_by" in keys else ""
    destination = {"type": "local", "path": f"{root}/{template}"}
    return {"name": "ledger", "table": "ledger", "mode": "chunked", "destination": destination, **keys}


def _plan(directory: Path, database: AnyDatabase, **keys: Any) -> PlanOutcome:
    config = settings(directory, database.source, _export(directory / "tree", **keys))
    return plan(config, listener=lambda _: None)[0]


@pytest.mark.parametrize(
    ("keys", "chunks"),
    [
        ({"chunk_column": "id", "chunk_size": 2000}, 11),
        ({"chunk_column": "id", "chunk_size": 2000, **BY_DAY}, 11),
        ({"chunk_column": "id", "chunk_count": 4, **BY_DAY}, 9),
        ({"chunk_by_key": ["id"], "chunk_size": 2000}, 10),
        ({"chunk_by_key": ["day", "code"], "chunk_size": 2000, **BY_DAY}, 11),
        ({"chunk_by_key": ["code"], "chunk_size": 2000, **BY_DAY}, 11),
        ({"chunk_by_key": ["id"], "chunk_size": 2000, **BY_DAY}, 11),
    ],
    ids=[
        "range",
        "range of a day",
        "share of a day",
        "page",
        "composite page",
        "page after the day",
        "page of another index",
    ],
)
@pytest.mark.parametrize("engine", ["postgres", "mariadb"], scope="module")
def test_the_log_shows_as_many_queries_as_planned_each_by_an_index(
    engine: str, shared_database: Database, tmp_path: Path, keys: dict[str, Any], chunks: int
) -> None:
    """Whatever it is cut by, no query scans the table, and the plan warns of none."""
    if not _has_ledger(shared_database):
        shared_database.execute(CREATE[engine])
    planned = _plan(tmp_path, shared_database, **keys)

    with shared_database.recording() as statements:
        outcome = run_one(tmp_path, shared_database.source, _export(tmp_path / "tree", **keys))

    assert (outcome.rows, outcome.scans, len(planned.scans or ())) == (ROWS, chunks, chunks)
    assert [w for w in planned.warnings if "chunk" in w] == []
    found = (READS.match(text) for text in statements)
    reads = [match[1] or match[2] for match in found if match]
    assert len(reads) == chunks
    for read in reads:
        assert "ORDER BY" in read
        lines = shared_database.fetch(f"EXPLAIN {read}")
        assert SCANS[engine] not in str(lines), (read, lines)
        assert "filesort" not in str(lines), (read, lines)


def _has_ledger(database: AnyDatabase) -> bool:
    if isinstance(database, SqliteDatabase):
        return bool(database.fetch("SELECT 1 FROM sqlite_schema WHERE name = 'ledger'"))
    return bool(database.fetch("SELECT 1 FROM information_schema.tables WHERE table_name = 'ledger'"))


@pytest.mark.parametrize("engine", ENGINES, scope="module")
def test_a_chunk_that_would_scan_the_table_is_told_of(
    engine: str, shared_database: AnyDatabase, tmp_path: Path
) -> None:
    """The plan names the index that would serve, and so does the run."""
    if not _has_ledger(shared_database):
        shared_database.execute(CREATE[engine])
    keys = {"chunk_column": "number", "chunk_size": 2000}
    export = _export(tmp_path / "tree", **keys)

    planned = _plan(tmp_path, shared_database, **keys)
    outcome = run_one(tmp_path, shared_database.source, export)

    assert not any("one scan" in w for w in planned.warnings)
    (warning,) = [w for w in planned.warnings if "chunk" in w]
    assert "reads the whole table, and there are 10 chunks" in warning
    assert "an index that begins with (number)" in warning
    assert warning in outcome.warnings
    assert outcome.rows == ROWS


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"chunk_column": "note", "chunk_count": 2}, "expected an integer, a decimal, a date", "chunk_by_key"),
    ({"chunk_column": "nowhere", "chunk_count": 2}, "no column 'nowhere'", "note"),
    ({"chunk_column": "id", "chunk_size": "6 hours"}, "is no width of numbers", "write a number"),
    ({"chunk_column": "id", "chunk_size": 1}, "20,000 chunks, and at most 10,000", "chunk_by_key"),
    ({"chunk_by_key": ["id"], "chunk_size": 1}, "20,000 chunks, and at most 10,000", "chunk_size above 1"),
    ({"chunk_by_key": ["number"]}, "no index of table", "create one on (number, id) and name"),
    ({"chunk_by_key": ["code"]}, "no index of table", "create one on (code, id) and name"),
    ({"chunk_by_key": ["day"]}, "may have the same day", "[day, "),
    ({"chunk_by_key": ["code"], "exclude": ["CODE"]}, "left out by exclude", "exclude"),
]


@pytest.mark.parametrize("engine", ENGINES, scope="module")
def test_what_cannot_be_cut_is_refused_before_anything_is_written(
    engine: str, shared_database: AnyDatabase, tmp_path: Path
) -> None:
    """A column without an order, a key without a usable index, and too many chunks, each with the mend."""
    if not _has_ledger(shared_database):
        shared_database.execute(CREATE[engine])
    for keys, message, hint in REFUSED:
        exact = {**keys, "exclude": ["code"], "chunk_by_key": ["CODE"]} if "exclude" in keys else keys
        outcome = run_one(tmp_path, shared_database.source, _export(tmp_path / "tree", **exact))

        assert (outcome.exit_code, outcome.status) == (2, "failed"), keys
        assert message in (outcome.error or ""), keys
        assert hint in (outcome.hint or ""), keys
        assert not list((tmp_path / "tree").glob("**/*.parquet"))


@pytest.mark.parametrize("engine", ENGINES, scope="module")
def test_ranges_of_a_query_are_read_like_those_of_a_table(
    engine: str, shared_database: AnyDatabase, tmp_path: Path
) -> None:
    """By a column that it makes, three thin ranges together; one of other rows each time has no chunks."""
    if not _has_ledger(shared_database):
        shared_database.execute(CREATE[engine])
    query = "SELECT id, id * 3 AS triple FROM ledger WHERE id <= 5000"
    export = {**_export(tmp_path / "tree", chunk_column="triple", chunk_size=1000), "query": query}
    del export["table"]

    outcome = run_one(tmp_path, shared_database.source, export, validate=True)
    unsteady = run_one(
        tmp_path, shared_database.source, export | {"query": f"{query} AND {RANDOM[engine]}() IS NOT NULL"}
    )

    assert (outcome.error, outcome.rows, outcome.scans) == (None, 5000, 6)
    assert sorted(row[0] for row in rows_by_glob(tmp_path / "tree")) == list(range(1, 5001))
    assert unsteady.exit_code == 2
    assert "chunks need a snapshot" in (unsteady.error or "")
    assert "mode: full" in (unsteady.hint or "")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_date_column_may_have_any_name(tmp_path: Path, database: AnyDatabase, engine: str) -> None:
    """Pages of one day are asked for by the column's name as it is, be there a comparison in it."""
    name = "`day >= 1`" if engine == "mariadb" else '"day >= 1"'
    database.execute(CREATE[engine])
    database.execute(f"ALTER TABLE ledger RENAME COLUMN day TO {name}")
    root = tmp_path / "tree"
    export = _export(
        root, partition_by="day >= 1", partition_key="d", chunk_by_key=["code"], chunk_size=4_000
    )

    outcome = run_one(tmp_path, database.source, export)

    assert (outcome.error, outcome.rows) == (None, ROWS)
    assert sorted(row[0] for row in rows_by_glob(root)) == list(range(1, ROWS + 1))
