"""Instants in text: in the order of time, by local days, and what is none is counted, never lost."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivet.errors import ColumnError
from rivet.plan.calendar import Granularity
from rivet.plan.overrides import override
from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import Kind, Override
from rivet.plan.windows import Axis
from rivet.source.protocol import Session
from rivet.source.relation import Relation, Request
from rivet.source.sqlite import iso
from tests.servers.sqlite import SqliteDatabase
from tests.source.reading import EVERYTHING, column_of, read_scan
from tests.source.sqlite_reading import in_session, microseconds, read_all, shuffled_rows

UTC = dt.UTC
DAY = 86_400_000_000
BEGIN, END = -62_135_596_800, 253_402_300_800  # the years 1 to 9999, in seconds

INSTANTS = {
    "2023-01-01T10:00:00Z": dt.datetime(2023, 1, 1, 10, tzinfo=UTC),
    "2023-01-01 10:30+02:00": dt.datetime(2023, 1, 1, 8, 30, tzinfo=UTC),
    "2023-01-01T00:30:00+0100": dt.datetime(2022, 12, 31, 23, 30, tzinfo=UTC),
    "2022-12-31 23:59:59.5-05": dt.datetime(2023, 1, 1, 4, 59, 59, 500_000, tzinfo=UTC),
    "2023-01-01T10:00:00.5Z": dt.datetime(2023, 1, 1, 10, 0, 0, 500_000, tzinfo=UTC),
    "2023-01-01T10:00Z": dt.datetime(2023, 1, 1, 10, tzinfo=UTC),
    "2023-01-01T10:00:00.123456000Z": dt.datetime(2023, 1, 1, 10, 0, 0, 123_456, tzinfo=UTC),
    "1582-10-10 12:00:00-00:00": dt.datetime(1582, 10, 10, 12, tzinfo=UTC),
    "0001-01-01T00:00:00Z": dt.datetime(1, 1, 1, tzinfo=UTC),
    "9999-12-31T23:59:59.999999Z": dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
}
NO_INSTANTS = ["0001-01-01T00:30:00+01:00", "9999-12-31T23:30:00-01:00", "2023-02-30T00:00:00Z", "", "NULL"]


def _described(session: Session, asked: Override | None = None) -> Relation:
    return session.describe(Request("t", overrides={} if asked is None else {"d": asked}))


def test_every_form_of_an_instant(sqlite_database: SqliteDatabase) -> None:
    """Text with an offset arrives as its instant, in the order of instants, whatever its text sorts as."""
    rows = shuffled_rows([f"'{text}'" for text in INSTANTS] + ["NULL"])
    sqlite_database.execute(
        f"CREATE TABLE t(d TIMESTAMPTZ); CREATE INDEX i ON t(d); INSERT INTO t VALUES {rows}"
    )

    def ask(session: Session) -> None:
        relation = _described(session)
        column = relation.columns[0]
        probe = session.probe(relation, column)
        assert probe.span == (microseconds(min(INSTANTS.values())), microseconds(max(INSTANTS.values())))
        assert relation.indexed == frozenset()
        assert session.sort_bytes(relation, column, EVERYTHING) > 0
        read = read_scan(session, relation, column).column("d").to_pylist()
        assert read == [None, *sorted(INSTANTS.values())]

    in_session(sqlite_database, ask)


def test_what_is_no_instant(sqlite_database: SqliteDatabase) -> None:
    """An offset may lead out of the calendar; that is counted, and NULL where the config wants it."""
    texts = [f"'{text}'" for text in [*INSTANTS, *NO_INSTANTS]]
    rows = shuffled_rows(texts)
    sqlite_database.execute(
        f"CREATE TABLE t(d TIMESTAMPTZ, e TIMESTAMPTZ); INSERT INTO t(d) VALUES (NULL), {rows};"
        "UPDATE t SET e = d"
    )

    def ask(session: Session) -> None:
        relation = _described(session)
        column = column_of(relation, "d")
        probe = session.probe(relation, column)
        assert probe.unrepresentable == (("d", len(NO_INSTANTS)), ("e", len(NO_INSTANTS)))
        assert (probe.null_rows, probe.rows) == (1, len(texts) + 1)
        nulled = replace(relation, nulled=frozenset({"d", "e"}))
        read = read_scan(session, nulled, column)
        nulls = len(NO_INSTANTS) + 1
        assert read.column(0).to_pylist() == [*[None] * nulls, *sorted(INSTANTS.values())]
        assert read.column(1).to_pylist() == read.column(0).to_pylist()
        assert read.column(2).to_pylist() == read.column(3).to_pylist()
        assert sum(read.column(2).to_pylist()) == sum(read.column(2).to_pylist()[:nulls]) == len(NO_INSTANTS)

    in_session(sqlite_database, ask)


@pytest.mark.parametrize("zone", ["UTC", "America/Havana", "Asia/Kathmandu", "Australia/Lord_Howe"])
@pytest.mark.parametrize("with_unit", [False, True])
def test_windows_of_a_zone(sqlite_database: SqliteDatabase, zone: str, *, with_unit: bool) -> None:
    """The windows of local days hold the rows that they are counted to hold, and all rows once."""
    begin = dt.datetime(2024, 3, 8, tzinfo=UTC)
    values = [begin + dt.timedelta(minutes=17 * n) for n in range(500)] + list(INSTANTS.values())
    texts = [f"'{v.isoformat()}'" for v in values]
    rows = shuffled_rows([str(microseconds(v)) for v in values] if with_unit else texts)
    declared = "INTEGER" if with_unit else "TIMESTAMPTZ"
    sqlite_database.execute(f"CREATE TABLE t(d {declared}); INSERT INTO t VALUES (NULL), {rows}")
    axis = Axis(Kind.INSTANT, Granularity.DAY, zone)

    def ask(session: Session) -> None:
        relation = _described(session, override("timestamptz", unit="us") if with_unit else None)
        column = relation.columns[0]
        span = session.probe(relation, column).span
        expected: dict[str, int] = {}
        for value in values:
            label = axis.window_of(microseconds(value)).label
            expected[label] = expected.get(label, 0) + 1
        counts = session.count_windows(relation, column, axis, span)
        assert {c.label: c.rows for c in counts} == expected
        assert [c.start for c in counts] == sorted(c.start for c in counts)
        for count in counts[:4]:
            scan = Scan(Reach.RANGE, count.start, count.end)
            assert read_scan(session, relation, column, scan).num_rows == count.rows

    in_session(sqlite_database, ask)


@pytest.mark.parametrize("separator", [" ", "T", "both"])
def test_ranges_beside_what_is_no_date(sqlite_database: SqliteDatabase, separator: str) -> None:
    """Garbage that sorts between dates is in no range but in the scan of NULLs; an index serves ranges."""
    days = [dt.datetime(2023, 1, 1) + dt.timedelta(hours=7 * n) for n in range(40)]
    texts = [
        f"'{d.isoformat((' T' * 40)[n] if separator == 'both' else separator)}'" for n, d in enumerate(days)
    ]
    garbage = [
        "'2023-01-02 25:00'",
        "'2023-01-0'",
        "'2023-01-03T'",
        "'2023-01-04 10'",
        "''",
        "'3000'",
        "'2023-02-30'",
    ]
    sqlite_database.execute(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, d TEXT); CREATE INDEX i ON t(d);"
        f"INSERT INTO t(d) VALUES (NULL), {shuffled_rows(texts + garbage)}"
    )

    def ask(session: Session) -> None:
        relation = replace(_described(session, override("timestamp")), nulled=frozenset({"d"}))
        column = column_of(relation, "d")
        read: list[object] = []
        for day in range(14):
            start = microseconds(dt.datetime(2023, 1, 1)) + day * DAY
            scan = Scan(Reach.RANGE, start, start + DAY)
            if separator != "both":
                assert session.sort_bytes(relation, column, scan) == 0
            read += read_scan(session, relation, column, scan).column(1).to_pylist()
        assert read == days
        nulls = read_scan(session, relation, column, Scan(Reach.NULLS))
        assert nulls.column(1).to_pylist() == [None] * (len(garbage) + 1)
        assert nulls.column(2).to_pylist().count(True) == len(garbage)
        whole = read_scan(session, relation, column)
        assert whole.column(1).to_pylist() == [*[None] * (len(garbage) + 1), *days]

    in_session(sqlite_database, ask)


def test_infinity_in_a_decimal(sqlite_database: SqliteDatabase) -> None:
    """No decimal is infinite: counted, NULL by policy, and an error like others beside what does not fit."""
    sqlite_database.execute(
        "CREATE TABLE t(m DECIMAL(5,2)); INSERT INTO t VALUES (1.25), (9e999), (-9e999), (NULL)"
    )

    def ask(session: Session) -> None:
        relation = session.describe(Request("t"))
        assert session.probe(relation, None).unrepresentable == (("m", 2),)
        with pytest.raises(ColumnError, match="'m': 2 of 4 values are unrepresentable"):
            session.read(relation, relation.columns, None, EVERYTHING)
        read = read_scan(session, replace(relation, nulled=frozenset({"m"})))
        assert [str(v) for v in read.column(0).to_pylist()] == ["1.25", "None", "None", "None"]
        assert read.column(1).to_pylist() == [False, True, True, False]

    in_session(sqlite_database, ask)
    sqlite_database.execute("INSERT INTO t VALUES ('x')")
    with pytest.raises(ColumnError, match=r"'m' is .* 2 real, 1 text"):
        read_all(sqlite_database, table="t")


FORMS = st.from_regex(
    r"(0000|0001|1970|2023|2024|9999)-(0[0-2]|1[23])-(0[01]|2[89]|3[0-2])"
    r"([ Tt](0[0-9]|2[3-5])(:(0[0-9]|[56][09])(:(0[0-9]|[56][09])(\.[0-9]{0,3}([0-9]{3}(0{0,4}|[0-9]))?)?)?)?"
    r"(Z|z| ?[+-](0[0-9]|2[3-5])(:?([03]0|[56][09]))?)?)?[ \x00x]?",
    fullmatch=True,
)


@settings(max_examples=30)
@given(st.lists(FORMS, min_size=1, max_size=200))
def test_sql_finds_what_the_texts_say(texts: list[str]) -> None:
    """The key by which SQLite orders and selects is the value that is read, for every text."""
    with TemporaryDirectory() as directory:
        database = SqliteDatabase(Path(directory) / "d.db")
        database.execute("CREATE TABLE t(n INTEGER PRIMARY KEY, d TEXT)")
        with database.connect() as connection:
            connection.executemany("INSERT INTO t VALUES (?, ?)", enumerate(texts))

        def keys(word: str) -> Callable[[Session], list[int | None]]:
            def ask(session: Session) -> list[int | None]:
                request = Request("t", overrides={"d": override(word)})
                relation = replace(session.describe(request), nulled=frozenset({"d"}))
                kind = pa.int32() if word == "date" else pa.int64()
                with session.read(relation, relation.columns, None, EVERYTHING) as batches:
                    return [v for batch in batches for v in batch.column(1).cast(kind).to_pylist()]

            return ask

        for word, kind in (("date", Kind.DATE), ("timestamp", Kind.TIMESTAMP), ("timestamptz", Kind.INSTANT)):
            parsed = [iso._parsed(text, kind) for text in texts]
            database.execute("UPDATE t SET d = NULL")
            fitting = [(text, n) for n, text in enumerate(texts) if not isinstance(parsed[n], str)]
            with database.connect() as connection:
                connection.executemany("UPDATE t SET d = ? WHERE n = ?", fitting)
            assert in_session(database, keys(word)) == [v if isinstance(v, int) else None for v in parsed]
