"""Queries that may give other rows each time they are run: one scan reads them, or nothing does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.refusing import MOMENT, by_query, refused
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import manifests, rows_by_glob, rows_by_manifest

ROWS = 400
LIMITED = "SELECT * FROM events LIMIT 4"
LATELY = {
    "postgres": "SELECT * FROM events WHERE created_at < now()",
    "mariadb": "SELECT * FROM events WHERE created_at < NOW(6)",
    "sqlite": "SELECT * FROM events WHERE created_at < datetime('now')",
}
# Half of the rows, at random, with values that are NULL or text at random.
SHUFFLED = {
    "postgres": "SELECT id, created_at + random() * interval '3 days' AS created_at, "
    "CASE WHEN random() < 0.5 THEN '\"x\", y' END AS note FROM events WHERE random() < 0.5",
    "mariadb": "SELECT id, created_at + INTERVAL FLOOR(RAND() * 259200) SECOND AS created_at, "
    "IF(RAND() < 0.5, NULL, '\"x\", y') AS note FROM events WHERE RAND() < 0.5",
    "sqlite": "SELECT id, created_at, CASE WHEN random() < 0 THEN '\"x\", y' END AS note FROM events "
    "WHERE random() < 0",
}


def _make(database: AnyDatabase, engine: str) -> None:
    values = ", ".join(f"({i}, '2024-02-{25 + i % 5} 12:00:00', 'note')" for i in range(ROWS))
    database.execute(
        f"CREATE TABLE events (id int PRIMARY KEY, created_at {MOMENT[engine]}, note varchar(40));"
        f"INSERT INTO events VALUES {values}; CREATE VIEW few AS SELECT * FROM events LIMIT 4"
    )


@pytest.mark.parametrize("what", ["limited", "lately", "shuffled", "view"])
@pytest.mark.parametrize("engine", ENGINES)
def test_one_scan_reads_an_unsteady_query(
    tmp_path: Path, database: AnyDatabase, engine: str, what: str
) -> None:
    """Its rows are those of one moment, each once and whole; manifests say that one statement read all."""
    root = tmp_path / "tree"
    _make(database, engine)
    queries = {"limited": LIMITED, "lately": LATELY[engine], "shuffled": SHUFFLED[engine]}
    export = by_day(root, table="few") if what == "view" else by_query(by_day(root), queries[what])

    outcome = run_well(tmp_path, database.source, export, validate=True)

    rows = rows_by_glob(root)
    assert (outcome.scans, outcome.consistency, outcome.rows) == (1, "statement", len(rows))
    assert len({row[0] for row in rows}) == len(rows)
    assert len(rows) == {"lately": ROWS}.get(what, 4) or (what == "shuffled" and 0 < len(rows) < ROWS)
    for label, held in rows_by_manifest(root).items():
        assert {str(row[1])[:10] for row in held} == {label}
    assert {m["source"]["consistency"] for m in manifests(root).values()} == {"statement"}
    assert any("may give other rows each time" in warning for warning in outcome.warnings)


@pytest.mark.parametrize("engine", ENGINES)
def test_several_scans_of_an_unsteady_query_are_refused(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`scan: per_partition` names what is unsteady, and the mend; so does a snapshot that is insisted on."""
    _make(database, engine)
    several = by_query(by_day(tmp_path / "tree", scan="per_partition"), LATELY[engine])

    message, hint = refused(tmp_path, capsys, database.source, several)
    assert "$.exports[0].scan" in message
    assert "may give other rows each time" in message
    assert "scan: single" in hint
    assert "table" in hint

    insisting = database.source | {"consistency": "snapshot"}
    message, hint = refused(tmp_path, capsys, insisting, by_query(by_day(tmp_path / "tree"), LIMITED))
    assert "the query has LIMIT" in message
    assert "consistency: statement" in hint


@pytest.mark.parametrize("engine", ENGINES)
def test_without_partitions_a_limit_is_a_limit(tmp_path: Path, database: AnyDatabase, engine: str) -> None:
    """An export without `partition_by` holds as many rows as the query's own LIMIT lets through."""
    _make(database, engine)
    export = by_query(by_day(tmp_path / "tree"), "SELECT id FROM events ORDER BY id LIMIT 7 OFFSET 3")
    del export["partition_by"], export["partition_granularity"]
    export["destination"] = export["destination"] | {"path": str(tmp_path / "tree")}

    outcome = run_one(tmp_path, database.source, export)

    assert (outcome.status, outcome.rows) == ("complete", 7)
    assert rows_by_glob(tmp_path / "tree") == [(i,) for i in (3, 4, 5, 6, 7, 8, 9)]


def test_a_variable_counts_each_row_once(tmp_path: Path, mariadb_database: AnyDatabase) -> None:
    """What a query adds up in a variable of MySQL is made once for each row, however often one looks."""
    _make(mariadb_database, "mariadb")
    query = "SELECT (@n := @n + 1) AS n, created_at FROM events, (SELECT @n := 0) AS started"

    run_well(tmp_path, mariadb_database.source, by_query(by_day(tmp_path / "tree"), query))

    assert sorted(row[0] for row in rows_by_glob(tmp_path / "tree")) == list(range(1, ROWS + 1))


@pytest.mark.parametrize(
    ("engine", "table", "column"),
    [
        ("postgres", "pg_catalog.pg_stat_activity", "backend_start"),
        ("mariadb", "information_schema.TABLES", "CREATE_TIME"),
    ],
)
def test_what_the_server_tells_of_itself_is_of_one_statement(
    tmp_path: Path, database: AnyDatabase, engine: str, table: str, column: str
) -> None:
    """One scan reads the server's own state, which no snapshot holds, and manifests do not claim one."""
    _make(database, engine)
    export = by_day(tmp_path / "tree", table=table, partition_by=column)

    outcome = run_well(tmp_path, database.source, export, validate=True)
    assert (outcome.scans, outcome.consistency) == (1, "statement")
    assert {m["source"]["consistency"] for m in manifests(tmp_path / "tree").values()} == {"statement"}

    several = run_one(tmp_path, database.source, export | {"scan": "per_partition"})
    assert (several.status, several.exit_code) == ("failed", 2)
