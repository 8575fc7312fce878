"""Which queries may give other rows each time they are run, by their text and by what lies below them."""

from __future__ import annotations

import re

import pytest

from rivet.source.relation import Consistency, Relation, Request
from rivet.source.steadiness import unsteadiness
from rivet.source.tokens import Dialect
from tests.servers.database import Database
from tests.servers.sqlite import SqliteDatabase
from tests.source import sqlite_reading
from tests.source.reading import in_session

STEADY: list[tuple[Dialect, str]] = [
    ("postgres", "select a, t.limit, \"limit\", 'limit', $$limit$$, 1 as b /* limit 5 */ from t -- limit 5"),
    ("postgres", "select * from (select * from t limit all offset 0) x limit null"),
    (
        "postgres",
        "select * from t where exists (select 1 from u where u.a = t.a order by 1 limit 1 offset 1)",
    ),
    ("postgres", "select distinct a, rank() over (order by a), count(*) over (), max(d) from t group by a"),
    ("postgres", "select random, now, t.current_date from t where note = 'nowhere'"),
    ("mysql", "select rand, uuid, offset, `now`(1), '@n := 1', unix_timestamp(d), @n, @@sql_mode from t"),
    ("mysql", "select * from t where not exists (select 1 from u limit 1)"),
    ("sqlite", "select date(d), strftime('%Y', d), datetime(d, '+1 day'), 'random()', offset from t"),
]
UNSTEADY: list[tuple[Dialect, str, str, bool]] = [
    ("postgres", "select * from t limit 4", "has limit", False),
    ("postgres", "(select * from t order by d LIMIT 4) union all select * from t", "has LIMIT", False),
    ("postgres", "with a as (select * from t offset 1) select * from a", "has offset", False),
    (
        "postgres",
        "select * from t where id in (select id from u fetch first 3 rows only)",
        "has fetch",
        False,
    ),
    ("postgres", "select (select count(*) from u where exists (select 1) limit 1)", "has limit", False),
    ("postgres", "select * from t tablesample system (5) repeatable (1)", "has tablesample", False),
    ("postgres", "select distinct on (a) * from t", "has distinct", False),
    ("postgres", "select row_number() over (order by a) from t", r"calls row_number\(\)", False),
    ("postgres", "select * from t where d < now() - interval '1 day'", r"calls now\(\)", False),
    ("postgres", "select * from t where d < current_date", "has current_date", False),
    ("postgres", "select * from t where d < 'Today'", "has 'Today'", False),
    ("mysql", "select * from t limit 5, 10", "has limit", False),
    ("mysql", "select * from t offset 1 rows fetch next 3 rows with ties", "has offset", False),
    ("mysql", "select (@n := @n + 1) as n, d from t, (select @n := 0) s", "sets a variable", True),
    ("mysql", "select rand (), d from t", r"calls rand\(\)", True),
    ("mysql", "select d, sysdate(6) from t where d < curdate()", r"calls sysdate\(\)", True),
    ("mysql", "select d from t where d < utc_timestamp and d < unix_timestamp()", "has utc_timestamp", False),
    ("mysql", "select next value for s", "has next", True),
    ("sqlite", "select * from t where d > datetime('now', '-7 days')", "has 'now'", False),
    ("sqlite", "select strftime('%s'), date() from t", r"calls strftime\(\)", False),
    ("sqlite", "select * from t order by random() limit 5", r"calls random\(\)", True),
    ("sqlite", "select last_value(a) over (), CURRENT_TIMESTAMP from t", r"calls last_value\(\)", False),
]


@pytest.mark.parametrize(("dialect", "text"), STEADY)
def test_a_query_that_always_gives_the_same_is_steady(dialect: Dialect, text: str) -> None:
    """Names and texts that look like it, and limits that cannot matter, make no query unsteady."""
    assert unsteadiness(text, dialect, "the query") is None


@pytest.mark.parametrize(("dialect", "text", "reason", "is_per_look"), UNSTEADY)
def test_the_first_thing_that_is_unsteady_is_the_reason(
    dialect: Dialect, text: str, reason: str, is_per_look: bool
) -> None:
    """Wherever in a query it stands, what takes some rows, or changes by itself, is named."""
    found = unsteadiness(text, dialect, "the query")

    assert found is not None
    assert re.search(reason, found.reason)
    assert found.is_per_look is is_per_look


def _described(database: Database | SqliteDatabase, text: str) -> Relation:
    request = Request(query=text) if " " in text else Request(table=text)
    if isinstance(database, SqliteDatabase):
        return sqlite_reading.in_session(database, lambda session: session.describe(request))
    return in_session(database, lambda session: session.describe(request))


HIDDEN = """
CREATE TABLE t (id int PRIMARY KEY, d timestamp, note text);
CREATE FUNCTION steady(int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION "So So"(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION inlined() RETURNS SETOF t STABLE LANGUAGE sql AS 'SELECT * FROM t LIMIT 3';
CREATE VIEW limited AS SELECT * FROM t ORDER BY d LIMIT 5;
CREATE VIEW deep AS SELECT l.*, 1 AS one FROM limited l;
CREATE VIEW shuffled AS SELECT *, random() AS r FROM t;
CREATE VIEW by_so_so AS SELECT * FROM t WHERE "So So"(id) = id;
CREATE VIEW lately AS SELECT * FROM t WHERE d < now();
CREATE VIEW numbered AS SELECT *, row_number() OVER (ORDER BY note) AS n FROM t;
CREATE VIEW picked AS SELECT DISTINCT ON (note) * FROM t ORDER BY note;
CREATE VIEW sampled AS SELECT * FROM t TABLESAMPLE bernoulli (50);
CREATE VIEW calm AS SELECT DISTINCT id, upper(note) AS note, steady(id) AS s FROM t
    WHERE id <= (SELECT max(id) FROM t) AND EXISTS (SELECT 1 FROM t u WHERE u.id = t.id LIMIT 1)
    AND note <> 'random()';
"""
BELOW = [
    ("limited", "LIMIT"),
    ("deep", "LIMIT"),
    ("shuffled", r"random\(\)"),
    ("by_so_so", r"So So\(\)"),
    ("lately", r"now\(\)"),
    ("numbered", r"row_number\(\)"),
    ("picked", "DISTINCT ON"),
    ("sampled", "TABLESAMPLE"),
    ("SELECT * FROM inlined()", "LIMIT"),
    ("SELECT gen_random_uuid() AS u, id FROM t", r"gen_random_uuid\(\)"),
    ("SELECT c.id FROM calm c JOIN limited l ON l.id = c.id", "LIMIT"),
    ("t", None),
    ("calm", None),
    ("SELECT id, max(d) FROM calm JOIN t USING (id) GROUP BY id", None),
]


def test_postgres_sees_below_views_and_functions(postgres_database: Database) -> None:
    """What a view or an inlined function hides is found, and what the planner itself limits is not."""
    postgres_database.execute(HIDDEN)
    for text, reason in BELOW:
        relation = _described(postgres_database, text)
        if reason is None:
            assert (relation.consistency, relation.consistency_reason) == (Consistency.SNAPSHOT, ""), text
        else:
            assert relation.consistency is Consistency.STATEMENT, text
            assert re.search(reason, relation.consistency_reason), text


def test_mysql_sees_below_views(mariadb_database: Database) -> None:
    """A view's text, and that of the views below it, is looked at like a query's."""
    mariadb_database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, d datetime);"
        "CREATE VIEW limited AS SELECT * FROM t ORDER BY d LIMIT 5;"
        "CREATE VIEW deep AS SELECT * FROM limited;"
        "CREATE VIEW shuffled AS SELECT *, RAND() AS r FROM t; CREATE VIEW calm AS SELECT * FROM t"
    )
    for text, reason in [
        ("deep", "limit"),
        ("shuffled", r"rand\(\)"),
        ("SELECT id FROM shuffled", r"rand\(\)"),
        ("calm", ""),
        ("t", ""),
    ]:
        relation = _described(mariadb_database, text)
        assert relation.consistency is (Consistency.STATEMENT if reason else Consistency.SNAPSHOT), text
        assert re.search(reason, relation.consistency_reason), text


def test_sqlite_sees_below_views(sqlite_database: SqliteDatabase) -> None:
    """A view is found by any spelling of its name, and so is the view below it."""
    sqlite_database.execute(
        'CREATE TABLE t (id INTEGER, d DATE); CREATE VIEW "The Last" AS SELECT * FROM t ORDER BY d LIMIT 5;'
        "CREATE VIEW deep AS SELECT * FROM [the last];"
        "CREATE VIEW lately AS SELECT * FROM t WHERE d < date();"
        "CREATE VIEW calm AS SELECT * FROM t"
    )
    for text, reason in [
        ("deep", "view 'The Last' has LIMIT"),
        ("lately", r"view 'lately' calls date\(\)"),
        ("SELECT id FROM `THE LAST`", "LIMIT"),
        ("calm", ""),
        ("t", ""),
    ]:
        relation = _described(sqlite_database, text)
        assert relation.consistency is (Consistency.STATEMENT if reason else Consistency.SNAPSHOT), text
        assert re.search(reason, relation.consistency_reason), text
