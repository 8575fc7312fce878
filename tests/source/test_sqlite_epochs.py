"""Moments in numbers: exact to the microsecond, by an index in order, and what is none is counted."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pyarrow as pa
import pytest

from rivet.errors import ColumnError
from rivet.plan.overrides import override
from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import Override
from rivet.source.protocol import Session
from rivet.source.relation import Relation, Request
from rivet.source.sqlite import moments
from tests.servers.sqlite import SqliteDatabase
from tests.source.reading import EVERYTHING, column_of, read_scan
from tests.source.sqlite_reading import in_session, read_all, shuffled_rows

DAY = 86_400_000_000
BEGIN, END = -62_135_596_800, 253_402_300_800  # the years 1 to 9999, in seconds

# Unit, numbers as SQL, and the microseconds that they are.
NUMBERS = [
    ("s", [(str(BEGIN), BEGIN * 10**6), ("-1", -(10**6)), ("0", 0), ("1672531200.123457", 1672531200123457)]),
    ("s", [("0.1", 100_000), ("-0.000001", -1), ("1e10", 10**16), (f"{END - 1}.0", (END - 1) * 10**6)]),
    ("ms", [("1672531200001", 1672531200001000), ("1672531200001.001", 1672531200001001), ("-1.5", -1500)]),
    ("us", [("1672531200000001", 1672531200000001), ("5.0", 5), (str(END * 10**6 - 1), END * 10**6 - 1)]),
    ("ns", [("1672531200000001000", 1672531200000001), ("-1000", -1), ("2000.0", 2)]),
]
# Unit, numbers that lie between two microseconds, and texts that may be moments: counted by class.
MISFITS = [
    ("s", ["0.1234567", "8589934592.5", "'2023-01-01'", "'1672531200x'"], "2 real, 2 text"),
    ("ms", ["0.0001", "-0.5e-4"], "2 real"),
    ("us", ["0.5"], "1 real"),
    ("ns", ["1", "1672531200000000001", "1500.5"], "2 integer, 1 real"),
]


def _asked(unit: str, word: str = "timestamp") -> Override:
    return override(word, unit=unit)  # type: ignore[arg-type]


def _described(session: Session, asked: Override) -> Relation:
    return session.describe(Request("t", overrides={"d": asked}))


@pytest.mark.parametrize(("unit", "numbers"), NUMBERS)
@pytest.mark.parametrize("word", ["timestamp", "timestamptz"])
def test_numbers(
    sqlite_database: SqliteDatabase, unit: str, numbers: list[tuple[str, int]], word: str
) -> None:
    """Numbers of a unit arrive to the microsecond, in order, integers and doubles alike."""
    rows = shuffled_rows([sql for sql, _ in numbers] + ["NULL"])
    sqlite_database.execute(f"CREATE TABLE t(d); INSERT INTO t VALUES {rows}")

    read = read_all(sqlite_database, table="t", order="d", overrides={"d": _asked(unit, word)}).column("d")

    assert read.cast(pa.int64()).to_pylist() == [None, *sorted(value for _, value in numbers)]


def test_days_in_numbers(sqlite_database: SqliteDatabase) -> None:
    """A date comes from the number of its midnight; another number has a time, which is not cut off."""
    days = [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(2023, 1, 1), dt.date(9999, 12, 31)]
    rows = ", ".join(f"({(d - dt.date(1970, 1, 1)).days * 86_400_000})" for d in days)
    sqlite_database.execute(f"CREATE TABLE t(d INT); INSERT INTO t VALUES {rows}, (NULL)")
    asked = {"d": _asked("ms", "date")}

    assert read_all(sqlite_database, table="t", order="d", overrides=asked).column("d").to_pylist() == [
        None,
        *days,
    ]

    sqlite_database.execute("INSERT INTO t VALUES (86400001)")
    with pytest.raises(ColumnError, match=r"'d' is INT .* date32: 1 integer"):
        read_all(sqlite_database, table="t", overrides=asked)


@pytest.mark.parametrize(("unit", "values", "counted"), MISFITS)
def test_numbers_that_lose_a_fraction(
    sqlite_database: SqliteDatabase, unit: str, values: list[str], counted: str
) -> None:
    """What is finer than a microsecond, or a text that may be a moment, is refused and not made NULL."""
    rows = ", ".join(f"({v})" for v in [*values, "0", "NULL", "'garbage'"])
    sqlite_database.execute(f"CREATE TABLE t(d); INSERT INTO t VALUES {rows}")

    with pytest.raises(ColumnError, match=r"'d' is .* and holds what does not fit timestamp\[us\]") as caught:
        in_session(sqlite_database, lambda s: s.probe(_described(s, _asked(unit)), None))

    assert str(caught.value).endswith(f": {counted}")


@pytest.mark.parametrize("declared", ["INTEGER", "REAL", "DATETIME", "TEXT", ""])
@pytest.mark.parametrize("unit", ["s", "ms"])
def test_numbers_outside_the_calendar(sqlite_database: SqliteDatabase, declared: str, unit: str) -> None:
    """Numbers of no year from 1 to 9999, and what is no number, are counted and NULL by policy."""
    scale = {"s": 1, "ms": 1000}[unit]
    outside = [str((BEGIN - 1) * scale), str(END * scale), "9e999", "-9e999", "''", "'x'", "x'00'"]
    if declared == "TEXT":  # in which SQLite makes numbers text
        outside = ["''", "'x'", "x'00'", "'NULL'"]
    inside = [] if declared == "TEXT" else ["0", str(1_672_531_200 * scale)]
    rows = shuffled_rows([*outside, *inside, "NULL"])
    sqlite_database.execute(f"CREATE TABLE t(d {declared}); INSERT INTO t VALUES {rows}")

    def ask(session: Session) -> None:
        relation = _described(session, _asked(unit))
        column = relation.columns[0]
        probe = session.probe(relation, column)
        assert (probe.null_rows, probe.unrepresentable_rows) == (1, len(outside))
        with pytest.raises(ColumnError, match="unrepresentable"):
            session.read(relation, relation.columns, column, EVERYTHING)
        nulled = replace(relation, nulled=frozenset({"d"}))
        read = read_scan(session, nulled, column)
        moments = [dt.datetime(1970, 1, 1), dt.datetime(2023, 1, 1)][: len(inside)]
        assert read.column(0).to_pylist() == [*[None] * (len(outside) + 1), *moments]
        assert read.column(1).to_pylist().count(True) == len(outside)
        in_1970 = Scan(Reach.RANGE, 0, DAY)
        assert read_scan(session, nulled, column, in_1970).num_rows == len(inside) // 2
        assert read_scan(session, nulled, column, Scan(Reach.NULLS)).num_rows == len(outside) + 1

    in_session(sqlite_database, ask)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_ranges_of_numbers_by_an_index(sqlite_database: SqliteDatabase, unit: str) -> None:
    """An index on the raw numbers gives order and half-open ranges, exact at their edges."""
    per_second = moments.UNITS_PER_SECOND[unit]
    step = 10**6 if unit == "s" else 1000
    values = sorted(n * DAY // 4 + m * step for n in range(-8, 8) for m in (-1, 0, 1))
    rows = shuffled_rows([str(v * per_second // 10**6) for v in values] + ["NULL"])
    sqlite_database.execute(
        f"CREATE TABLE t(d INT, x); CREATE INDEX i ON t(d); INSERT INTO t(d) VALUES {rows}"
    )

    def ask(session: Session) -> None:
        relation = _described(session, _asked(unit))
        column = column_of(relation, "d")
        assert relation.indexed == {"d"}
        for nulled in (frozenset[str](), frozenset({"d"})):
            relation = replace(relation, nulled=nulled)
            for start, end in (
                (0, DAY),
                (-DAY, 0),
                (1, DAY + 1),
                (values[3], values[-3]),
                (500_000, 500_001),
            ):
                scan = Scan(Reach.RANGE, start, end)
                assert session.sort_bytes(relation, column, scan) == 0
                read = read_scan(session, relation, column, scan).column(0).cast(pa.int64())
                assert read.to_pylist() == [v for v in values if start <= v < end]
        assert session.sort_bytes(replace(relation, nulled=frozenset()), column, EVERYTHING) == 0

    in_session(sqlite_database, ask)
