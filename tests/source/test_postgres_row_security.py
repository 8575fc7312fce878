"""Which tables are said to hide rows from the role that exports, and which are not."""

from __future__ import annotations

import pytest

from rivet.source.relation import Request
from tests.servers.database import Database, run
from tests.source.reading import in_session

# Made by the superuser; the exporting role may read all of it and owns `own` and `forced`.
_SCHEMA = """
CREATE TABLE plain (a int);
CREATE TABLE hidden (a int); ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;
CREATE TABLE partly (a int); ALTER TABLE partly ENABLE ROW LEVEL SECURITY;
CREATE POLICY above_one ON partly USING (a > 1);
CREATE TABLE opened (a int); ALTER TABLE opened ENABLE ROW LEVEL SECURITY;
CREATE POLICY every ON opened FOR SELECT TO {reader} USING (true);
CREATE TABLE others (a int); ALTER TABLE others ENABLE ROW LEVEL SECURITY;
CREATE POLICY every ON others FOR SELECT TO {admin} USING (true);
CREATE POLICY written ON others FOR UPDATE USING (true);
CREATE TABLE narrowed (a int); ALTER TABLE narrowed ENABLE ROW LEVEL SECURITY;
CREATE POLICY every ON narrowed USING (true);
CREATE POLICY above_one ON narrowed AS RESTRICTIVE USING (a > 1);
CREATE TABLE own (a int); ALTER TABLE own ENABLE ROW LEVEL SECURITY; ALTER TABLE own OWNER TO {reader};
CREATE TABLE forced (a int); ALTER TABLE forced ENABLE ROW LEVEL SECURITY;
ALTER TABLE forced FORCE ROW LEVEL SECURITY; ALTER TABLE forced OWNER TO {reader};
CREATE TABLE parent (a int) PARTITION BY RANGE (a); ALTER TABLE parent ENABLE ROW LEVEL SECURITY;
CREATE TABLE leaf PARTITION OF parent DEFAULT;
CREATE TABLE whole (a int) PARTITION BY RANGE (a);
CREATE TABLE whole_leaf PARTITION OF whole DEFAULT; ALTER TABLE whole_leaf ENABLE ROW LEVEL SECURITY;
CREATE VIEW as_admin AS SELECT * FROM partly;
CREATE VIEW as_reader AS SELECT * FROM partly; ALTER VIEW as_reader OWNER TO {reader};
CREATE VIEW outer_view AS SELECT * FROM as_reader;
CREATE MATERIALIZED VIEW kept AS SELECT * FROM partly;
CREATE SCHEMA "Other.s"; CREATE TABLE "Other.s"."T ""x" (a int);
ALTER TABLE "Other.s"."T ""x" ENABLE ROW LEVEL SECURITY;
GRANT USAGE ON SCHEMA "Other.s" TO {reader};
GRANT SELECT ON ALL TABLES IN SCHEMA public, "Other.s" TO {reader};
"""


@pytest.fixture
def database(postgres_database: Database) -> Database:
    """Give a database with tables of all kinds of row-level security."""
    server = postgres_database.server
    with server.connect(postgres_database.name) as connection:
        run(connection, _SCHEMA.format(reader=server.user, admin=server.admin.user))
    return postgres_database


def warned(database: Database, table: str | None = None, query: str | None = None) -> list[str]:
    """Give the tables that a description warns of."""
    warnings = in_session(database, lambda session: session.describe(Request(table, query)).warnings)
    return [w.removeprefix("rows that the row-level security of table ").split(" hides")[0] for w in warnings]


def test_a_table_or_view_that_hides_rows_is_named(database: Database) -> None:
    """Owners, policies that are open, and views that read as another are told apart as the server does."""
    assert {
        name: warned(database, table=name)
        for name in (
            *("plain", "hidden", "partly", "opened", "others", "narrowed", "own", "forced", "parent", "leaf"),
            *("whole", "whole_leaf", "as_admin", "as_reader", "outer_view", "kept", '"Other.s"."T ""x"'),
        )
    } == {
        "plain": [],
        "hidden": ["'public.hidden'"],
        "partly": ["'public.partly'"],
        "opened": [],
        "others": ["'public.others'"],
        "narrowed": ["'public.narrowed'"],
        "own": [],
        "forced": ["'public.forced'"],
        "parent": ["'public.parent'"],
        "leaf": [],
        "whole": [],
        "whole_leaf": ["'public.whole_leaf'"],
        "as_admin": [],
        "as_reader": ["'public.partly'"],
        "outer_view": ["'public.partly'"],
        "kept": [],
        '"Other.s"."T ""x"': ["'Other.s.T \"x'"],
    }


def test_a_query_is_told_of_each_table_that_hides_rows(database: Database) -> None:
    """Tables are found where the planner needs none, in CTEs and views, and by no column of their name."""
    assert {
        query: warned(database, query=query)
        for query in (
            "SELECT p.a FROM plain p LEFT JOIN HIDDEN h USING (a)",
            'WITH w AS (SELECT * FROM "Other.s"."T ""x") SELECT a FROM w UNION TABLE partly',
            "SELECT a FROM plain WHERE EXISTS (SELECT FROM public.parent)",
            "SELECT a FROM outer_view",
            "SELECT hidden.a AS forced, 'hidden' AS parent FROM as_admin, opened hidden",
            "SELECT 1 AS a",
        )
    } == {
        "SELECT p.a FROM plain p LEFT JOIN HIDDEN h USING (a)": ["'public.hidden'"],
        'WITH w AS (SELECT * FROM "Other.s"."T ""x") SELECT a FROM w UNION TABLE partly': [
            "'Other.s.T \"x'",
            "'public.partly'",
        ],
        "SELECT a FROM plain WHERE EXISTS (SELECT FROM public.parent)": ["'public.parent'"],
        "SELECT a FROM outer_view": ["'public.partly'"],
        "SELECT hidden.a AS forced, 'hidden' AS parent FROM as_admin, opened hidden": [],
        "SELECT 1 AS a": [],
    }


def test_the_mend_is_one_that_works(database: Database) -> None:
    """The owner is no way out where the table forces its policies on him."""

    def mend(table: str) -> str:
        warnings = in_session(database, lambda session: session.describe(Request(table)).warnings)
        return warnings[0].rpartition("; ")[2]

    assert mend("hidden") == "to export them, read as a role with BYPASSRLS or as the owner of the table"
    assert mend("forced") == "to export them, read as a role with BYPASSRLS"
