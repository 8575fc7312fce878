"""The user's query reaches the server as he wrote it: its rows are those that the database's client gets."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.refusing import MOMENT, by_query, refused
from tests.run.running import by_day, run_well
from tests.run.trees import Rows, rows_by_glob
from tests.servers.database import Database

GROUPED = """SELECT max(id) AS id, max(created_at) AS created_at, count(*) AS n FROM events
    GROUP BY note HAVING max(id) > 0"""
SHARED = [
    "SELECT * FROM events",
    """WITH a AS (SELECT * FROM events WHERE id < 3), b(x, created_at) AS (SELECT id, created_at FROM a)
    SELECT x, created_at FROM b""",
    """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3)
    SELECT n.i, e.created_at FROM n JOIN events e ON e.id = n.i""",
    "SELECT id, created_at FROM events WHERE id < 3 UNION SELECT id, created_at FROM events WHERE id > 3",
    "SELECT id, created_at FROM events WHERE note LIKE '%giraffe%' OR note LIKE '100%' ORDER BY note DESC",
    "SELECT id, created_at, rank() OVER (PARTITION BY note ORDER BY id) AS r FROM events",
    "SELECT id AS i, created_at, 'a;b' AS b, '--' AS c, '/*' AS d, '12:30:00' AS e, 'into' AS f FROM events",
    """SELECT id, created_at, CASE WHEN note IS NULL THEN 'for update' ELSE note END AS n FROM events
    WHERE EXISTS (SELECT 1 FROM events o WHERE o.id = events.id LIMIT 1)""",
]
OWN = {
    "postgres": [
        GROUPED,
        "TABLE events",
        "((SELECT * FROM events) UNION ALL (SELECT * FROM events)) ORDER BY 1",
        """SELECT v.* FROM (VALUES (1, timestamp '2023-01-01', $$it's; $x$ --$$), (2, NULL, $x$ $$ $x$))
        AS v (id, created_at, t)""",
        "SELECT created_at::date AS d, created_at, 'a:b' ~ '(?:a|b)' AS m, E'it\\'s;' AS e FROM events",
        """SELECT e.id AS into, e.created_at, jsonb_build_object('a', 1) ? 'a' AS q, 7 % 4 AS m FROM events e
        /* nested /* ; */ comment */ WHERE note IS DISTINCT FROM 'x' -- no newline""",
        "SELECT DISTINCT id, created_at, a.x FROM events, LATERAL (SELECT id * 2 AS x) a OFFSET 0",
    ],
    "mariadb": [
        GROUPED,
        "(SELECT * FROM events) UNION ALL (SELECT * FROM events) ORDER BY 1",
        "SELECT 5--1 AS n, `events`.created_at, DATE_FORMAT(created_at, '%Y-%m %%') AS f FROM events # end",
        """SELECT /*+ NO_INDEX(e) */ id, created_at, "it\\"s;" AS q, 'a\\'b' AS r, @@version_comment AS v
        FROM events e""",
        "SELECT e.id, e.created_at, @unset AS u, TIME '12:30:00' = '12:30:00' AS t FROM events e -- x",
    ],
    "sqlite": [
        "SELECT [id], `created_at`, \"note\", strftime('%Y-%m', created_at) AS m FROM main.events e -- end",
        "SELECT id, created_at, note GLOB '*g*' AS g, x'4d' AS x, 7 % 4 AS m FROM events",
    ],
}
# What may stand around a query; PostgreSQL's comments may hold others.
AROUND = {
    "postgres": ("\n;;-- it's the first\n/* one; /* and */ */\n", " -- then\n;; /* last */ -- the end"),
    "mariadb": ("\n;;# it's the first\n/* one; */\n", " -- then\n;; /* last */ #the end"),
    "sqlite": ("\n;;-- it's the first\n/* one; */\n", " -- then\n;; /* open to the end"),
}


@pytest.fixture(scope="module")
def shop(engine: str, shared_database: AnyDatabase) -> AnyDatabase:
    """Fill the database that all queries read."""
    shared_database.execute(
        f"CREATE TABLE events (id int PRIMARY KEY, created_at {MOMENT[engine]}, note varchar(40));"
        "INSERT INTO events VALUES (1, '2023-01-01 00:00:00', 'a giraffe, 100%'),"
        " (2, '2023-01-01 12:00:00', NULL),"
        " (3, '2023-01-03 23:59:59', '100%'), (4, NULL, 'a:b ? $1 {x}'), (5, '2023-02-01 00:00:01', '100%')"
    )
    return shared_database


def _told(rows: list[tuple[Any, ...]]) -> Rows:
    """Give a client's rows as a reader of Parquet has them."""

    def value(told: Any) -> Any:
        if isinstance(told, str) and len(told) == len("2023-01-01 00:00:00") and told.startswith("2023-"):
            return dt.datetime.fromisoformat(told)
        return told

    return sorted((tuple(map(value, row)) for row in rows), key=repr)


@pytest.mark.parametrize(
    ("engine", "number"),
    [(engine, i) for engine in ENGINES for i in range(len(SHARED) + len(OWN[engine]))],
    scope="module",
)
def test_a_query_gives_what_it_gives_to_the_database_s_own_client(
    tmp_path: Path, shop: AnyDatabase, engine: str, number: int
) -> None:
    """Comments, semicolons, signs, casts, quotes, CTEs, unions and windows mean what they mean there."""
    query = [*SHARED, *OWN[engine]][number]
    before, after = AROUND[engine]
    expected = _told(shop.fetch(query))

    export = by_query(by_day(tmp_path / "tree"), f"{before}{query}\n{after}")
    run_well(tmp_path, shop.source, export, validate=True)

    assert rows_by_glob(tmp_path / "tree") == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_that_repeats_is_refused_before_anything(
    tmp_path: Path, database: AnyDatabase, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    """A join of all columns of two tables names those that repeat, and an alias, alike on all engines."""
    database.execute(
        f"CREATE TABLE a (id int, created_at {MOMENT[engine]}); CREATE TABLE b (id int, created_at int)"
    )
    query = "SELECT a.*, b.* FROM a JOIN b ON a.id = b.id"

    error, hint = refused(tmp_path, capsys, database.source, by_query(by_day(tmp_path / "tree"), query))

    assert "'id', 'created_at'" in error
    assert "AS id_2" in hint


def test_names_that_differ_only_in_case_are_all_written(tmp_path: Path, postgres_database: Database) -> None:
    """Both columns come with their own values; the engine allows it, and a check warns of readers."""
    postgres_database.execute(
        'CREATE TABLE events ("Id" int, id int, created_at date, "a.b" int, "full name" int, "x=y" int);'
        "INSERT INTO events VALUES (1, 2, '2024-02-29', 3, 4, 5)"
    )
    run_well(tmp_path, postgres_database.source, by_day(tmp_path / "tree"), validate=True)

    (part,) = (tmp_path / "tree").rglob("*.parquet")
    assert pq.ParquetFile(part).schema_arrow.names == ["Id", "id", "created_at", "a.b", "full name", "x=y"]
    assert rows_by_glob(tmp_path / "tree") == [(1, 2, dt.date(2024, 2, 29), 3, 4, 5)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_column_that_is_null_on_one_day_has_one_type(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """All parts have one schema with every field nullable, also where a day has no value or no NULL."""
    database.execute(
        f"CREATE TABLE events (id int NOT NULL PRIMARY KEY, created_at {MOMENT[engine]}, n int, s text);"
        "INSERT INTO events VALUES (1, '2024-01-01 00:00:00', NULL, NULL), (2, '2024-01-02 00:00:00', 7, 'x')"
    )
    run_well(tmp_path, database.source, by_day(tmp_path / "tree"), validate=True)

    first, second = (pq.ParquetFile(part).schema_arrow for part in (tmp_path / "tree").rglob("*.parquet"))
    assert first.equals(second, check_metadata=True)
    assert all(field.nullable for field in first)
