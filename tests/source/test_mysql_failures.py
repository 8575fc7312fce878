"""How MySQL and MariaDB can refuse or break off, what each becomes, and that no secret shows."""

from __future__ import annotations

import inspect
import re
import socket
import threading
import traceback
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

import asyncmy.errors
import pymysql.err
import pytest
import sqlalchemy.exc

from rivet.config.settings import Secret, SourceSettings, Tls
from rivet.errors import SourceDenied, SourceError, SourceStopped, SourceUnavailable
from rivet.source.mysql.errors import DRIVER_ERRORS, translated
from rivet.source.opening import open_source
from rivet.source.relation import Request
from tests.servers.database import Account, Database
from tests.servers.mariadb import MysqlServer, quoted
from tests.servers.proxy import run_proxy
from tests.source.reading import EVERYTHING, read_all, read_scan, said_as, settings_of, source_of
from tests.source.server_settings import global_settings

WRONG = "wr@ng/pass word#1%"
LONG = (
    "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
    " SELECT i, REPEAT('x', 60000) AS s FROM n"
)


def fail_to_open(settings: SourceSettings) -> SourceError:
    """Open a session that must fail, and give the error, searched for secrets with all its causes."""
    with pytest.raises(SourceError) as caught, open_source(settings).session():
        pass
    shown = "".join(traceback.format_exception(caught.value)) + str(caught.value.hint) + repr(settings)
    assert settings.password is not None
    for secret in (settings.password.reveal(), quote(settings.password.reveal(), safe="")):
        assert secret not in shown
    return caught.value


def test_wrong_credentials_are_denied(mysql_family: Database) -> None:
    """A wrong password, a wrong user and a wrong database are denied, with what the server said."""
    settings = settings_of(mysql_family)
    for changed, said in [
        (replace(settings, password=Secret(WRONG)), "Access denied for user 'rivet'"),
        (replace(settings, user="nobody else"), "Access denied for user 'nobody else'"),
        (replace(settings, database="no such db"), "'no such db'"),
    ]:
        error = fail_to_open(changed)
        assert isinstance(error, SourceDenied)
        assert said in str(error)
        assert error.exit_code == 2


@pytest.mark.parametrize("password", ["", "€ 😀", "p%41ss", "'; DROP", "\\", " blank ", 'a"b`c', "x" * 200])
def test_any_password_works(mysql_family: Database, password: str) -> None:
    """Whatever signs a password has, both connections log in with it."""
    server = mysql_family.server
    server.execute(
        f"CREATE USER plain IDENTIFIED BY '{quoted(password)}';GRANT SELECT ON {mysql_family.name}.* TO plain"
    )
    try:
        settings = replace(settings_of(mysql_family), user="plain", password=Secret(password))
        with open_source(settings).session() as session:
            relation = session.describe(Request(query="SELECT 1 AS one"))
            assert read_scan(session, relation)["one"].to_pylist() == [1]
    finally:
        server.execute("DROP USER plain")


def test_an_unreachable_server_is_unavailable(mysql_family: Database, tmp_path: Path) -> None:
    """A closed port, an unknown host, a missing socket, a silent and a rude server may be tried again."""
    settings = settings_of(mysql_family, connect_timeout_seconds=1.0)

    def say(listener: socket.socket) -> None:
        client, _ = listener.accept()
        client.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")
        client.close()

    with socket.create_server(("127.0.0.1", 0)) as silent, socket.create_server(("127.0.0.1", 0)) as rude:
        thread = threading.Thread(target=say, args=(rude,))
        thread.start()
        for changed in (
            replace(settings, port=1),
            replace(settings, host="no-such-host.invalid"),
            replace(settings, host=str(tmp_path / "socket")),
            replace(settings, port=silent.getsockname()[1]),
            replace(settings, port=rude.getsockname()[1]),
        ):
            error = fail_to_open(changed)
            assert isinstance(error, SourceUnavailable), error
            assert error.exit_code == 3
            if changed.port == 1 or changed.host == "no-such-host.invalid":
                assert "check host and port" in (error.hint or ""), error
        thread.join()
    assert "mysqld.sock" in str(fail_to_open(replace(settings, host=str(tmp_path))))
    assert "no server's socket" in str(fail_to_open(replace(settings, host=f"/{'x' * 300}")))


def test_a_full_server_is_unavailable(mysql_family: Database) -> None:
    """Too many connections of one user is a state that passes, whichever connection meets it."""
    server = mysql_family.server
    account = Account("few", WRONG)
    server.execute(f"CREATE USER few IDENTIFIED BY '{WRONG}' WITH MAX_USER_CONNECTIONS 1")
    try:
        settings = replace(settings_of(mysql_family), user="few", password=Secret(WRONG), database=None)
        with server.connect(account=account):
            assert isinstance(fail_to_open(settings), SourceUnavailable)
        with open_source(settings).session() as session, pytest.raises(SourceUnavailable):
            session.describe(Request(query="SELECT 1 AS one"))
    finally:
        server.execute("DROP USER few")


def test_a_unix_socket_is_a_host(mariadb_database: Database) -> None:
    """The path of a socket, or of its directory, is a host for both connections."""
    ((path,),) = mariadb_database.fetch("SELECT @@socket")
    for host in (path, str(Path(path).parent)):
        with open_source(settings_of(mariadb_database, host=host, port=None)).session() as session:
            relation = session.describe(Request(query="SELECT CURRENT_USER() AS me"))
            assert read_scan(session, relation).num_rows == 1
        error = fail_to_open(settings_of(mariadb_database, host=host, tls=Tls("require")))
        assert "Unix socket" in str(error)


def test_tls_is_never_given_up(mariadb_database: Database, tmp_path: Path) -> None:
    """A server without TLS is refused by every mode that wants it."""
    for tls in (
        Tls("require"),
        Tls("verify-full"),
        Tls("verify-full", tmp_path / "ca.pem"),
        Tls("verify-ca"),
    ):
        error = fail_to_open(settings_of(mariadb_database, tls=tls))
        assert isinstance(error, SourceDenied), error
    for none in (None, Tls("disable")):
        with source_of(mariadb_database, tls=none).session() as session:
            assert session.engine == "mariadb"


def test_tls_modes(mariadb_tls: MysqlServer, tmp_path: Path) -> None:
    """Each mode checks what it says, on both connections."""
    assert mariadb_tls.ca_file is not None
    with mariadb_tls.fresh_database() as database:

        def encrypted(tls: Tls | None, host: str = "localhost") -> set[bool]:
            with open_source(settings_of(database, tls=tls, host=host)).session() as session:
                query = (
                    "SELECT VARIABLE_VALUE AS cipher FROM information_schema.SESSION_STATUS"
                    " WHERE VARIABLE_NAME = 'Ssl_cipher'"
                )
                cipher = read_scan(session, session.describe(Request(query=query)))["cipher"].to_pylist()
                return {bool(c) for c in cipher}

        for tls, host in [
            (None, "localhost"),
            (Tls("require"), "localhost"),
            (Tls("require"), "127.0.0.1"),
            (Tls("verify-ca", mariadb_tls.ca_file), "127.0.0.1"),
            (Tls("verify-full", mariadb_tls.ca_file), "localhost"),
        ]:
            assert encrypted(tls, host) == {True}, tls
        assert encrypted(Tls("disable")) == {False}

        other = tmp_path / "empty.pem"
        other.touch()
        for tls, host in [
            (Tls("verify-full", mariadb_tls.ca_file), "127.0.0.1"),
            (Tls("verify-full"), "localhost"),
            (Tls("verify-ca", other), "localhost"),
        ]:
            error = fail_to_open(settings_of(database, tls=tls, host=host))
            assert isinstance(error, SourceDenied), error
            assert "tls" in f"{error} {error.hint}"

        mariadb_tls.execute(f"CREATE USER only_tls IDENTIFIED BY '{WRONG}' REQUIRE SSL")
        settings = replace(settings_of(database), user="only_tls", password=Secret(WRONG), database=None)
        with open_source(settings).session() as session:
            assert session.engine == "mariadb"
        assert isinstance(fail_to_open(replace(settings, tls=Tls("disable"))), SourceDenied)


def test_a_large_scan_over_tls(mariadb_tls: MysqlServer) -> None:
    """Bulk rows arrive whole over an encrypted connection."""
    with mariadb_tls.fresh_database() as database:
        read = read_all(database, query=LONG)
    assert read["i"].to_pylist() == list(range(1, 1001))
    assert set(read["s"].to_pylist()) == {"x" * 60000}


def test_a_stream_cut_at_any_place_is_never_taken_for_whole(mysql_family: Database) -> None:
    """Whatever byte the line breaks after, the scan raises; only with the server's last word it is whole."""
    server = mysql_family.server
    mysql_family.execute(
        "CREATE TABLE t (i int, s varchar(9), w longtext);"
        "INSERT INTO t VALUES (1, 'a', 'b'), (2, NULL, ''), (3, '', NULL)"
    )

    def read(most: int | None) -> int:
        """Read over a line that breaks after so many bytes of the scan, and give how many had come."""
        with run_proxy(server.host, server.port) as proxy:
            source = open_source(settings_of(mysql_family, port=proxy.port))
            with source.session() as session:
                relation = session.describe(Request("t"))
                proxy.limit(most)
                assert read_scan(session, relation).num_rows == 3
                return proxy.passed

    whole = read(None)
    assert whole > 50
    for most in (*range(1, whole, 11), whole - 1):
        with pytest.raises(SourceUnavailable):
            read(most)


@pytest.mark.parametrize("word", ["QUERY", "CONNECTION"])
def test_a_killed_scan_is_unavailable(mysql_family: Database, word: str) -> None:
    """A query or a connection that an administrator ends in the middle may be tried again."""
    with source_of(mysql_family).session() as session:
        relation = session.describe(Request(query=LONG))
        with session.read(relation, relation.columns, None, EVERYTHING) as batches:
            next(iter(batches))
            ((thread,),) = mysql_family.fetch(
                "SELECT id FROM information_schema.processlist WHERE info LIKE '%RECURSIVE n%'"
                " AND id <> CONNECTION_ID()"
            )
            mysql_family.server.execute(f"KILL {word} {thread}")
            with pytest.raises(SourceUnavailable):
                list(batches)
        if word == "CONNECTION":
            with pytest.raises(SourceUnavailable):
                session.probe(relation, None)
        else:
            assert session.probe(relation, None).rows == 1000


def test_a_statement_has_its_time(mysql_family: Database) -> None:
    """`statement_timeout_seconds` ends what takes longer, with the setting to look at; 0 changes nothing."""
    query = LONG.replace("60000", "10") + " WHERE SLEEP(0.01) = 0"
    with source_of(mysql_family, statement_timeout_seconds=2).session() as session:
        relation = session.describe(Request(query=query))
        with pytest.raises(SourceUnavailable, match=r"execution|time") as caught:
            session.probe(relation, None)
        assert "statement_timeout_seconds" in (caught.value.hint or "")
        assert session.probe(session.describe(Request(query="SELECT 1 AS one")), None).rows == 1


def test_rows_longer_than_max_allowed_packet(mysql_family: Database) -> None:
    """Long values arrive whole, however small the server's packets and beyond 16 MiB in one row."""
    sizes = [0, 1000, 1024**2, 17 * 1024**2]
    with global_settings(mysql_family, max_allowed_packet=64 * 1024**2):
        mysql_family.execute(
            "CREATE TABLE t (id int PRIMARY KEY, a longtext, b longblob, c text);"
            + "".join(
                f"INSERT INTO t VALUES ({n}, REPEAT('é', {n} / 2), REPEAT('\"', {n}), REPEAT('x', 60000));"
                for n in sizes
            )
        )
    with global_settings(mysql_family, max_allowed_packet=1024 * 64):
        for table in (
            read_all(mysql_family, table="t", order="id"),
            read_all(mysql_family, query="SELECT * FROM t"),
        ):
            rows = table.sort_by("id").to_pylist()
            assert [r["id"] for r in rows] == sizes
            for row in rows:
                assert row["a"] == "é" * (row["id"] // 2)
                assert row["b"] == b'"' * row["id"]
                assert row["c"] == "x" * 60000
        assert read_all(mysql_family, query="SELECT a FROM t").num_rows == len(sizes)


def test_a_row_of_many_short_values_outgrows_a_packet(mysql_family: Database) -> None:
    """Such a row is read whole, too."""
    columns = ", ".join(f"c{i} varchar(200)" for i in range(39))
    values = ", ".join(["REPEAT('x', 200)"] * 39)
    mysql_family.execute(
        f"CREATE TABLE t ({columns}) CHARACTER SET latin1; INSERT INTO t (c1) VALUES ('y'), (NULL);"
        f"INSERT INTO t VALUES ({values}); INSERT INTO t (c1) VALUES ('z')"
    )
    with global_settings(mysql_family, max_allowed_packet=4096):
        rows = read_all(mysql_family, table="t").to_pylist()
    assert [row["c1"] for row in rows] == ["y", None, "x" * 200, "z"]
    assert list(rows[2].values()) == ["x" * 200] * 39


def test_a_row_of_many_numbers_outgrows_a_packet(mysql_family: Database) -> None:
    """Nor does the server make NULL of it, as it would of its text."""
    columns = ", ".join(f"c{i} decimal(38,0)" for i in range(120))
    mysql_family.execute(
        f"CREATE TABLE t ({columns}); INSERT INTO t (c1) VALUES (1), (NULL);"
        f"INSERT INTO t VALUES ({', '.join(['9' * 38] * 120)})"
    )
    with global_settings(mysql_family, max_allowed_packet=4096):
        rows = read_all(mysql_family, table="t").to_pylist()
    assert [row["c1"] for row in rows] == [Decimal(1), None, Decimal("9" * 38)]
    assert list(rows[2].values()) == [Decimal("9" * 38)] * 120


def test_a_table_that_is_altered_under_way_is_unavailable(mysql_family: Database) -> None:
    """A table whose definition is not that of the snapshot is told, and read anew by the next run."""
    mysql_family.execute(
        "CREATE TABLE t (id int, s varchar(9) CHARACTER SET latin1); INSERT INTO t VALUES (1, 'é')"
    )
    with source_of(mysql_family).session() as session:
        relation = session.describe(Request("t"))
        mysql_family.execute(
            "ALTER TABLE t MODIFY s varchar(9) CHARACTER SET utf8mb4, ADD COLUMN n int FIRST, FORCE"
        )
        with pytest.raises(SourceUnavailable, match="definition has changed"):
            read_scan(session, relation)


def errors_of(module: object) -> list[type[BaseException]]:
    """List the errors that a driver's module defines."""
    kinds = [kind for kind in vars(module).values() if inspect.isclass(kind)]
    return [kind for kind in kinds if issubclass(kind, Exception) and kind.__module__ == module.__name__]  # type: ignore[attr-defined]


def test_the_table_of_errors_is_total() -> None:
    """Every class that a driver can raise becomes a `SourceError`, with or without a code."""
    raised: list[BaseException] = [
        *(kind(9999, "said so") for m in (asyncmy.errors, pymysql.err) for kind in errors_of(m)),
        *(kind("said so") for m in (asyncmy.errors, pymysql.err) for kind in errors_of(m)),
        *(kind("said so") for kind in (OSError, ConnectionResetError, TimeoutError, socket.gaierror)),
        sqlalchemy.exc.InvalidRequestError("said so"),
        sqlalchemy.exc.OperationalError("SELECT 1", {}, pymysql.err.OperationalError(2013, "said so")),
    ]
    assert len(raised) > 40
    for error in raised:
        assert isinstance(error, DRIVER_ERRORS)
        assert re.fullmatch("reading: (said so|timed out).*", str(said_as(translated, error)))
    assert isinstance(said_as(translated, raised[-1]), SourceUnavailable)


@pytest.mark.parametrize(
    ("kind", "codes"),
    [
        (SourceDenied, (1044, 1045, 1049, 1142, 1143, 1227, 1698, 2026, 2061, 3118, 3159)),
        (SourceError, (1054, 1064, 1146, 1060, 1267, 1792, 1690)),
        (
            SourceUnavailable,
            (0, 1040, 1041, 1047, 1053, 1158, 1159, 1160, 1161, 1184, 1203, 1205, 1213, 1412, 1615),
        ),
        (SourceUnavailable, (1927, 2002, 2003, 2005, 2006, 2012, 2013, 2014, 2027, 2055, 3572, 4031)),
        (SourceStopped, (28, 1021, 1028, 1038, 1226, 1317, 1969, 3024)),
    ],
)
def test_kinds_by_code(kind: type[SourceError], codes: tuple[int, ...]) -> None:
    """Both drivers' errors of one code become the same kind; what was stopped is not begun anew."""
    for code in codes:
        assert type(said_as(translated, pymysql.err.OperationalError(code, "x"))) is kind, code
        assert type(said_as(translated, asyncmy.errors.OperationalError(code, "x"))) is kind, code
