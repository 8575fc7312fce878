"""The servers that other tests lean on do what those tests take for granted."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pymysql
import pytest

from tests.servers.database import Database, Server
from tests.servers.mariadb import MysqlServer
from tests.servers.postgres import PostgresServer

# Another process, as the code under test is one, with the drivers' own defaults.
STRANGER = """
import sys, psycopg, pymysql
engine, host, port, user, password, name, *statements = sys.argv[1:]
if engine == "postgres":
    connection = psycopg.connect(host=host, port=port, user=user, password=password, dbname=name)
else:
    connection = pymysql.connect(
        host=host, port=int(port), user=user, password=password.encode(), database=name, charset="utf8mb4"
    )
for statement in statements:
    connection.cursor().execute(statement)
connection.commit()
connection.close()
"""

KILLED = """
import os, signal
from tests.servers.mariadb import run_mariadb
from tests.servers.postgres import run_postgres
with {run}() as server:
    print(server.port, server.fetch("{directory}")[0][0], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(params=["postgres", "mariadb", "mysql"])
def server(request: pytest.FixtureRequest) -> Server:
    """Give each server in turn."""
    found: Server = request.getfixturevalue(request.param)
    return found


def test_a_fresh_database_is_empty_and_gone_afterwards(server: Server) -> None:
    """A fresh database holds no table of another test, and goes though a connection was forgotten."""
    with server.fresh_database() as first:
        first.execute("CREATE TABLE t (n int); INSERT INTO t VALUES (1), (2)")
        assert first.fetch("SELECT n FROM t ORDER BY n") == [(1,), (2,)]
        forgotten = first.connect()
        forgotten.__enter__()
    with server.fresh_database() as second:
        second.execute("CREATE TABLE t (n int)")
        assert second.fetch("SELECT n FROM t") == []
    with (
        pytest.raises((psycopg.OperationalError, pymysql.err.OperationalError)),
        server.connect(first.name),
    ):
        pass
    forgotten.__exit__(None, None, None)


def test_text_goes_to_the_server_as_it_is(server: Server) -> None:
    """Percent signs, colons and letters beyond ASCII are not touched on their way."""
    odd = "100%s :name %(x)s é😀"
    with server.fresh_database() as database:
        assert database.fetch(f"SELECT '{odd}'") == [(odd,)]


def test_the_ordinary_user_has_no_special_rights(server: Server) -> None:
    """A test that passes with the ordinary user's rights does not lean on a superuser's."""
    setting = {
        "postgres": "ALTER SYSTEM SET work_mem = '64MB'",
        "mysql": "SET GLOBAL max_connections = 100",
    }
    with (
        server.fresh_database() as database,
        pytest.raises((psycopg.errors.InsufficientPrivilege, pymysql.err.OperationalError)),
    ):
        database.execute(setting[server.source_type])


def test_a_recording_holds_what_others_said_to_the_database(server: Server) -> None:
    """A recording holds the statements of the code under test, in order, and nobody else's."""
    with server.fresh_database() as database, server.fresh_database() as other:
        database.execute("CREATE TABLE t (n int)")
        with database.recording() as statements:
            database.execute("INSERT INTO t VALUES (1)")
            say(database, "SELECT 'before\nafter', n FROM t", "SELECT 'é', 2")
            say(other, "SELECT 3")
        say(database, "SELECT 4")
    assert [text for text in statements if text.startswith("SELECT")] == [
        "SELECT 'before\nafter', n FROM t",
        "SELECT 'é', 2",
    ]
    assert not any("INSERT" in text for text in statements)


def test_a_postgres_server_with_tls_proves_to_be_localhost(postgres_tls: PostgresServer) -> None:
    """The certificate is good for `localhost` under the server's own authority, and for no other name."""
    words = f"?sslmode=verify-full&sslrootcert={postgres_tls.ca_file}"
    with psycopg.connect(postgres_tls.url("postgres") + words) as connection:
        row = connection.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchone()
    assert row == (True,)
    with pytest.raises(psycopg.OperationalError, match="host name"):
        psycopg.connect(postgres_tls.url("postgres", host="127.0.0.1") + words)


def test_a_mariadb_server_with_tls_proves_to_be_localhost(mariadb_tls: MysqlServer) -> None:
    """The certificate is good for `localhost` under the server's own authority, and for no other name."""

    def cipher(host: str) -> str:
        with (
            pymysql.connect(
                host=host,
                port=mariadb_tls.port,
                user=mariadb_tls.user,
                password=mariadb_tls.password.encode(),
                ssl_ca=str(mariadb_tls.ca_file),
                ssl_verify_identity=True,
            ) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
            return str(cursor.fetchall()[0][1])

    assert cipher("localhost")
    with pytest.raises(pymysql.err.OperationalError, match="certificate"):
        cipher("127.0.0.1")


@pytest.mark.parametrize(
    ("run", "directory"),
    [("run_postgres", "SHOW unix_socket_directories"), ("run_mariadb", "SELECT @@datadir")],
)
def test_nothing_is_left_of_a_killed_test_run(run: str, directory: str) -> None:
    """A server and its directory go even when the process that started them is killed."""
    program = KILLED.format(run=run, directory=directory)
    killed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    port, place = killed.stdout.split()
    deadline = time.monotonic() + 60
    while listens(int(port)) or Path(place).exists():
        assert time.monotonic() < deadline, f"{place} is still there"
        time.sleep(0.05)


def say(database: Database, *statements: str) -> None:
    """Send statements from another process."""
    s = database.server
    where = [s.source_type, s.host, str(s.port), s.user, s.password, database.name]
    subprocess.run([sys.executable, "-c", STRANGER, *where, *statements], check=True)


def listens(port: int) -> bool:
    """Tell whether somebody listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
