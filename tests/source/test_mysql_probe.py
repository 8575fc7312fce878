"""The account of MySQL and MariaDB: minimum, maximum, counts and windows, and ranges that add up to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from rivet.plan.calendar import MICROSECONDS_PER_DAY, Granularity, days_from_civil
from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import Kind
from rivet.plan.windows import Axis
from rivet.source.protocol import Probe, Session
from rivet.source.relation import Request
from tests.servers.database import Database
from tests.source.reading import EVERYTHING, column_of, in_session, read_scan

FIRST, LAST = days_from_civil(1, 1), days_from_civil(9999, 12, 31)
# As text that every mode of the server takes, with and without a place in the calendar.
DAYS = ["0001-01-01", "2023-01-10", "2024-02-29", "9999-12-31"]
NO_DAYS = ["0000-00-00", "2023-00-10", "2023-01-00", "2023-02-31", "0000-01-01", "0000-12-31"]


def probed(database: Database, column: str | None, *, nulled: bool = False, **request: str) -> Probe:
    """Probe a table `t`, or what is asked for; nulled: what fits no calendar in the column is NULL."""

    def ask(session: Session) -> Probe:
        relation = session.describe(Request(**(request or {"table": "t"})))  # type: ignore[arg-type]
        if nulled and column:
            relation = replace(relation, nulled=frozenset({column}))
        return session.probe(relation, column_of(relation, column) if column else None)

    return in_session(database, ask)


@pytest.mark.parametrize("declaration", ["NULL", "NOT NULL"])
def test_days_that_are_none_are_counted(mysql_family: Database, declaration: str) -> None:
    """Zero, part-zero and impossible days are neither NULL rows nor least nor greatest, however declared."""
    mysql_family.execute(
        "SET sql_mode = 'ALLOW_INVALID_DATES';"
        f"CREATE TABLE t (d date {declaration}, dt datetime(6) {declaration});"
        + "".join(f"INSERT INTO t VALUES ('{day}', '{day} 23:59:59.999999');" for day in DAYS + NO_DAYS)
    )
    nulls = 2 if declaration == "NULL" else 0
    if nulls:
        mysql_family.execute("INSERT INTO t VALUES (NULL, NULL), (NULL, NULL)")
    rows = len(DAYS + NO_DAYS) + nulls
    for mode in ("", "TRADITIONAL", "ALLOW_INVALID_DATES"):
        mysql_family.server.execute(f"SET GLOBAL sql_mode = '{mode}'")
        try:
            unfit = ("d", len(NO_DAYS)), ("dt", len(NO_DAYS))
            assert probed(mysql_family, None) == Probe(rows, unrepresentable=unfit)
            assert probed(mysql_family, "d") == Probe(rows, nulls, len(NO_DAYS), None, None, unfit)
            assert probed(mysql_family, "d", nulled=True) == Probe(
                rows, nulls, len(NO_DAYS), FIRST, LAST, unfit
            )
            end = MICROSECONDS_PER_DAY - 1
            assert probed(mysql_family, "dt", nulled=True) == Probe(
                rows,
                nulls,
                len(NO_DAYS),
                FIRST * MICROSECONDS_PER_DAY + end,
                LAST * MICROSECONDS_PER_DAY + end,
                unfit,
            )
        finally:
            mysql_family.server.execute("SET GLOBAL sql_mode = DEFAULT")

    def counts(session: Session) -> None:
        relation = session.describe(Request("t"))
        for name in ("d", "dt"):
            column = column_of(relation, name)
            windows = session.count_windows(relation, column, Axis(column.type.kind, Granularity.DAY))
            assert [w.label for w in windows] == DAYS
            nothing = read_scan(session, relation, column, Scan(Reach.NULLS))
            assert nothing.num_rows == nulls

    in_session(mysql_family, counts)


def test_instants_are_probed_in_utc(mysql_family: Database) -> None:
    """The least and the greatest TIMESTAMP are instants to the microsecond; a zero one fits no calendar."""
    mysql_family.execute(
        "SET sql_mode = '', time_zone = '+05:00'; CREATE TABLE t (ts timestamp(6) NULL);"
        "INSERT INTO t VALUES ('1970-01-01 05:00:01'), ('2038-01-19 08:14:07.999999'), (NULL), (0)"
    )
    last = (2**31 - 1) * 1_000_000 + 999_999
    assert probed(mysql_family, "ts", nulled=True) == Probe(4, 1, 1, 1_000_000, last, (("ts", 1),))


def test_without_a_column_rows_are_counted(mysql_family: Database) -> None:
    """A table, an empty table and a query are counted."""
    mysql_family.execute("CREATE TABLE t (id int, d date)")
    assert probed(mysql_family, None) == probed(mysql_family, "d") == Probe(0)
    mysql_family.execute("INSERT INTO t VALUES (1, NULL), (2, NULL)")
    assert probed(mysql_family, None) == Probe(2)
    assert probed(mysql_family, "d") == Probe(2, null_rows=2)
    assert probed(mysql_family, "d", query="SELECT * FROM t WHERE id > 1") == Probe(1, null_rows=1)


EDGES = [
    *("1969-12-31 23:59:59.999999", "1970-01-01 00:00:00.000000", "2023-02-28 23:59:59.999999"),
    *("2023-03-01 00:00:00.000000", "2023-12-31 23:59:59.999999", "2024-01-01 00:00:00.000000"),
    *("2024-02-29 12:00:00.000000", "9999-12-31 23:59:59.999999", "0001-01-01 00:00:00.000000"),
]


@pytest.mark.parametrize("granularity", list(Granularity))
@pytest.mark.parametrize("declaration", ["date", "datetime(6)", "datetime"])
def test_windows_and_ranges_add_up(
    mysql_family: Database, granularity: Granularity, declaration: str
) -> None:
    """Every row lies in exactly one window, and the scan of a window reads the rows that it counted."""
    values = [e[:10] if declaration == "date" else e[:19] if declaration == "datetime" else e for e in EDGES]
    mysql_family.execute(
        f"CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY, d {declaration}, KEY (d));"
        f"INSERT INTO t (d) VALUES {', '.join(f'({v!r})' for v in values)}, (NULL)"
    )
    width = {Granularity.DAY: 10, Granularity.MONTH: 7, Granularity.YEAR: 4}[granularity]

    def check(session: Session) -> None:
        relation = session.describe(Request("t"))
        column = column_of(relation, "d")
        counts = session.count_windows(relation, column, Axis(column.type.kind, granularity))
        assert [c.label for c in counts] == sorted({v[:width] for v in values})
        assert [c.rows for c in counts] == [
            sum(v.startswith(label) for v in values) for label in (c.label for c in counts)
        ]
        read = []
        for count in counts:
            table = read_scan(session, relation, column, Scan(Reach.RANGE, count.start, count.end))
            assert table.num_rows == count.rows
            axis_values = table["d"].cast("int32" if column.type.kind is Kind.DATE else "int64").to_pylist()
            assert axis_values == sorted(axis_values)
            assert all(count.start <= v < count.end for v in axis_values)
            read += table["id"].to_pylist()
        read += read_scan(session, relation, column, Scan(Reach.NULLS))["id"].to_pylist()
        assert sorted(read) == list(range(1, len(values) + 2))

    in_session(mysql_family, check)


def test_ranges_of_instants(mysql_family: Database) -> None:
    """Windows at both ends of what a TIMESTAMP can hold are read whole."""
    mysql_family.execute(
        "SET time_zone = '+00:00'; CREATE TABLE t (id int, ts timestamp(6) NULL, KEY (ts));"
        "INSERT INTO t VALUES (1, '1970-01-01 00:00:01'), (2, '1970-01-02 00:00:00'), "
        "(3, '2038-01-19 03:14:07.999999'), (4, NULL)"
    )

    def ids(granularity: Granularity) -> Callable[[Session], list[list[int]]]:
        def ask(session: Session) -> list[list[int]]:
            relation = session.describe(Request("t"))
            column = column_of(relation, "ts")
            return [
                read_scan(session, relation, column, Scan(Reach.RANGE, w.start, w.end))["id"].to_pylist()
                for w in session.count_windows(relation, column, Axis(Kind.INSTANT, granularity))
            ]

        return ask

    assert in_session(mysql_family, ids(Granularity.DAY)) == [[1], [2], [3]]
    assert in_session(mysql_family, ids(Granularity.YEAR)) == [[1, 2], [3]]


def test_rows_come_in_order_with_ties_by_the_key(mysql_family: Database) -> None:
    """Rows of one value come in the order of the primary key, NULL rows together at one end."""
    mysql_family.execute(
        "CREATE TABLE t (b int, a int, d date, PRIMARY KEY (a, b));"
        "INSERT INTO t VALUES (2, 1, '2023-01-02'), (1, 2, '2023-01-02'), (1, 1, '2023-01-02'), (9, 9, NULL),"
        " (0, 9, '2023-01-01'), (8, 9, NULL)"
    )

    def ask(session: Session) -> list[tuple[int, int]]:
        relation = session.describe(Request("t"))
        read = read_scan(session, relation, column_of(relation, "d"))
        return list(zip(read["a"].to_pylist(), read["b"].to_pylist(), strict=True))

    assert in_session(mysql_family, ask) == [(9, 8), (9, 9), (9, 0), (1, 1), (1, 2), (2, 1)]


def test_a_sort_is_estimated_by_the_planner(mysql_family: Database) -> None:
    """A scan of a column without an index sorts rows times their size; one that follows an index does not."""
    mysql_family.execute(
        "CREATE TABLE t (id int PRIMARY KEY, d date, e date, note varchar(200), KEY (d, id));"
        "CREATE TABLE digits (i int); INSERT INTO digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9);"
        "INSERT INTO t SELECT a.i + 10 * b.i + 100 * c.i, DATE '2023-01-01' + INTERVAL a.i DAY, '2023-01-01',"
        " REPEAT('x', 100) FROM digits a, digits b, digits c; ANALYZE TABLE t"
    )

    def ask(session: Session) -> None:
        relation = session.describe(Request("t"))
        assert 900 < (relation.estimated_rows or 0) < 1100
        d, e = column_of(relation, "d"), column_of(relation, "e")
        assert 100_000 < session.sort_bytes(relation, e, EVERYTHING) < 1_000_000
        day = days_from_civil(2023, 1, 1)
        assert session.sort_bytes(relation, d, Scan(Reach.RANGE, day, day + 1)) == 0
        assert session.sort_bytes(relation, None, EVERYTHING) == 0
        query = session.describe(Request(query="SELECT t.*, i FROM t JOIN digits ON t.id % 10 = i"))
        assert session.sort_bytes(query, column_of(query, "d"), EVERYTHING) > 100_000

    in_session(mysql_family, ask)
