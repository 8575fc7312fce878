"""Windows in a zone, counted and read by servers that are not asked for zones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest

from rivet.plan.calendar import MICROSECONDS_PER_DAY, Granularity, format_timestamp
from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import ColumnType, Kind, Override
from rivet.plan.windows import Axis
from rivet.source.protocol import Session
from rivet.source.relation import Request
from tests.plan.tzif import changes
from tests.servers.database import Database
from tests.servers.sqlite import SqliteDatabase
from tests.source import sqlite_reading
from tests.source.reading import column_of, in_session, read_scan

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The least and the greatest that a TIMESTAMP of MySQL and of every MariaDB can hold.
TIMESTAMPS = (1_000_000, (2**31 - 1) * 1_000_000 + 999_999)
YEARS = (
    (datetime(1, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1),
    (datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1),
)
ZONES = [
    *("Pacific/Apia", "America/Havana", "Asia/Beirut", "Asia/Kathmandu", "Australia/Lord_Howe"),
    *("Africa/Casablanca", "America/St_Johns", "Etc/GMT+12", "Pacific/Kiritimati"),
]


def moments(zone: str, least: int, greatest: int) -> list[int]:
    """List the ends of a calendar, and what lies beside a zone's changes and the midnights next to them."""
    axis = Axis(Kind.INSTANT, Granularity.DAY, zone)
    found = {least, greatest, 0, -1, 1_700_000_000_123_456}
    for change in changes(zone):
        second = change.second * 1_000_000
        for beside in (second, axis.window_of(second).start, axis.window_of(second).end):
            found |= {beside - 1, beside, beside + 1, beside + 3_600_000_000}
    return sorted(v for v in found if least <= v <= greatest)


def adding_up(
    zone: str, values: Sequence[int], overrides: Mapping[str, Override] | None = None
) -> Callable[[Session], None]:
    """Give what holds the counts of all windows of a table `t`, and what their scans read, to its values."""

    def ask(session: Session) -> None:
        relation = session.describe(Request("t", overrides=overrides or {}))
        column = column_of(relation, "ts")
        assert column.type.kind is Kind.INSTANT
        span = session.probe(relation, column).span
        assert span == (min(values), max(values))
        by_day = Axis(Kind.INSTANT, Granularity.DAY, zone)
        counts = session.count_windows(relation, column, by_day)
        assert session.count_windows(relation, column, by_day, span) == counts
        for granularity in Granularity:
            axis = Axis(Kind.INSTANT, granularity, zone)
            expected = Counter(axis.window_of(v).label for v in values)
            counts = session.count_windows(relation, column, axis, span)
            assert {c.label: c.rows for c in counts} == expected
            assert [c.start for c in counts] == sorted(c.start for c in counts)
            for count in (counts[0], counts[len(counts) // 2], counts[-1]):
                read = read_scan(session, relation, column, Scan(Reach.RANGE, count.start, count.end))
                inside = [v for v in values if count.start <= v < count.end]
                assert read["ts"].cast("int64").to_pylist() == inside

    return ask


def literals(values: Sequence[int]) -> str:
    """Write the rows of values, as text in UTC."""
    return ", ".join(f"('{format_timestamp(v, utc=False, separator=' ')}')" for v in values)


@pytest.mark.parametrize("zone", ZONES)
def test_windows_of_timestamptz(postgres_database: Database, zone: str) -> None:
    """PostgreSQL counts and reads the windows of a zone exactly, from year 1 to 9999, in any of its own."""
    values = moments(zone, *YEARS)
    postgres_database.execute(
        f"SET TimeZone = 'UTC'; CREATE TABLE t (ts timestamptz); INSERT INTO t VALUES {literals(values)};"
        f"CREATE INDEX ON t (ts); ALTER DATABASE {postgres_database.name} SET timezone = 'America/Caracas'"
    )
    in_session(postgres_database, adding_up(zone, values))


@pytest.mark.parametrize("zone", ZONES)
def test_windows_of_timestamp(mysql_family: Database, zone: str) -> None:
    """MySQL and MariaDB count and read the windows of a zone exactly, at both ends of a TIMESTAMP too."""
    values = moments(zone, *TIMESTAMPS)
    mysql_family.execute(
        "SET time_zone = '+00:00'; CREATE TABLE t (ts timestamp(6) NULL, KEY (ts));"
        f"INSERT INTO t VALUES {literals(values)}"
    )
    in_session(mysql_family, adding_up(zone, values))


@pytest.mark.parametrize("unit", ["us", None])
@pytest.mark.parametrize("zone", ZONES)
def test_windows_of_sqlite(sqlite_database: SqliteDatabase, zone: str, unit: Literal["us"] | None) -> None:
    """Numbers and texts that the config takes for instants are counted and read by window alike."""
    values = moments(zone, *YEARS)
    written = [str(v) if unit else f"'{format_timestamp(v, utc=True)}'" for v in values]
    sqlite_database.execute(
        f"CREATE TABLE t (ts {'INTEGER' if unit else 'TEXT'});"
        f"INSERT INTO t VALUES {', '.join(f'({w})' for w in written)}; CREATE INDEX by_ts ON t (ts)"
    )
    instants = {"ts": Override(ColumnType(Kind.INSTANT), unit=unit)}
    sqlite_reading.in_session(sqlite_database, adding_up(zone, values, instants))


def test_a_sentinel_makes_no_pieces_of_seconds(postgres_database: Database) -> None:
    """Beside a row of year 1, when zones had odd seconds, a year of rows is counted in few groups."""
    postgres_database.execute(
        "CREATE TABLE t AS SELECT timestamptz '2023-01-01 00:00Z' + i * interval '97 seconds' AS ts"
        " FROM generate_series(0, 300000) i;"
        "INSERT INTO t VALUES ('0001-01-01 00:00Z'), ('9999-12-31 12:00Z')"
    )

    def ask(session: Session) -> None:
        relation = session.describe(Request("t"))
        column = column_of(relation, "ts")
        axis = Axis(Kind.INSTANT, Granularity.DAY, "Asia/Kathmandu")
        span = session.probe(relation, column).span
        counts = session.count_windows(relation, column, axis, span)
        assert sum(c.rows for c in counts) == 300_003
        assert (counts[0].label, counts[-1].label) == ("0001-01-01", "9999-12-31")
        assert len(counts) == 300_000 * 97 * 1_000_000 // MICROSECONDS_PER_DAY + 4
        assert len(axis.day_edges(span)) == 3

    in_session(postgres_database, ask)
