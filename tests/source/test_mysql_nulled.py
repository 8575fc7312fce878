"""Dates of MySQL and MariaDB that no calendar has, read as NULL with a marker beside them."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from rivet.plan.calendar import Granularity
from rivet.plan.scans import Reach, Scan
from rivet.plan.windows import Axis
from rivet.source.protocol import Session
from rivet.source.relation import Relation, Request
from tests.servers.database import Database
from tests.source.reading import EVERYTHING, column_of, in_session
from tests.source.server_settings import global_settings

REAL = ["0001-01-01", "2023-04-30", "2023-05-01", "9999-12-31"]
# As text that every mode takes; those in the middle sort among real days.
UNREAL = ["0000-00-00", "2023-05-00", "2023-00-10", "2023-00-00", "2023-02-31", "0000-01-01", "0000-12-31"]

Row = tuple[int, Any, bool]


def fill(database: Database, declaration: str) -> int:
    """Make a table of days and moments, real ones first, and give its rows."""
    database.execute(
        "SET sql_mode = 'ALLOW_INVALID_DATES';"
        f"CREATE TABLE t (id int PRIMARY KEY, d date {declaration}, dt datetime(6) {declaration},"
        f" ts timestamp(6) {declaration} DEFAULT '2023-01-01 00:00:00', note longtext, KEY (d));"
        + "".join(
            f"INSERT INTO t VALUES ({i}, '{day}', '{day} 23:59:59.5', '{ts}', NULL);"
            for i, (day, ts) in enumerate(
                [*((day, "2023-01-01 00:00:00") for day in REAL), *((day, 0) for day in UNREAL)]
            )
        )
    )
    if declaration == "NULL":
        database.execute("INSERT INTO t VALUES (50, NULL, NULL, NULL, NULL)")
    return len(REAL) + len(UNREAL) + (declaration == "NULL")


def read_nulled(
    session: Session, relation: Relation, columns: list[str], order: str | None, scan: Scan = EVERYTHING
) -> dict[str, list[Row]]:
    """Read a scan, and give for each nulled column its rows as id, value and marker."""
    kept = [c for c in relation.columns if c.name in columns]
    partition = column_of(relation, order) if order else None
    rows: dict[str, list[Row]] = {name: [] for name in relation.nulled}
    with session.read(relation, kept, partition, scan) as batches:
        for batch in batches:
            names = batch.schema.names
            assert names == [*columns, *(name for name in columns if name in relation.nulled)]
            ids = batch.column(names.index("id")).to_pylist()
            for place, name in enumerate(names[len(columns) :], len(columns)):
                values, markers = batch.column(names.index(name)), batch.column(place)
                rows[name] += zip(ids, values.to_pylist(), markers.to_pylist(), strict=True)
    return rows


@pytest.mark.parametrize("mode", ["", "TRADITIONAL", "ALLOW_INVALID_DATES"])
@pytest.mark.parametrize("declaration", ["NULL", "NOT NULL"])
def test_unreal_days_are_null_with_a_marker(mysql_family: Database, declaration: str, mode: str) -> None:
    """Each value without a day is NULL and marked, each NULL is not, beside long columns and without."""
    fill(mysql_family, declaration)
    wanted_days = [(i, dt.date.fromisoformat(day), False) for i, day in enumerate(REAL)]
    unreal = [(i + len(REAL), None, True) for i in range(len(UNREAL))]
    null = [(50, None, False)] if declaration == "NULL" else []

    def ask(session: Session) -> None:
        relation = session.describe(Request("t"))
        nulled = replace(relation, nulled=frozenset({"d", "dt", "ts"}))
        for columns in (["id", "d", "dt", "ts"], ["id", "d", "dt", "ts", "note"]):
            read = read_nulled(session, nulled, columns, None)
            assert sorted(read["d"]) == wanted_days + unreal + null
            assert [(i, v and v.date(), m) for i, v, m in sorted(read["dt"])] == wanted_days + unreal + null
            assert [(i, v is None, m) for i, v, m in sorted(read["ts"])] == [
                (i, m or i == 50, m) for i, _, m in wanted_days + unreal + null
            ]
        some = replace(relation, nulled=frozenset({"d"}))
        assert sorted(read_nulled(session, some, ["id", "d"], None)["d"]) == wanted_days + unreal + null

    with global_settings(mysql_family, sql_mode=mode):
        in_session(mysql_family, ask)


@pytest.mark.parametrize("name", ["d", "dt"])
@pytest.mark.parametrize("declaration", ["NULL", "NOT NULL"])
def test_unreal_days_stand_with_the_null_rows(mysql_family: Database, declaration: str, name: str) -> None:
    """As partition column, they come where NULL comes, in no range, and in the scan of NULL rows."""
    total = fill(mysql_family, declaration)

    def ask(session: Session) -> None:
        relation = replace(session.describe(Request("t")), nulled=frozenset({name}))
        column = column_of(relation, name)
        rows = read_nulled(session, relation, ["id", name], name)[name]
        assert [i for i, value, _ in rows if value is not None] == list(range(len(REAL)))
        nothing = [value is None for _, value, _ in rows]
        assert nothing in (sorted(nothing), sorted(nothing, reverse=True))
        read = 0
        for granularity in Granularity:
            counts = session.count_windows(relation, column, Axis(column.type.kind, granularity))
            assert sum(c.rows for c in counts) == len(REAL)
        for count in session.count_windows(relation, column, Axis(column.type.kind, Granularity.YEAR)):
            scan = Scan(Reach.RANGE, count.start, count.end)
            inside = read_nulled(session, relation, ["id", name], name, scan)[name]
            assert [m for _, _, m in inside] == [False] * count.rows
            read += len(inside)
        outside = read_nulled(session, relation, ["id", name], name, Scan(Reach.NULLS))[name]
        assert read + len(outside) == total
        assert sum(m for _, _, m in outside) == len(UNREAL)
        probe = session.probe(relation, column)
        assert (probe.rows, probe.null_rows, probe.unrepresentable_rows) == (
            total, int(declaration == "NULL"), len(UNREAL),
        )  # fmt: skip
        assert dict(probe.unrepresentable) == {"d": len(UNREAL), "dt": len(UNREAL), "ts": len(UNREAL)}

    in_session(mysql_family, ask)


def test_a_table_of_unreal_days_alone(mysql_family: Database) -> None:
    """Where no row has a day, there is neither least nor greatest, and yet every row is read."""
    mysql_family.execute(
        "SET sql_mode = ''; CREATE TABLE t (id int, d date NOT NULL); INSERT INTO t VALUES (1, 0), (2, 0)"
    )

    def ask(session: Session) -> None:
        relation = replace(session.describe(Request("t")), nulled=frozenset({"d"}))
        probe = session.probe(relation, column_of(relation, "d"))
        assert (probe.rows, probe.null_rows, probe.unrepresentable_rows) == (2, 0, 2)
        assert probe.span is None
        assert read_nulled(session, relation, ["id", "d"], "d")["d"] == [(1, None, True), (2, None, True)]

    in_session(mysql_family, ask)


def test_zero_dates_through_a_query_and_a_join(mysql_family: Database) -> None:
    """A NULL that a LEFT JOIN makes of a NOT NULL column is NULL, a zero date beside it is not."""
    mysql_family.execute(
        "SET sql_mode = ''; CREATE TABLE a (id int); CREATE TABLE b (id int, d datetime NOT NULL);"
        "INSERT INTO a VALUES (1), (2), (3); INSERT INTO b VALUES (1, 0), (2, '2023-01-01')"
    )
    query = "SELECT a.id, b.d FROM a LEFT JOIN b ON a.id = b.id"

    def ask(session: Session) -> None:
        relation = replace(session.describe(Request(query=query)), nulled=frozenset({"d"}))
        probe = session.probe(relation, column_of(relation, "d"))
        assert (probe.rows, probe.null_rows, probe.unrepresentable_rows) == (3, 1, 1)
        assert sorted(read_nulled(session, relation, ["id", "d"], "d")["d"]) == [
            (1, None, True), (2, dt.datetime(2023, 1, 1), False), (3, None, False),
        ]  # fmt: skip
        assert len(read_nulled(session, relation, ["id", "d"], "d", Scan(Reach.NULLS))["d"]) == 2

    in_session(mysql_family, ask)
