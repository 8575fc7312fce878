"""The servers that other tests lean on do what those tests take for granted."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.servers.database import Database, Server


@pytest.fixture(params=["postgres", "mariadb", "mysql"])
def server(request: pytest.FixtureRequest) -> Server:
    """Give each server in turn."""
    found: Server = request.getfixturevalue(request.param)
    return found


def test_fresh_databases_are_empty_and_gone_afterwards(server: Server) -> None:
    """A fresh database holds no table, and nothing of it is left."""
    with server.fresh_database() as database:
        database.execute("CREATE TABLE t (n int); INSERT INTO t VALUES (1), (2)")
        assert database.fetch("SELECT n FROM t ORDER BY n") == [(1,), (2,)]
        with database.connect():
            pass
    with server.fresh_database() as another:
        tables = f"SELECT table_name FROM information_schema.tables WHERE table_schema IN ('public', '{another.name}')"
        assert another.fetch(tables) == []


def test_text_goes_to_the_server_as_it_is(server: Server) -> None:
    """Percent signs, colons and letters beyond ASCII are not touched on their way."""
    with server.fresh_database() as database:
        assert database.fetch("SELECT '100%s :name %(x)s é😀' AS \"x\"".replace('"', "")) == [
            ("100%s :name %(x)s é😀",)
        ]


def test_a_database_is_dropped_though_somebody_is_connected(server: Server) -> None:
    """A connection that a test forgot does not block the end of the test."""
    with server.fresh_database() as database:
        connection = database.connect()
        connection.__enter__()
    assert (database.name,) not in server.fetch("SELECT table_schema FROM information_schema.tables")
    del connection


def test_recordings_hold_the_statements_of_others_in_order(server: Server) -> None:
    """A recording holds what the code under test sent to its database, and nothing of the harness or of others."""
    with server.fresh_database() as database, server.fresh_database() as other:
        database.execute("CREATE TABLE t (n int)")
        with database.recording() as statements:
            database.execute("INSERT INTO t VALUES (1)")
            _as_a_stranger(database, "SELECT 'before\nafter', n FROM t", "SELECT 2")
            _as_a_stranger(other, "SELECT 3")
        _as_a_stranger(database, "SELECT 4")
    selects = [text for text in statements if text.startswith("SELECT")]
    assert selects == ["SELECT 'before\nafter', n FROM t", "SELECT 2"]
    assert not any("INSERT" in text for text in statements)


def _as_a_stranger(database: Database, *statements: str) -> None:
    """Send statements from another process, as the code under test would, with a driver's own defaults."""
    program = (
        "import sys, psycopg, pymysql\n"
        "engine, host, port, user, password, name, *statements = sys.argv[1:]\n"
        "if engine == 'postgres':\n"
        "    c = psycopg.connect(host=host, port=port, user=user, password=password, dbname=name)\n"
        "else:\n"
        "    c = pymysql.connect(host=host, port=int(port), user=user, password=password.encode(), database=name)\n"
        "for statement in statements: c.cursor().execute(statement)\n"
        "c.commit(); c.close()\n"
    )
    s = database.server
    where = [s.source_type, s.host, str(s.port), s.user, s.password, database.name]
    subprocess.run([sys.executable, "-c", program, *where, *statements], check=True)
