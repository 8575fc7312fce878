"""Dates in SQLite: ISO text of every admitted form, in the order of time; all else is counted, never lost."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet.errors import ColumnError
from rivet.plan.calendar import Granularity
from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import Kind
from rivet.plan.windows import Axis
from rivet.source.protocol import Session
from rivet.source.relation import Request
from rivet.source.sqlite import iso
from tests.servers.sqlite import SqliteDatabase
from tests.source.reading import EVERYTHING, column_of, read_scan
from tests.source.sqlite_reading import in_session, probe_of, read_all

FORMS = {
    "2023-01-01": dt.datetime(2023, 1, 1),
    "2023-01-01 10:30": dt.datetime(2023, 1, 1, 10, 30),
    "2023-01-01T10:30": dt.datetime(2023, 1, 1, 10, 30),
    "2023-01-01 10:30:59": dt.datetime(2023, 1, 1, 10, 30, 59),
    "2023-01-01T10:30:59.5": dt.datetime(2023, 1, 1, 10, 30, 59, 500000),
    "2023-01-01 10:30:59.123456": dt.datetime(2023, 1, 1, 10, 30, 59, 123456),
    "2023-01-01 23:59:59.999999": dt.datetime(2023, 1, 1, 23, 59, 59, 999999),
    "2023-01-01 10:30:58.10000000": dt.datetime(2023, 1, 1, 10, 30, 58, 100000),
    "2024-02-29 00:00:00.000000": dt.datetime(2024, 2, 29),
    "0001-01-01": dt.datetime(1, 1, 1),
    "1582-10-10 00:00": dt.datetime(1582, 10, 10),
    "1969-12-31T23:59:59.999999": dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    "9999-12-31 23:59:59.999999": dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
}

# What looks like a date to some, as SQL.
NO_DATES = [
    "''",
    "'NULL'",
    "'2023-1-9'",
    "'2023-02-30'",
    "'2023-02-29 00:00:00'",
    "'2023-13-01'",
    "'2023-00-10'",
    "'0000-01-01'",
    "'-2023-01-01'",
    "'+10000-01-01'",
    "'2023-01-01 24:00:00'",
    "'2023-01-01 10'",
    "'2023-01-01 10:00:60'",
    "'2023-01-01 10:00:00.'",
    "'2023-01-01t10:00'",
    "' 2023-01-01'",
    "'2023-01-01 '",
    "'2023-01-01' || char(0)",
    "'2023-01-01 10:00:00.1' || char(0) || '1'",
    "'2023-01-01Z'",
    "'2023-01-01 10:00:00+24:00'",
    "'2023-01-01 10:00:00+02:60'",
    "'2023-01-01 10:00:00 +02:00'",
    "'now'",
    "'infinity'",
    "CAST('2023-01-01' AS BLOB)",
    "CAST('2023-01-01 10:30:00' AS BLOB)",
    "CAST(x'323032332D30312DC328' AS TEXT)",
    "printf('%01000000d-01-01', 1)",
    "'\uff12\uff10\uff12\uff13-01-01'",
]


def _microseconds(value: dt.datetime) -> int:
    return (value - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)


def _sql(texts: list[str]) -> str:
    return ", ".join(f"('{t}')" for t in texts)


def test_every_form(sqlite_database: SqliteDatabase) -> None:
    """All admitted forms arrive exactly, in the order of time, NULLs together at one end."""
    texts = list(FORMS)
    random.Random(3).shuffle(texts)
    sqlite_database.execute(f"CREATE TABLE t(d DATETIME); INSERT INTO t VALUES (NULL), {_sql(texts)}, (NULL)")

    read = read_all(sqlite_database, table="t", order="d")
    probe = probe_of(sqlite_database, "t", "d")

    assert read.column("d").to_pylist() == [None, None, *sorted(FORMS.values())]
    assert (probe.rows, probe.null_rows, probe.unrepresentable_rows) == (len(FORMS) + 2, 2, 0)
    assert probe.minimum == _microseconds(min(FORMS.values()))
    assert probe.maximum == _microseconds(max(FORMS.values()))


@pytest.mark.parametrize("declared", ["DATE", "DATETIME", "TIMESTAMPTZ"])
@pytest.mark.parametrize("value", NO_DATES)
def test_what_is_no_date(sqlite_database: SqliteDatabase, declared: str, value: str) -> None:
    """What fits no calendar is counted, is neither NULL nor minimum, and is not read unless as NULL."""
    time = " 00:00Z" if declared == "TIMESTAMPTZ" else ""
    rows = f"('2023-01-05{time}'), (NULL), ({value}), ('2023-01-09{time}')"
    sqlite_database.execute(f"CREATE TABLE t(d {declared}); INSERT INTO t VALUES {rows}")

    def ask(session: Session) -> None:
        relation = session.describe(Request("t"))
        column = relation.columns[0]
        axis = Axis(column.type.kind, Granularity.DAY)
        probe = session.probe(relation, column)
        assert (probe.rows, probe.null_rows, probe.unrepresentable_rows) == (4, 1, 1)
        assert probe.unrepresentable == session.probe(relation, None).unrepresentable == (("d", 1),)
        assert [axis.format(v)[:10] for v in probe.span or ()] == ["2023-01-05", "2023-01-09"]
        assert sum(c.rows for c in session.count_windows(relation, column, axis)) == 2
        with pytest.raises(ColumnError, match="'d': 1 of 4 values are unrepresentable"):
            session.read(relation, relation.columns, column, EVERYTHING)
        nulled = replace(relation, nulled=frozenset({"d"}))
        read = read_scan(session, nulled, column)
        assert [str(d)[:10] for d in read.column(0).to_pylist()] == [
            *["None", "None"],
            *["2023-01-05", "2023-01-09"],
        ]
        assert sorted(read.column(1).to_pylist()) == [False, False, False, True]
        assert sum(read.column(1).to_pylist()[:2]) == 1
        assert read_scan(session, nulled, column, Scan(Reach.NULLS)).num_rows == 2

    in_session(sqlite_database, ask)


@pytest.mark.parametrize(
    ("declared", "value", "counted", "mend"),
    [
        ("DATE", "'2023-01-01 00:00:00'", "1 with a time", '"d": timestamp'),
        ("DATE", "'2023-01-01T10:00Z'", "1 with a time", '"d": timestamp'),
        ("DATETIME", "'2023-01-01 10:00:00Z'", "1 with an offset from UTC", '"d": timestamptz'),
        ("DATETIME", "'2023-01-01 10:00+02:00'", "1 with an offset from UTC", '"d": timestamptz'),
        ("DATETIME", "'2023-01-01 10:00:00.1234567'", "1 finer than a microsecond", '"d": string'),
        ("TIMESTAMPTZ", "'2023-01-01 10:00:00'", "1 without an offset from UTC", '"d": timestamp}'),
        ("TIMESTAMPTZ", "'2023-01-01'", "1 without an offset from UTC", '"d": timestamp}'),
        ("TIMESTAMPTZ", "'2023-01-01T00:00:00.0000001Z'", "1 finer than a microsecond", '"d": string'),
        ("DATE", "1672531200", "1 integer", "unit: s"),
        ("DATE", "'20230109'", "1 integer", "unit: s"),
        ("DATETIME", "1672531200", "1 integer", "type: timestamp, unit: s"),
        ("TIMESTAMPTZ", "1672531200", "1 integer", "type: timestamptz, unit: s"),
        ("DATE", "1672531200", "1 integer", "(or timestamptz, for days in a zone)"),
        ("DATETIME", "2459945.5", "1 real", "Julian days"),
    ],
)
def test_a_moment_that_does_not_fit(
    sqlite_database: SqliteDatabase, declared: str, value: str, counted: str, mend: str
) -> None:
    """A moment of the calendar is neither cut nor made NULL because its column is of another kind."""
    sqlite_database.execute(
        f"CREATE TABLE t(d {declared}); INSERT INTO t VALUES ({value}), (NULL), ('garbage')"
    )

    with pytest.raises(
        ColumnError, match=f"'d' is {declared} and holds what does not fit .*: {counted}$"
    ) as e:
        probe_of(sqlite_database, "t", None)

    assert mend in str(e.value.hint)


@pytest.mark.parametrize("text", ["2023-01-01 10:00:00", "2023-01-01 10:00:00Z"])
def test_a_unit_is_not_offered_where_a_text_is_a_moment(sqlite_database: SqliteDatabase, text: str) -> None:
    """It would take none of the texts, whether they fit the column or not."""
    sqlite_database.execute(f"CREATE TABLE t(d DATETIME); INSERT INTO t VALUES (1672531200), ('{text}')")

    with pytest.raises(ColumnError, match="1 integer") as e:
        probe_of(sqlite_database, "t", None)

    assert "unit" not in str(e.value.hint)
    assert str(e.value.hint).startswith('write `columns: {"d": string}`')


def test_the_mend_of_several_columns_names_them_all(sqlite_database: SqliteDatabase) -> None:
    """One `columns` for all that do not fit, though the message counts the values of the first alone."""
    sqlite_database.execute(
        "CREATE TABLE t(iso DATETIME, a INT, b INT, c INT, n DATE, good INT);"
        "INSERT INTO t VALUES ('2023-01-01 10:00:00Z', 'x', 'x', 'x', 1672531200, 1)"
    )

    with pytest.raises(ColumnError, match=r"'iso' .*'a' .*'b' .*; and values of 2 more columns") as e:
        probe_of(sqlite_database, "t", None)

    hint = str(e.value.hint)
    assert '`columns: {"iso": timestamptz, "a": string, "b": string, "c": string, "n": string}`' in hint
    assert hint.endswith("{type: timestamp, unit: s} (or timestamptz, for days in a zone) fits 'n'")


def test_the_mend_of_a_great_many_columns_is_a_line(sqlite_database: SqliteDatabase) -> None:
    """It writes out the first ones, and says of how many more the same holds."""
    names = [f"column_{i}" for i in range(500)]
    sqlite_database.execute(
        f"CREATE TABLE t({', '.join(f'{name} DATE' for name in names)});"
        f"INSERT INTO t VALUES ({', '.join(['1672531200'] * 500)})"
    )

    with pytest.raises(ColumnError) as e:
        probe_of(sqlite_database, "t", None)

    hint = str(e.value.hint)
    assert '"column_19": string}`, and so on for 480 more columns, for all their values' in hint
    assert hint.endswith("fits " + ", ".join(map(repr, names[:20])) + " and 480 more columns")


@pytest.mark.parametrize("separators", [" ", "T", " T"])
@pytest.mark.parametrize("indexed", [False, True])
def test_ranges(sqlite_database: SqliteDatabase, separators: str, *, indexed: bool) -> None:
    """Half-open ranges hold exactly their rows, to the microsecond, with any separators and index."""
    days = [
        dt.datetime(2023, 1, 1),
        dt.datetime(2023, 1, 2),
        dt.datetime(2024, 2, 29),
        dt.datetime(9999, 12, 31),
    ]
    moments = [
        d + dt.timedelta(microseconds=m) for d in days for m in (0, 1, 500_000, 3_600_000_000, 86_399_999_999)
    ]
    chosen = random.Random(5)
    texts = [m.isoformat(chosen.choice(separators)) for m in moments]
    texts += [f"{m:%Y-%m-%d}" for m in days] + [f"{m:%Y-%m-%d}{chosen.choice(separators)}23:59" for m in days]
    chosen.shuffle(texts)
    sqlite_database.execute(f"CREATE TABLE t(d DATETIME); INSERT INTO t VALUES {_sql(texts)}, (NULL)")
    if indexed:
        sqlite_database.execute("CREATE INDEX i ON t(d)")
    values = sorted(dt.datetime.fromisoformat(t) for t in texts)
    edges = [_microseconds(m) for m in moments] + [_microseconds(days[-1]) + 86_400_000_000]

    def ask(session: Session) -> None:
        relation = session.describe(Request("t"))
        column = column_of(relation, "d")
        for start, end in zip(sorted(edges), sorted(edges)[1:], strict=False):
            read = read_scan(session, relation, column, Scan(Reach.RANGE, start, end))
            expected = [v for v in values if start <= _microseconds(v) < end]
            assert read.column("d").to_pylist() == expected
        assert read_scan(session, relation, column, Scan(Reach.NULLS)).column("d").to_pylist() == [None]
        assert read_scan(session, relation, column).column("d").to_pylist() == [None, *values]

    in_session(sqlite_database, ask)


@pytest.mark.parametrize("granularity", list(Granularity))
def test_windows(sqlite_database: SqliteDatabase, granularity: Granularity) -> None:
    """Windows that hold rows are counted, in order, the first and the last of the calendar too."""
    sqlite_database.execute(
        f"CREATE TABLE t(d DATETIME); INSERT INTO t VALUES (NULL), {_sql([*FORMS, '2023-03-31'])}"
    )

    def ask(session: Session) -> list[tuple[str, int]]:
        relation = session.describe(Request("t"))
        column = relation.columns[0]
        return [
            (c.label, c.rows)
            for c in session.count_windows(relation, column, Axis(Kind.TIMESTAMP, granularity))
        ]

    length = {"day": 10, "month": 7, "year": 4}[granularity.value]
    labels = [t[:length] for t in [*FORMS, "2023-03-31"]]
    assert in_session(sqlite_database, ask) == [(label, labels.count(label)) for label in sorted(set(labels))]


def test_index_serves(sqlite_database: SqliteDatabase) -> None:
    """Where text sorts as time does an index gives the order; where it does not, rows are sorted."""
    sqlite_database.execute(
        "CREATE TABLE t(d DATETIME, x DATETIME COLLATE NOCASE, p DATETIME); CREATE INDEX i ON t(d);"
        "CREATE INDEX j ON t(x); CREATE INDEX k ON t(p) WHERE p > '2'; CREATE INDEX l ON t(lower(d));"
        "INSERT INTO t(d) VALUES ('2023-01-01'), ('2023-01-01 10:00'), ('2023-01-02T10:00')"
    )

    def ask(session: Session) -> tuple[frozenset[str], int, int]:
        relation = session.describe(Request("t"))
        first, second = relation.columns[:2]
        whole = Scan(Reach.EVERYTHING)
        return (
            relation.indexed,
            session.sort_bytes(relation, first, whole),
            session.sort_bytes(relation, second, whole),
        )

    indexed, sorted_bytes, other_bytes = in_session(sqlite_database, ask)
    assert indexed == {"d"}
    assert sorted_bytes > 0
    assert other_bytes > 0

    sqlite_database.execute("UPDATE t SET d = replace(d, 'T', ' ')")
    assert in_session(sqlite_database, ask)[1] == 0


def test_sort_is_estimated_by_the_rows_of_the_scan(sqlite_database: SqliteDatabase) -> None:
    """The bytes of a sort follow the size of the rows and their share in the scan."""
    sqlite_database.execute(
        "CREATE TABLE t(d DATE, x TEXT);"
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 1000) "
        "INSERT INTO t SELECT date('2023-01-01', n || ' days'), printf('%01000d', n) FROM c"
    )

    def ask(session: Session) -> tuple[int, int, int]:
        relation = session.describe(Request("t"))
        column = relation.columns[0]
        half = Scan(Reach.RANGE, 0, 10**6, 500)
        return (
            session.sort_bytes(relation, column, Scan(Reach.EVERYTHING)),
            session.sort_bytes(relation, column, half),
            session.sort_bytes(relation, None, Scan(Reach.EVERYTHING)),
        )

    whole, half, unordered = in_session(sqlite_database, ask)
    assert 1_000_000 < whole < 1_100_000
    assert half == whole // 2
    assert unordered == 0


def test_equal_dates_come_in_the_order_of_the_key(sqlite_database: SqliteDatabase) -> None:
    """Ties are broken by the primary key, in the key's order, or by the rowid."""
    rows = ", ".join(f"('2023-01-0{n % 3 + 1}', 'k{(n * 7) % 10}', {n % 2})" for n in range(10))
    for definition in ("PRIMARY KEY(n, k)", "PRIMARY KEY(n, k)) WITHOUT ROWID --", "UNIQUE(k, n)"):
        sqlite_database.execute(
            f"DROP TABLE IF EXISTS t; CREATE TABLE t(d DATE, k TEXT COLLATE NOCASE, n INT, {definition}\n);"
            if "--" not in definition
            else f"DROP TABLE IF EXISTS t; CREATE TABLE t(d DATE, k TEXT, n INT, {definition}\n;"
        )
        sqlite_database.execute(f"INSERT INTO t VALUES {rows}")
        order = "d, rowid" if definition.startswith("UNIQUE") else "d, n, k"
        expected = [k for (k,) in sqlite_database.fetch(f"SELECT k FROM t ORDER BY {order}")]
        assert read_all(sqlite_database, table="t", order="d").column("k").to_pylist() == expected


def test_columns_that_hide_the_rowid(sqlite_database: SqliteDatabase) -> None:
    """A table whose columns have all names of the rowid is read as well."""
    sqlite_database.execute(
        "CREATE TABLE t(d DATE, ROWID TEXT, oid TEXT, _rowid_ TEXT);"
        "INSERT INTO t VALUES ('2023-01-01', 'a', 'b', 'c')"
    )

    assert read_all(sqlite_database, table="t", order="d").num_rows == 1


TEXTS = st.from_regex(
    r"[0-9]{4}-[01][0-9]-[0-3][0-9]"
    r"([ T][0-2][0-9](:[0-5][0-9](:[0-5][0-9](\.[0-9]{1,3}(0{0,6}|[0-9]{4}))?)?)?"
    r"(Z|[+-][0-2][0-9](:?[0-6][0-9])?)?)?",
    fullmatch=True,
)
VALID = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999))


@given(st.lists(st.one_of(TEXTS, st.text(max_size=30), VALID.map(str)), max_size=5))
def test_arrow_reads_what_the_forms_say(texts: list[str]) -> None:
    """A value is what it is, whatever stands beside it: the quick way and the slow one find the same."""
    for kind in (Kind.DATE, Kind.TIMESTAMP, Kind.INSTANT):
        together, misfits = iso.on_axis(pa.array(texts, pa.string()), kind)
        alone = [iso._parsed(t, kind) for t in texts]
        assert together.to_pylist() == [v if isinstance(v, int) else None for v in alone]
        assert misfits == Counter(v for v in alone if isinstance(v, str))


@given(VALID, VALID, st.sampled_from(" T"))
def test_bounds_compare_as_time_does(value: dt.datetime, end: dt.datetime, separator: str) -> None:
    """Every form of a value is below a bound exactly where the value is earlier."""
    limit = iso.bound(_microseconds(end), Kind.TIMESTAMP, separator)
    assert limit is not None
    text = value.isoformat(separator)
    forms = [text, text.rstrip("0").removesuffix(".") if "." in text else text]
    if not (value.second or value.microsecond):
        forms.append(text[:16])
    if value == dt.datetime(value.year, value.month, value.day):
        forms.append(text[:10])
    for form in forms:
        assert (form < limit) == (value < end)
