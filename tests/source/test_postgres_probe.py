"""Probing, counting and reading by windows on PostgreSQL, to the microsecond and the ends of the calendar."""

from __future__ import annotations

import datetime as dt

import pytest

from rivet.plan.calendar import MICROSECONDS_PER_DAY, Granularity, days_from_civil
from rivet.plan.probe import Probe
from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import Kind
from rivet.plan.windows import Axis
from rivet.source.relation import Request
from tests.servers.database import Database
from tests.source.reading import column_of, read_scan, source_of

FIRST = days_from_civil(1, 1)
LAST = days_from_civil(9999, 12, 31)
DAY = MICROSECONDS_PER_DAY
UNIT = {"date": 1, "timestamp": DAY, "timestamptz": DAY}


@pytest.mark.parametrize("sql_type", ["date", "timestamp", "timestamptz"])
def test_a_probe_counts_everything_once(postgres_database: Database, sql_type: str) -> None:
    """Values, NULLs and what fits no calendar add up to the rows; the first and last day are ordinary."""
    postgres_database.execute(
        f"CREATE TABLE t (v {sql_type}); INSERT INTO t VALUES (NULL), (NULL), ('infinity'), ('-infinity'),"
        " ('0044-03-15 BC'), ('0001-12-31 BC'), ('10000-01-01'), ('0001-01-01'), ('9999-12-31')"
    )
    with source_of(postgres_database).session() as session:
        relation = session.describe(Request("t"))
        column = column_of(relation, "v")

        assert session.probe(relation, None) == Probe(rows=9, unrepresentable=(("v", 5),))
        assert session.probe(relation, column) == Probe(
            rows=9,
            null_rows=2,
            unrepresentable_rows=5,
            minimum=FIRST * UNIT[sql_type],
            maximum=LAST * UNIT[sql_type],
            unrepresentable=(("v", 5),),
        )
        counts = session.count_windows(relation, column, Axis(column.type.kind, Granularity.YEAR))
        assert [(c.label, c.rows) for c in counts] == [("0001", 1), ("9999", 1)]
        assert counts[-1].end == days_from_civil(10_000, 1) * UNIT[sql_type]


def test_nothing_and_only_nulls(postgres_database: Database) -> None:
    """An empty table and one of NULLs have no span; empty is decided by the count."""
    postgres_database.execute("CREATE TABLE t (v timestamp)")
    with source_of(postgres_database).session() as session:
        relation = session.describe(Request("t"))
        column = column_of(relation, "v")
        assert session.probe(relation, column) == Probe(rows=0)
        assert session.count_windows(relation, column, Axis(Kind.TIMESTAMP, Granularity.DAY)) == []
        assert read_scan(session, relation, column).num_rows == 0
    postgres_database.execute("INSERT INTO t SELECT NULL FROM generate_series(1, 3)")
    with source_of(postgres_database).session() as session:
        assert session.probe(relation, column) == Probe(rows=3, null_rows=3)
        assert read_scan(session, relation, column).column("v").to_pylist() == [None] * 3


def test_edges_to_the_microsecond(postgres_database: Database) -> None:
    """Minimum and maximum are exact, and a half-open range takes its start and leaves its end."""
    postgres_database.execute(
        "CREATE TABLE t (i int PRIMARY KEY, v timestamp(6)); INSERT INTO t VALUES"
        " (1, '2023-12-31 23:59:59.999999'), (2, '2024-01-01 00:00:00'), (3, '2024-01-01 23:59:59.999999'),"
        " (4, '2024-01-02 00:00:00'), (5, '2024-02-29 12:00:00.000001'), (6, NULL)"
    )
    day = days_from_civil(2024, 1, 1) * DAY
    with source_of(postgres_database).session() as session:
        relation = session.describe(Request("t"))
        column = column_of(relation, "v")
        probe = session.probe(relation, column)
        assert probe.span == (day - 1, days_from_civil(2024, 2, 29) * DAY + DAY // 2 + 1)
        for scan, expected in [
            (Scan(Reach.RANGE, day, day + DAY), [2, 3]),
            (Scan(Reach.RANGE, day - 1, day), [1]),
            (Scan(Reach.NULLS), [6]),
            (Scan(Reach.EVERYTHING), [1, 2, 3, 4, 5, 6]),
        ]:
            assert read_scan(session, relation, column, scan).column("i").to_pylist() == expected
        counts = session.count_windows(relation, column, Axis(Kind.TIMESTAMP, Granularity.MONTH))
        assert [(c.label, c.rows) for c in counts] == [("2023-12", 1), ("2024-01", 3), ("2024-02", 1)]


def test_the_last_window_ends_beyond_the_calendar(postgres_database: Database) -> None:
    """The window of 9999-12-31 ends in year 10000, and its rows are read, for every type."""
    postgres_database.execute(
        "CREATE TABLE t AS SELECT '9999-12-31 23:59:59.999999'::timestamp AS n,"
        " '9999-12-31 23:59:59.999999Z'::timestamptz AS z, '9999-12-31'::date AS d"
    )
    with source_of(postgres_database).session() as session:
        relation = session.describe(Request("t"))
        for column in relation.columns:
            axis = Axis(column.type.kind, Granularity.DAY)
            maximum = session.probe(relation, column).maximum
            assert maximum is not None
            window = axis.window_of(maximum)
            assert read_scan(session, relation, column, Scan(Reach.RANGE, window.start, window.end)).num_rows


def test_instants_fall_into_days_of_utc(postgres_database: Database) -> None:
    """An instant's day is that of UTC, whatever zone server and role prefer."""
    postgres_database.execute(
        f"ALTER DATABASE {postgres_database.name} SET timezone = 'Asia/Shanghai';"
        "CREATE TABLE ev AS SELECT '2020-05-05 00:00+03'::timestamptz AS ts"
    )
    with source_of(postgres_database).session() as session:
        relation = session.describe(Request("ev"))
        column = column_of(relation, "ts")
        counts = session.count_windows(relation, column, Axis(Kind.INSTANT, Granularity.DAY))
        assert [(c.label, c.rows) for c in counts] == [("2020-05-04", 1)]
        (value,) = read_scan(session, relation, column).column("ts").to_pylist()
        assert value == dt.datetime(2020, 5, 4, 21, tzinfo=dt.UTC)


def test_rows_come_in_order_with_ties_by_the_key(postgres_database: Database) -> None:
    """Equal dates are ordered by the primary key, so that two runs give the same rows in the same places."""
    postgres_database.execute(
        "CREATE TABLE t (k text, j int, d date, PRIMARY KEY (j, k));"
        " INSERT INTO t SELECT (i * 7 % 5)::text, i * 7919 % 1000, '2023-01-01'::date + i % 3"
        " FROM generate_series(1, 1000) i"
    )
    with source_of(postgres_database).session() as session:
        relation = session.describe(Request("t"))
        rows = read_scan(session, relation, column_of(relation, "d")).to_pylist()
    assert rows == sorted(rows, key=lambda r: (r["d"], r["j"], r["k"]))


def test_sort_estimates(postgres_database: Database) -> None:
    """Without an index the whole rows are sorted; with one, a range is not; nothing is without a column."""
    postgres_database.execute(
        "CREATE TABLE t AS SELECT i, '2023-01-01'::timestamp + i * interval '1 minute' AS v,"
        " repeat('x', 100) AS s FROM generate_series(1, 20000) i; ANALYZE t"
    )
    start = days_from_civil(2023, 1, 3) * DAY
    one_day = Scan(Reach.RANGE, start, start + DAY)
    everything = Scan(Reach.EVERYTHING)
    with source_of(postgres_database).session() as session:
        relation = session.describe(Request("t"))
        column = column_of(relation, "v")
        assert relation.estimated_rows == 20_000
        assert 20_000 * 100 < session.sort_bytes(relation, column, everything) < 20_000 * 200
        assert session.sort_bytes(relation, column, one_day) < 2_000 * 200
        assert session.sort_bytes(relation, None, everything) == 0
    postgres_database.execute("CREATE INDEX ON t (v); ANALYZE t")
    with source_of(postgres_database).session() as session:
        relation = session.describe(Request("t"))
        assert relation.indexed == {"v"}
        assert session.sort_bytes(relation, column, one_day) == 0


def test_a_query_is_probed_and_read_like_a_table(postgres_database: Database) -> None:
    """A query with a comment in its last line is wrapped for probing, counting and reading alike."""
    postgres_database.execute(
        "CREATE TABLE a AS SELECT i AS id, '2023-01-01'::date + i AS d FROM generate_series(0, 9) i"
    )
    query = "SELECT a.id, b.d, 'x%s' AS \"100%\" FROM a JOIN a b ON a.id = b.id + 1 -- joined"
    with source_of(postgres_database).session() as session:
        relation = session.describe(Request(query=query))
        column = column_of(relation, "d")
        first = days_from_civil(2023, 1, 1)
        assert session.probe(relation, column) == Probe(rows=9, minimum=first, maximum=first + 8)
        assert len(session.count_windows(relation, column, Axis(Kind.DATE, Granularity.DAY))) == 9
        table = read_scan(session, relation, column, Scan(Reach.RANGE, first, first + 2))
        assert table.column("id").to_pylist() == [1, 2]
        assert table.column("100%").to_pylist() == ["x%s", "x%s"]
