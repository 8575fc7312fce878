"""How names are found and queries described on PostgreSQL: by the catalogue, by the server, without a row."""

from __future__ import annotations

from datetime import date

import pytest

from rivet.errors import SourceDenied, SourceError
from rivet.source.relation import Consistency, Relation, Request
from tests.servers.database import Database
from tests.source.reading import in_session, read_all, read_scan, source_of


def describe(database: Database, table: str | None = None, query: str | None = None) -> Relation:
    """Describe in a session of its own."""
    return in_session(database, lambda session: session.describe(Request(table, query)))


def test_a_table_is_found_as_the_catalogue_spells_it(postgres_database: Database) -> None:
    """An exact name wins, then the only one that differs in case; quotes mean the name itself."""
    postgres_database.execute(
        'CREATE SCHEMA "Sales"; CREATE TABLE events (a int); CREATE TABLE "Order" (a int);'
        ' CREATE TABLE "order" (a int); CREATE TABLE "Mixed" (a int); CREATE TABLE "Sales"."T.1" (a int);'
        ' CREATE TABLE "Two" (a int); CREATE TABLE "TWO" (a int); CREATE TABLE "trail " (a int)'
    )
    with source_of(postgres_database).session() as session:
        for written, found in [
            ("events", "public.events"),
            ("EVENTS", "public.events"),
            ("public.events", "public.events"),
            ("Public.Events", "public.events"),
            ('"events"', "public.events"),
            ("order", "public.order"),
            ("Order", "public.Order"),
            ("mixed", "public.Mixed"),
            ('sales."T.1"', "Sales.T.1"),
            ("TWO", "public.TWO"),
        ]:
            assert session.describe(Request(written)).table == found

    with source_of(postgres_database).session() as session:
        for written, message, hint in [
            ("two", "'public.TWO', 'public.Two'", "exact case"),
            ("ORDER", "'public.Order', 'public.order'", "exact case"),
            ('"MIXED"', "no table", "did you mean 'Mixed'"),
            ("event", "no table 'event'", "did you mean 'events'"),
            ("trail ", "no table 'trail '", "did you mean '\"trail \"'"),
            ('sales."T.2"', "no table", "did you mean 'T.1'"),
            ('"T.1"', "search path", "write Sales.T.1"),
            ("nowhere.events", "no table", "check schema and table"),
            ("a.b.c", "cannot be read as a name", "schema.table"),
            ("a..b", "cannot be read as a name", "schema.table"),
            ('"open', "cannot be read as a name", "schema.table"),
            ("events; drop table events", "no table", ""),
        ]:
            with pytest.raises(SourceError, match=message) as caught:
                session.describe(Request(written))
            assert hint in (caught.value.hint or ""), written


def test_the_search_path_decides_like_in_a_query(postgres_database: Database) -> None:
    """Of tables with one name, the first schema of the user's search path gives the table."""
    postgres_database.execute(
        "CREATE SCHEMA late; CREATE SCHEMA early; CREATE TABLE late.t (a int); CREATE TABLE early.t (b int);"
        ' CREATE TABLE early."T" (c int);'
        f" ALTER DATABASE {postgres_database.name} SET search_path = early, late"
    )
    assert describe(postgres_database, "t").table == "early.t"
    assert describe(postgres_database, "T").table == "early.T"
    assert [c.name for c in describe(postgres_database, query="SELECT * FROM t").columns] == ["b"]


def test_everything_that_holds_rows_can_be_read(postgres_database: Database) -> None:
    """Views, materialised views, partitioned and inherited tables are read like tables."""
    postgres_database.execute(
        "CREATE TABLE parent (d date) PARTITION BY RANGE (d);"
        "CREATE TABLE child PARTITION OF parent FOR VALUES FROM ('2023-01-01') TO ('2024-01-01');"
        "CREATE INDEX ON parent (d); INSERT INTO parent VALUES ('2023-05-05');"
        "CREATE VIEW seen AS SELECT d, 1 AS one FROM parent;"
        "CREATE MATERIALIZED VIEW kept AS SELECT * FROM seen;"
        "CREATE TABLE old_parent (d date); CREATE INDEX ON old_parent (d);"
        "CREATE TABLE old_child () INHERITS (old_parent); INSERT INTO old_child VALUES ('2023-05-05')"
    )
    with source_of(postgres_database).session() as session:
        for table in ("parent", "child", "seen", "kept", "old_parent"):
            relation = session.describe(Request(table))
            assert read_scan(session, relation).column("d").to_pylist() == [date(2023, 5, 5)]
            assert relation.indexed == ({"d"} if table in ("parent", "child") else frozenset())


def test_a_foreign_table_has_no_snapshot(postgres_database: Database) -> None:
    """What comes from another server is not of one moment, and the description says so."""
    server = postgres_database.server
    if not server.fetch("SELECT 1 FROM pg_available_extensions WHERE name = 'file_fdw'"):
        pytest.skip("file_fdw is not installed")
    with server.connect(postgres_database.name) as admin:
        admin.execute(
            "CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;"
            "CREATE FOREIGN TABLE far (line text) SERVER files OPTIONS (filename '/etc/hosts');"
            f"CREATE VIEW near AS SELECT * FROM far; GRANT SELECT ON far, near TO {server.user}"
        )
    for table in ("far", "near"):
        relation = describe(postgres_database, table)
        assert relation.consistency is Consistency.STATEMENT
        assert "foreign" in relation.consistency_reason


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("TABLE pg_stat_activity", "pg_stat_get_activity()"),
        ("TABLE pg_stat_user_tables", "pg_stat_get_"),
        ("TABLE pg_locks", "pg_lock_status()"),
        ("TABLE pg_settings", "pg_show_all_settings()"),
        ("TABLE pg_replication_slots", "pg_get_replication_slots()"),
        ("SELECT relname, relpages FROM pg_class", "'pg_catalog.pg_class'"),
        ("TABLE information_schema.columns", "'pg_catalog.pg_att"),
        ("SELECT i, last_value FROM t, numbers", "'public.numbers', which is a sequence"),
    ],
)
def test_what_lies_in_no_snapshot_is_read_by_one_statement(
    postgres_database: Database, query: str, said: str
) -> None:
    """The server's state, its catalogue and sequences change under a snapshot, also through views."""
    postgres_database.execute(f"CREATE TABLE t (i int); CREATE SEQUENCE numbers; CREATE VIEW v AS {query}")
    for relation in (describe(postgres_database, query=query), describe(postgres_database, "v")):
        assert relation.consistency is Consistency.STATEMENT
        assert said in relation.consistency_reason


def test_functions_of_rows_alone_leave_the_snapshot(postgres_database: Database) -> None:
    """Stable functions that hang on the session's pinned settings, or make rows of values, promise one."""
    postgres_database.execute("CREATE TABLE t (z timestamptz, j jsonb, a int[])")
    query = (
        "SELECT age(z, z), to_char(z, 'YYYY'), date_trunc('day', z) AS day, current_schema AS here, k, u, g "
        "FROM t, jsonb_object_keys(j) k, unnest(a) u, generate_series(z, z, '1 day') g"
    )
    assert describe(postgres_database, query=query).consistency is Consistency.SNAPSHOT


def test_keys_and_indexes(postgres_database: Database) -> None:
    """Only a valid, whole, plain btree index in the default order counts; a key only if it is exported."""
    postgres_database.execute(
        "CREATE TABLE t (b int, a int, d1 date, d2 date, d3 date, d4 date, d5 date, d6 date, n text,"
        " PRIMARY KEY (a, b) INCLUDE (n));"
        "CREATE INDEX ON t (d1, a); CREATE INDEX ON t (d2 DESC); CREATE INDEX ON t (d3) WHERE a > 0;"
        "CREATE INDEX ON t USING hash (d4); CREATE INDEX ON t (d5 NULLS FIRST); CREATE INDEX ON t ((d6 + 1));"
        'CREATE INDEX ON t (a, d6); CREATE INDEX ON t (n COLLATE "C")'
    )
    relation = describe(postgres_database, "t")
    assert relation.primary_key == ("a", "b")
    assert relation.indexed == {"a", "d1", "d2"}

    without = in_session(postgres_database, lambda s: s.describe(Request(table="t", exclude=("a",))))
    assert without.primary_key == ()
    assert without.indexed == {"d1", "d2"}


def test_exclude_is_resolved_like_names(postgres_database: Database) -> None:
    """A column to leave out is found by case, a wrong one is refused with the near miss."""
    postgres_database.execute('CREATE TABLE t (id int, "Ssn" text)')
    with source_of(postgres_database).session() as session:
        assert [c.name for c in session.describe(Request("t", exclude=("SSN",))).columns] == ["id"]
        with pytest.raises(SourceError, match="'snn'") as caught:
            session.describe(Request("t", exclude=("snn",)))
        assert caught.value.hint == "did you mean 'Ssn'?"
        with pytest.raises(SourceError, match="no column is left"):
            session.describe(Request("t", exclude=("id", "Ssn")))


def test_a_query_is_described_without_running(postgres_database: Database) -> None:
    """Names and types come from the server's description: no row is made, and no function is called."""
    # What is constant, the planner computes; a column is not.
    query = (
        "SELECT i / 0 AS broken, pg_sleep(3600)::text AS slow, 1.5::numeric(4,1) AS n, NULL AS nothing"
        " FROM generate_series(1, 2) AS g(i)"
    )
    relation = describe(postgres_database, query=query)
    assert [(c.name, c.source_type) for c in relation.columns] == [
        ("broken", "integer"),
        ("slow", "text"),
        ("n", "numeric(4,1)"),
        ("nothing", "text"),
    ]
    assert relation.table is None
    assert len(relation.query_sha256 or "") == 64


REFUSED = [
    ("SELECT 1 AS id, 2 AS id, 3 AS x", "several columns are named 'id'"),
    ("SELECT 1, 2", r"several columns are named '\?column\?'"),
    ("SELECT a.*, b.* FROM (VALUES (1)) a(id), (VALUES (1)) b(id)", "'id'"),
    ("SELECT $1::int AS x", "parameter"),
    ("SELECT FROM pg_class", "no columns"),
    ("SELECT nowhere FROM pg_class", 'column "nowhere" does not exist'),
    ("SELECT relnam FROM pg_class", "relnam"),
    ("SELECT * FROM nowhere", 'relation "nowhere" does not exist'),
    ("SELECT 1 +", "syntax error"),
    ("SELECT 1 -- c\r; SELECT 2", "second statement"),
    ("WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a", "DELETE"),
    ("SELECT 1 AS x INTO t", "INTO"),
]


def test_queries_that_cannot_be_exported_are_refused(postgres_database: Database) -> None:
    """What is no single reading SELECT with distinct columns is refused in describing."""
    for query, message in REFUSED:
        with pytest.raises(SourceError, match=message):
            describe(postgres_database, query=query)


def test_the_servers_own_near_miss_is_the_hint(postgres_database: Database) -> None:
    """A wrong column in a query brings the server's suggestion."""
    with pytest.raises(SourceError) as caught:
        describe(postgres_database, query="SELECT c.relnam FROM pg_class c")
    assert "relname" in (caught.value.hint or "")


def test_functions_that_write_are_stopped_by_the_server(postgres_database: Database) -> None:
    """A SELECT whose function writes fails in the read-only transaction and changes nothing."""
    postgres_database.execute("CREATE SEQUENCE s")
    with pytest.raises(SourceError, match="read-only"):
        read_all(postgres_database, query="SELECT nextval('s') AS n")
    assert postgres_database.fetch("SELECT is_called FROM s") == [(False,)]


def test_missing_rights_are_denied(postgres_database: Database) -> None:
    """A table without SELECT, and a schema without USAGE, are denied with the grant to give."""
    server = postgres_database.server
    with server.connect(postgres_database.name) as admin:
        admin.execute("CREATE TABLE closed (a int); CREATE SCHEMA hidden; CREATE TABLE hidden.t (a int)")
    for read in (
        lambda: read_all(postgres_database, table="closed"),
        lambda: describe(postgres_database, "hidden.t"),
    ):
        with pytest.raises(SourceDenied, match="permission denied") as caught:
            read()
        assert "grant" in (caught.value.hint or "")


QUERIES: list[tuple[str, list[dict[str, object]]]] = [
    ("SELECT n FROM g WHERE n LIKE '%giraffe%'", [{"n": "a giraffe"}]),
    ("SELECT n FROM g WHERE n LIKE '100%' OR n ~ '(?:x|y)'", [{"n": "100%"}]),
    ('SELECT n AS "pct%s", 7 % 4 AS "%(x)s" FROM g WHERE n = $$100%$$', [{"pct%s": "100%", "%(x)s": 3}]),
    ("SELECT '2023-01-01'::date::text AS d, '12:30:00' AS t, 'a:b' ~ '(?:a|b)' AS r",
     [{"d": "2023-01-01", "t": "12:30:00", "r": True}]),
    ("""SELECT '{"k": [1]}'::jsonb ? 'k' AS a, '{"k": [1]}'::jsonb #>> '{k,0}' AS b,
        '[1]'::jsonb @> '1' AS c, 5 # 1 AS d, @ -5 AS e""",
     [{"a": True, "b": "1", "c": True, "d": 4, "e": 5}]),
    (r"SELECT 'a;b' AS a, $$;$$ AS b, $x$a;$$b$x$ AS c, E'\';' AS d, '\' AS e, U&'d\0061' AS f",
     [{"a": "a;b", "b": ";", "c": "a;$$b", "d": "';", "e": "\\", "f": "da"}]),
    ("SELECT 1 AS one -- the last line", [{"one": 1}]),
    ("SELECT 1 AS one /* a /* nested */ one; */ ; -- end", [{"one": 1}]),
    ("-- first\nVALUES (1, 'x')", [{"column1": 1, "column2": "x"}]),
    ("TABLE g ORDER BY n LIMIT 1", [{"n": "100%"}]),
    ("(WITH a$b AS (SELECT 1 AS x) SELECT x FROM a$b) UNION ALL SELECT 2 ORDER BY x", [{"x": 1}, {"x": 2}]),
    ("SELECT 1 AS rivet, n FROM g AS rivet WHERE rivet.n = '100%'", [{"rivet": 1, "n": "100%"}]),
    ("SELECT '{x}' AS a, '{{}}' AS b, '😀' AS \"é\"", [{"a": "{x}", "b": "{{}}", "é": "😀"}]),
]  # fmt: skip


def test_queries_arrive_as_they_were_written(postgres_database: Database) -> None:
    """Percent signs, colons, question marks, dollars, braces and comments are the server's to read."""
    postgres_database.execute("CREATE TABLE g (n text); INSERT INTO g VALUES ('a giraffe'), ('100%')")
    with source_of(postgres_database).session() as session:
        for query, rows in QUERIES:
            relation = session.describe(Request(query=query))
            assert read_scan(session, relation).to_pylist() == rows, query
