"""A session on MySQL or MariaDB: one moment, pinned settings, nothing left behind, and how streams end."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from rivet.errors import ColumnError, SourceError
from rivet.plan.calendar import Granularity
from rivet.plan.overrides import override
from rivet.plan.schema import Kind
from rivet.plan.windows import Axis
from rivet.source.protocol import Session
from rivet.source.relation import Request
from tests.servers.database import Database
from tests.source.reading import EVERYTHING, column_of, in_session, read_all, read_scan, source_of
from tests.source.server_settings import global_settings

NUMBERS = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < {0}) SELECT i FROM n"
# Larger than all that lies between a server and a consumer: sockets, queue, and blocks in hand.
LONG = f"SELECT i, REPEAT('x', 60000) AS s FROM ({NUMBERS.format(1000)}) AS n"


def wait_until_alone(database: Database) -> None:
    """Wait until the server has noticed that our connections are closed."""
    deadline = time.monotonic() + 30
    while left := database.fetch(
        f"SELECT id, info FROM information_schema.processlist WHERE db = '{database.name}'"
        " AND id <> CONNECTION_ID()"
    ):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def wait_until_idlers_are_ended(database: Database) -> None:
    """Wait until the server has ended a connection of our own that does nothing."""
    deadline = time.monotonic() + 60
    with database.connect() as idle:
        while database.fetch(f"SELECT 1 FROM information_schema.processlist WHERE id = {idle.thread_id()}"):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def fill(database: Database) -> None:
    """Make a table of 300 rows over 30 days."""
    database.execute(
        "CREATE TABLE t (i int PRIMARY KEY, d date);"
        f"INSERT INTO t SELECT i, DATE '2023-01-01' + INTERVAL (i % 30) DAY FROM ({NUMBERS.format(300)}) AS n"
    )


@pytest.mark.parametrize("isolation", ["REPEATABLE-READ", "READ-COMMITTED", "READ-UNCOMMITTED"])
def test_everything_sees_one_moment(mysql_family: Database, isolation: str) -> None:
    """Rows moved, inserted and deleted by others change nothing in a session, at any global isolation."""
    fill(mysql_family)
    change = (
        "DELETE FROM t WHERE i % 3 = 0; UPDATE t SET d = d + INTERVAL 1 DAY;"
        " REPLACE INTO t VALUES (1001, '2030-01-01'), (1002, NULL)"
    )
    old_name = mysql_family.server.fetch("SHOW VARIABLES LIKE 'tx_isolation'")
    name = "tx_isolation" if old_name else "transaction_isolation"
    with (
        global_settings(mysql_family, **{name: isolation}),
        mysql_family.connect(autocommit=False) as uncommitted,
    ):
        with uncommitted.cursor() as cursor:
            cursor.execute("INSERT INTO t VALUES (5000, '2023-01-01')")
        with source_of(mysql_family).session() as session:
            relation = session.describe(Request("t"))
            column = column_of(relation, "d")
            uncommitted.commit()
            mysql_family.execute(change)
            probe = session.probe(relation, column)
            first = read_scan(session, relation, column)
            mysql_family.execute(change)
            counts = session.count_windows(relation, column, Axis(Kind.DATE, Granularity.DAY))
            second = read_scan(session, relation, column)

    assert probe.rows == sum(c.rows for c in counts) == 300
    assert [c.rows for c in counts] == [10] * 30
    assert first.equals(second)
    assert sorted(first.column("i").to_pylist()) == list(range(1, 301))
    wait_until_alone(mysql_family)


def test_a_table_is_scanned_twice_at_most(mysql_family: Database) -> None:
    """Describing, planning, probing and reading make the server scan a table without an index twice."""
    fill(mysql_family)
    with mysql_family.recording() as statements, source_of(mysql_family).session() as session:
        relation = session.describe(Request("t"))
        column = column_of(relation, "d")
        session.sort_bytes(relation, column, EVERYTHING)
        session.probe(relation, column)
        with session.read(relation, relation.columns, column, EVERYTHING) as batches:
            assert sum(batch.num_rows for batch in batches) == batches.server_rows
    of_the_table = [s for s in statements if f"`{mysql_family.name}`.`t`" in s]
    assert len([s for s in of_the_table if s.startswith("SELECT")]) == 2
    assert all(s.startswith(("SELECT", "EXPLAIN")) for s in of_the_table)


MODES = [
    *("ANSI_QUOTES,NO_BACKSLASH_ESCAPES", "ANSI", "TRADITIONAL", "PIPES_AS_CONCAT,IGNORE_SPACE"),
    "NO_UNSIGNED_SUBTRACTION",
]


def check_values(database: Database) -> None:
    """Read values that settings could change, from a table and from a query in the user's own quotes."""
    expected = [
        {
            "id": 1,
            "u": 5,
            "s": 'it\'s \\ "x"',
            "n": None,
            "e": "",
            "d": dt.datetime(2023, 1, 1, 12),
            "f": 0.5,
        },
        {"id": 2, "u": None, "s": None, "n": None, "e": None, "d": None, "f": None},
        {"id": 3, "u": 0, "s": "NULL", "n": 1, "e": "€", "d": dt.datetime(2023, 6, 1), "f": -0.5},
    ]

    def ask(session: Session) -> None:
        relation = session.describe(Request("t"))
        column = column_of(relation, "d")
        assert session.probe(relation, column).rows == 3
        assert read_scan(session, relation, column).sort_by("id").to_pylist() == expected
        assert read_scan(session, session.describe(Request(query="SELECT * FROM t"))).num_rows == 3

    in_session(database, ask)


def make_values(database: Database) -> None:
    """Make the table of `check_values`."""
    database.execute(
        "CREATE TABLE t (id int, u int unsigned, s varchar(20), n bit(3), e text, d datetime, f float);"
        "INSERT INTO t VALUES (1, 5, X'" + b'it\'s \\ "x"'.hex() + "', NULL, '', '2023-01-01 12:00:00', 0.5),"
        " (2, NULL, NULL, NULL, NULL, NULL, NULL), (3, 0, 'NULL', 1, '€', '2023-06-01', -0.5)"
    )


@pytest.mark.parametrize("mode", MODES)
def test_no_mode_changes_a_value(mysql_family: Database, mode: str) -> None:
    """Whatever `sql_mode` the server has, values and NULLs arrive as they are."""
    make_values(mysql_family)
    with global_settings(mysql_family, sql_mode=mode):
        check_values(mysql_family)
        if "ANSI" in mode:
            query = 'SELECT "id", "s" AS "a""b" FROM "t" WHERE "s" <> \'x\''
            relation = in_session(mysql_family, lambda s: s.describe(Request(query=query)))
            assert [c.name for c in relation.columns] == ["id", 'a"b']
            assert relation.consistency_reason == ""
            assert read_all(mysql_family, query=query).num_rows == 2


@pytest.mark.parametrize("mode", ["ORACLE", "EMPTY_STRING_IS_NULL", "ORACLE,EMPTY_STRING_IS_NULL", "MSSQL"])
def test_no_mode_of_mariadb_changes_a_value(mariadb_database: Database, mode: str) -> None:
    """Where CONCAT ignores NULL, and '' means it, NULL and empty text still differ."""
    make_values(mariadb_database)
    with global_settings(mariadb_database, sql_mode=mode):
        check_values(mariadb_database)


@pytest.mark.parametrize("mode", ["ORACLE", "EMPTY_STRING_IS_NULL", "ORACLE,EMPTY_STRING_IS_NULL"])
def test_null_stays_null_in_every_mode_of_mariadb(mariadb_database: Database, mode: str) -> None:
    """Also where another type is asked for, and the server writes a value as text for it."""
    asked = {"b": "uuid", "n": "float64", "f": "float32", "i": "string", "w": "int64", "t": "time"}
    mariadb_database.execute(
        "CREATE TABLE t (id int, b binary(16), n bigint, f double, i int, w double, t time(6));"
        "INSERT INTO t (id) VALUES (1)"
    )
    overrides = {name: override(word) for name, word in asked.items()}
    with global_settings(mariadb_database, sql_mode=mode):
        read = read_all(mariadb_database, table="t", overrides=overrides)
    assert read.drop_columns("id").to_pylist() == [dict.fromkeys(asked)]


def test_settings_of_the_server_change_nothing(mysql_family: Database) -> None:
    """Limits, zone, timeouts and character sets that are set for everyone change neither rows nor values."""
    make_values(mysql_family)
    with global_settings(
        mysql_family,
        sql_select_limit=1,
        sql_auto_is_null=1,
        time_zone="+11:00",
        net_write_timeout=1,
        wait_timeout=2,
        character_set_server="latin1",
        autocommit=0,
        div_precision_increment=0,
    ):
        check_values(mysql_family)
        with source_of(mysql_family).session() as session:
            relation = session.describe(Request("t"))
            wait_until_idlers_are_ended(mysql_family)
            assert session.probe(relation, None).rows == 3


def test_a_session_cannot_write(mysql_family: Database) -> None:
    """A function that writes is refused by the server, in planning or in reading."""
    mysql_family.server.execute("SET GLOBAL log_bin_trust_function_creators = ON")
    mysql_family.execute(
        "CREATE TABLE t (id int); CREATE FUNCTION f() RETURNS int MODIFIES SQL DATA BEGIN"
        " INSERT INTO t VALUES (1); RETURN 1; END"
    )
    with pytest.raises(SourceError, match="READ ONLY transaction") as caught:
        read_all(mysql_family, query="SELECT f() AS x")
    assert "take what writes out" in (caught.value.hint or "")
    assert mysql_family.fetch("SELECT COUNT(*) FROM t") == [(0,)]


def test_a_scan_that_is_left_early_ends_the_query_and_not_the_snapshot(mysql_family: Database) -> None:
    """After leaving a scan at once, in the middle or at an error, the same moment can be read again."""
    fill(mysql_family)
    mysql_family.execute(
        "SET sql_mode = ''; CREATE TABLE bad (d datetime); INSERT INTO bad VALUES ('0000-00-00')"
    )
    with source_of(mysql_family).session() as session:
        relation = session.describe(Request("t"))
        long = session.describe(Request(query=LONG))
        bad = session.describe(Request(query=f"SELECT bad.d, x.s FROM bad, ({LONG}) AS x"))
        mysql_family.execute("DELETE FROM t")
        for _ in range(3):
            with session.read(long, long.columns, None, EVERYTHING):
                pass
            with session.read(long, long.columns, None, EVERYTHING) as batches:
                next(iter(batches))
            with pytest.raises(ColumnError), session.read(bad, bad.columns, None, EVERYTHING) as batches:
                for _ in batches:
                    pass
            assert session.probe(relation, None).rows == 300
            assert read_scan(session, relation).num_rows == 300
    with source_of(mysql_family).session() as session:
        unread = session.read(long, long.columns, None, EVERYTHING).__enter__()
        next(iter(unread))
    wait_until_alone(mysql_family)


def test_one_thing_at_a_time(mysql_family: Database) -> None:
    """Asking something while a scan is open is a mistake that shows, and no wait for ever."""
    with source_of(mysql_family).session() as session:
        long = session.describe(Request(query=LONG))
        with session.read(long, long.columns, None, EVERYTHING) as batches:
            next(iter(batches))
            with pytest.raises(RuntimeError, match="still reading"):
                session.probe(long, None)
            with pytest.raises(RuntimeError, match="counted only once"):
                _ = batches.server_rows


def test_a_long_scan_is_read_in_bounded_batches(mysql_family: Database) -> None:
    """Batches of large rows stay small, and the server's count is the number of rows."""
    with source_of(mysql_family).session() as session:
        long = session.describe(Request(query=LONG))
        with session.read(long, long.columns, None, EVERYTHING) as batches:
            sizes = [batch.nbytes for batch in batches]
            assert batches.server_rows == 1000
    assert sum(sizes) > 60_000_000
    assert max(sizes) < 8 * 1024**2


def test_engine_and_label(mariadb_database: Database) -> None:
    """The engine is the server's own word, and the label holds no secret."""
    source = source_of(mariadb_database)
    assert mariadb_database.name in source.label
    assert mariadb_database.server.password not in source.label
    with source.session() as session:
        assert session.engine == "mariadb"


def test_engine_of_mysql(mysql_database: Database) -> None:
    """MySQL is not taken for MariaDB."""
    with source_of(mysql_database).session() as session:
        assert session.engine == "mysql"
