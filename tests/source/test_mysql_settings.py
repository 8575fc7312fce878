"""What the server's own settings may not change: columns, windows and rows of MySQL and MariaDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import pytest

from rivet.errors import ColumnError
from rivet.plan.calendar import Granularity
from rivet.plan.scans import Reach, Scan
from rivet.plan.windows import Axis
from rivet.source.protocol import Session
from rivet.source.relation import Request
from tests.servers.database import Database
from tests.source.reading import column_of, in_session, read_all, read_scan, source_of
from tests.source.server_settings import global_settings

TABLE = """
CREATE TABLE t (id int PRIMARY KEY, c char(9), l varchar(9) CHARACTER SET latin1, b varbinary(9),
 e enum('','x'),
 u bigint unsigned, n decimal(20,6), f float, x double, bits bit(9), d date NOT NULL, dt datetime(6) NULL,
 ts timestamp(3) NULL, tm time(2), note text);
INSERT INTO t VALUES
 (1, 'a', 'é', X'ff14', 'x', 18446744073709551615, 0.5, 0.1, 1e22, 5, '2023-01-01', '2023-01-01 12:00:00.5',
  '2023-06-01 12:00:00', '-00:30:00', ''),
 (2, '', '', '', '', 0, -1, -0.5, 0.1, 0, '9999-12-31', '0001-01-01 00:00:00', '2038-01-01 00:00:00',
  '838:59:59', X'4e554c4c5c0a2c2022'),
 (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2023-01-01', NULL, NULL, NULL, NULL);
"""
QUERY = (
    "SELECT COUNT(*) AS n, AVG(t.id) / 3 AS third, GROUP_CONCAT(REPEAT(t.id, 900)) AS ids, WEEK(t.d) AS week,"
    " DATE_FORMAT(t.d, '%W %M') AS day, MAX(t.c) AS c, t.d AS d FROM t JOIN t AS o ON o.id > 0"
    " GROUP BY t.d, WEEK(t.d), DATE_FORMAT(t.d, '%W %M')"
)
EVERYWHERE: list[dict[str, Any]] = [
    *(
        {"sql_mode": mode}
        for mode in ("", "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "PIPES_AS_CONCAT", "TRADITIONAL")
    ),
    {"sql_mode": "PAD_CHAR_TO_FULL_LENGTH,STRICT_TRANS_TABLES,NO_ZERO_DATE,HIGH_NOT_PRECEDENCE"},
    {"sql_select_limit": 1, "sql_safe_updates": 1, "max_join_size": 1, "sql_big_selects": 0},
    {
        "group_concat_max_len": 4,
        "div_precision_increment": 0,
        "default_week_format": 3,
        "lc_time_names": "de_DE",
    },
    {"time_zone": "-05:30", "init_connect": "SET NAMES latin1", "autocommit": 0, "completion_type": 1},
    {
        "character_set_server": "utf8mb3",
        "collation_connection": "latin1_bin",
        "character_set_results": "cp1251",
    },
]
MARIADB_ONLY: list[dict[str, Any]] = [
    {"sql_mode": "ORACLE,EMPTY_STRING_IS_NULL"},
    {"old_mode": "UTF8_IS_UTF8MB3,ZERO_DATE_TIME_CAST", "sql_mode": "TIME_ROUND_FRACTIONAL"},
]


@contextmanager
def isolation(database: Database, level: str) -> Iterator[None]:
    """Set the isolation that new connections have."""
    database.server.execute(f"SET GLOBAL TRANSACTION ISOLATION LEVEL {level}")
    try:
        yield
    finally:
        database.server.execute("SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ")


def everything(session: Session) -> list[Any]:
    """Give columns, windows and rows of the table and of the query."""
    found: list[Any] = []
    for request in (Request("t"), Request(query=QUERY)):
        relation = session.describe(request)
        column = column_of(relation, "d")
        windows = session.count_windows(relation, column, Axis(column.type.kind, Granularity.MONTH))
        probe = session.probe(relation, column)
        found += [relation.columns, windows, probe, read_scan(session, relation, column).to_pylist()]
    return found


def test_no_setting_changes_what_is_exported(mysql_family: Database) -> None:
    """Whatever is set for everyone, tables and queries have the same columns, windows and rows."""
    mysql_family.execute(TABLE)
    plain = in_session(mysql_family, everything)
    rows: list[dict[str, Any]] = plain[3]
    assert [row["c"] for row in sorted(rows, key=lambda row: row["id"])] == ["a", "", None]
    assert {len(row["ids"]) for row in plain[7]} == {6 * 900 + 5, 3 * 900 + 2}
    is_mariadb = "mariadb" in str(mysql_family.fetch("SELECT VERSION()")).lower()
    for settings in EVERYWHERE + MARIADB_ONLY * is_mariadb:
        with global_settings(mysql_family, **settings):
            assert in_session(mysql_family, everything) == plain, settings
    for level in ("READ UNCOMMITTED", "READ COMMITTED", "SERIALIZABLE"):
        with isolation(mysql_family, level):
            assert in_session(mysql_family, everything) == plain, level


def test_rows_longer_than_a_packet(mysql_family: Database) -> None:
    """A row that is longer as text than the server's max_allowed_packet arrives whole, as do long values."""
    columns = ", ".join(f"c{i} varchar(3900) CHARACTER SET latin1" for i in range(16))
    texts, empty = ", REPEAT(_latin1 X'e9', 3900)" * 16, ", ''" * 18
    mysql_family.execute(
        f"CREATE TABLE t (id int, {columns}, l longtext CHARACTER SET latin1, b longblob);"
        f"INSERT INTO t VALUES (1{texts}, REPEAT(_latin1 X'14', 200000), REPEAT(X'ff', 300000)),"
        f" (2{', NULL' * 18}), (3{empty})"
    )
    with global_settings(mysql_family, max_allowed_packet=65_536):
        for request in ({"table": "t"}, {"query": "SELECT * FROM t"}):
            rows = sorted(read_all(mysql_family, **request).to_pylist(), key=lambda row: row["id"])  # type: ignore[arg-type]
            assert [tuple(row.values())[1:] for row in rows] == [
                ("é" * 3900,) * 16 + ("\x14" * 200_000, b"\xff" * 300_000),
                (None,) * 18,
                ("",) * 17 + (b"",),
            ]


@pytest.mark.parametrize("value", ["REPEAT('x', 2000000)", "GROUP_CONCAT(REPEAT('x', 60000))"])
def test_a_value_that_the_server_cuts_is_refused(mysql_family: Database, value: str) -> None:
    """What a function makes NULL or shorter since it is longer than a packet stops the export."""
    mysql_family.execute("CREATE TABLE t (id int); INSERT INTO t VALUES (1), (2), (3)")
    with (
        global_settings(mysql_family, max_allowed_packet=65_536),
        pytest.raises(ColumnError, match="less than a whole value"),
    ):
        read_all(mysql_family, query=f"SELECT {value} AS long_one FROM t GROUP BY 1 = 1")


def test_lost_text_behind_many_warnings(mysql_family: Database) -> None:
    """A text that UTF-8 cannot tell is found where the server has more warnings than it keeps."""
    mysql_family.execute(
        "CREATE TABLE t (i int, c varchar(9) CHARACTER SET cp1251);"
        "INSERT INTO t WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 900)"
        " SELECT i, 'ok' FROM n; INSERT INTO t VALUES (0, _cp1251 X'98')"
    )
    query = "SELECT t.c, 1 / (o.i * 0) AS z FROM t JOIN t AS o ON o.i <= 100 ORDER BY t.i DESC"
    with (
        global_settings(mysql_family, sql_mode="ERROR_FOR_DIVISION_BY_ZERO"),
        pytest.raises(ColumnError, match=r"column 'c' .*UTF-8"),
    ):
        read_all(mysql_family, query=query)


NAMES = [
    *("a.b", "`", "``x`", "100%", "%s %(x)s", "a b", '"', "'", "x:y", "#c", "--", "/*!", "ünï→ж", "select"),
    *("\\", "{v}", "{0}", "$", "1", "?"),
]


def quote(name: str) -> str:
    """Write a name in backticks."""
    return "`" + name.replace("`", "``") + "`"


@pytest.mark.parametrize("long", ["x" * 64, "é" * 40])
def test_any_name_is_a_name(mysql_family: Database, long: str) -> None:
    """Every legal name works as database, table, column and partition column, long ones among them."""
    server = mysql_family.server
    columns = [*NAMES, "`" * 64, "é" * 64]
    declared = ", ".join(f"{quote(name)} date" for name in columns)
    values = ", ".join("'2023-01-02'" for _ in columns)
    database = quote(f"{mysql_family.name}.a`b`` 100%s {{x}} 'é\"#")
    with ExitStack() as stack:
        server.execute(f"CREATE DATABASE {database}; GRANT ALL ON {database}.* TO {server.user}")
        stack.callback(server.execute, f"DROP DATABASE {database}")
        for name in [*NAMES, long]:
            server.execute(
                f"CREATE TABLE {database}.{quote(name)} ({declared});"
                f"INSERT INTO {database}.{quote(name)} VALUES ({values})"
            )
        session = stack.enter_context(source_of(mysql_family).session())
        for name in [*NAMES, long]:
            relation = session.describe(Request(f"{database}.{quote(name)}"))
            assert [c.name for c in relation.columns] == columns
        relation = session.describe(Request(f"{database}.{quote(long)}"))
        for column in relation.columns:
            nulled = replace(relation, nulled=frozenset({column.name}))
            assert session.probe(relation, column).rows == 1
            axis = Axis(column.type.kind, Granularity.DAY)
            [window] = session.count_windows(relation, column, axis)
            scan = Scan(Reach.RANGE, window.start, window.end)
            assert read_scan(session, relation, column, scan).num_rows == 1
            assert read_scan(session, nulled, column, scan).num_rows == 1


def test_invisible_columns_are_told(mysql_family: Database) -> None:
    """A column that SELECT * leaves out is named in a warning, and a query that names it exports it."""
    try:
        mysql_family.execute(
            "CREATE TABLE t (id int, ghost int INVISIBLE DEFAULT 3, g int AS (id * 2) VIRTUAL)"
        )
    except Exception as exc:  # noqa: BLE001  MySQL knows them from 8.0.23 on
        pytest.skip(str(exc))
    mysql_family.execute("INSERT INTO t (id) VALUES (1)")
    relation = in_session(mysql_family, lambda s: s.describe(Request("t")))
    assert [c.name for c in relation.columns] == ["id", "g"]
    assert len(relation.warnings) == 1
    assert "'ghost'" in relation.warnings[0]
    read = read_all(mysql_family, query="SELECT id, ghost, g FROM t").to_pylist()
    assert read == [{"id": 1, "ghost": 3, "g": 2}]
    plain = in_session(mysql_family, lambda s: s.describe(Request(query="SELECT * FROM t")))
    assert plain.warnings == ()
