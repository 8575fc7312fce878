"""Exports by local day: label and rows agree through every kind of change of a zone's clock."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq
import pytest

from tests.run.conftest import AnyDatabase
from tests.run.running import by_day, run_well
from tests.run.trees import NULL, manifests, rows_by_manifest

COLUMNS = [("postgres", "timestamptz"), ("mariadb", "timestamp(6) NULL"), ("sqlite", "TEXT")]
IN_UTC = {"postgres": "SET TimeZone = 'UTC'", "mariadb": "SET time_zone = '+00:00'", "sqlite": "SELECT 1"}
# Instants in UTC around what the clock of each zone did, to the microsecond.
CHANGES = {
    # To one in the morning at midnight, and back.
    "America/Havana": [
        *("2024-03-10 04:00:00.000000", "2024-03-10 04:59:59.999999", "2024-03-10 05:00:00.000000"),
        *("2024-03-10 06:00:00.000000", "2024-03-11 03:59:59.999999", "2024-03-11 04:00:00.000000"),
        *("2024-11-03 03:59:59.999999", "2024-11-03 04:00:00.000000", "2024-11-03 05:30:00.000000"),
    ],
    "Asia/Beirut": [
        *("2022-03-26 21:00:00.000000", "2022-03-26 21:59:59.999999", "2022-03-26 22:00:00.000000"),
        *("2022-03-26 23:00:00.000000", "2022-10-29 20:59:59.999999", "2022-10-29 21:30:00.000000"),
        "2022-10-29 22:00:00.000000",
    ],
    # Over all of the 30th.
    "Pacific/Apia": [
        *("2011-12-30 09:00:00.000000", "2011-12-30 09:59:59.999999", "2011-12-30 10:00:00.000000"),
        *("2011-12-30 11:00:00.000000", "2011-12-31 10:00:00.000000"),
    ],
    # The hour from two to three twice, in the middle of a day.
    "Europe/Warsaw": [
        *("2021-10-31 00:30:00.000000", "2021-10-31 01:30:00.000000", "2021-10-31 02:30:00.000000"),
        *("2021-10-31 03:30:00.000000", "2021-10-30 22:00:00.000000", "2021-10-31 22:59:59.999999"),
    ],
    # By half an hour, at half an hour; a quarter of an hour at midnight; by two hours.
    "Australia/Lord_Howe": [
        "2024-04-06 13:00:00.000000",
        "2024-04-06 12:59:59.999999",
        "2024-04-07 13:30:00.000000",
    ],
    "Asia/Kathmandu": [
        "1985-12-31 18:29:59.999999",
        "1985-12-31 18:30:00.000000",
        "1986-01-01 18:15:00.000000",
    ],
    "Antarctica/Troll": [
        "2024-03-31 00:59:59.999999",
        "2024-03-31 01:00:00.000000",
        "2024-03-31 22:00:00.000000",
    ],
}


def create(database: AnyDatabase, engine: str, declared: str, instants: list[str]) -> None:
    """Make the table `events` of rows numbered from 0 at instants in UTC, one more without, and an index."""
    offset = "+00:00" if engine == "sqlite" else ""
    rows = ", ".join(f"({i}, '{text}{offset}')" for i, text in enumerate(instants))
    database.execute(
        f"{IN_UTC[engine]}; CREATE TABLE events (id int PRIMARY KEY, created_at {declared});"
        f"INSERT INTO events VALUES {rows}, (99, NULL); CREATE INDEX by_date ON events (created_at)"
    )


def by_local_day(root: Path, engine: str, zone: str, **more: Any) -> dict[str, Any]:
    """Give an export of the table `events` by day in a zone."""
    if engine == "sqlite":
        more["columns"] = {"created_at": "timestamptz"}
    return by_day(root, partition_timezone=zone, **more)


def utc(text: str) -> dt.datetime:
    """Read an instant."""
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def local_dates(zone: str, instants: list[str]) -> dict[str, set[int]]:
    """Give the rows of each date that Python's clock shows in a zone."""
    expected: dict[str, set[int]] = {NULL: {99}}
    for number, text in enumerate(instants):
        expected.setdefault(str(utc(text).astimezone(ZoneInfo(zone)).date()), set()).add(number)
    return expected


def ids(root: Path) -> dict[str, set[int]]:
    """Give the numbers of the rows of each partition."""
    return {label: {row[0] for row in rows} for label, rows in rows_by_manifest(root).items()}


@pytest.mark.parametrize("scan", ["single", "per_partition"])
@pytest.mark.parametrize("zone", CHANGES)
@pytest.mark.parametrize(("engine", "declared"), COLUMNS)
def test_the_directory_is_the_local_date(
    tmp_path: Path, database: AnyDatabase, engine: str, declared: str, zone: str, scan: str
) -> None:
    """Around each change every row lies in the directory of its local date, whatever reads it."""
    root, instants = tmp_path / "tree", CHANGES[zone]
    create(database, engine, declared, instants)

    run_well(tmp_path, database.source, by_local_day(root, engine, zone, scan=scan), validate=True)

    assert ids(root) == local_dates(zone, instants)
    if engine == "postgres":
        there = (
            f"SELECT id, to_char(created_at AT TIME ZONE '{zone}', 'YYYY-MM-DD') FROM events WHERE id < 99"
        )
        assert {number: day for day, numbers in ids(root).items() for number in numbers} == {
            99: NULL,
            **dict(database.fetch(there)),
        }
    for label, manifest in manifests(root).items():
        partition = manifest["partition"]
        assert partition["timezone"] == zone
        if label != NULL:
            start, end = (dt.datetime.fromisoformat(partition[name]) for name in ("start", "end"))
            assert str(start.astimezone(ZoneInfo(zone)).date()) == label
            assert all(start <= value < end for _, value in rows_by_manifest(root)[label])
    assert json.loads((root / "_rivet_export.json").read_text())["partition"]["timezone"] == zone


@pytest.mark.parametrize(("engine", "declared"), COLUMNS)
def test_the_repeated_hour_stays_four_instants(
    tmp_path: Path, database: AnyDatabase, engine: str, declared: str
) -> None:
    """Instants that show the same time on a clock that went back arrive as themselves, adjusted to UTC."""
    root, instants = tmp_path / "tree", CHANGES["Europe/Warsaw"][:4]
    create(database, engine, declared, instants)

    run_well(tmp_path, database.source, by_local_day(root, engine, "Europe/Warsaw"))

    assert rows_by_manifest(root)["2021-10-31"] == [(i, utc(text)) for i, text in enumerate(instants)]
    (part,) = (root / "created_at=2021-10-31").glob("*.parquet")
    logical = json.loads(pq.ParquetFile(part).schema.column(1).logical_type.to_json())
    assert (logical["isAdjustedToUTC"], logical["timeUnit"]) == (True, "microseconds")


@pytest.mark.parametrize("granularity", ["day", "month", "year"])
def test_a_day_that_never_was_is_no_empty_window(
    tmp_path: Path, postgres_database: AnyDatabase, granularity: str
) -> None:
    """With `skip_empty: false` each window between has a directory; a day that a zone skipped has none."""
    root = tmp_path / "tree"
    create(postgres_database, "postgres", "timestamptz", ["2011-12-28 12:00:00", "2012-01-02 12:00:00"])

    outcome = run_well(
        tmp_path,
        postgres_database.source,
        by_day(root, partition_timezone="Pacific/Apia", partition_granularity=granularity, skip_empty=False),
        validate=True,
    )

    labels = {
        "day": ["2011-12-28", "2011-12-29", "2011-12-31", "2012-01-01", "2012-01-02", "2012-01-03"],
        "month": ["2011-12", "2012-01"],
        "year": ["2011", "2012"],
    }[granularity]
    written = manifests(root)
    assert sorted(written) == [*labels, NULL]
    assert outcome.partitions == len(labels) + 1
    bounds = [(written[label]["partition"]["start"], written[label]["partition"]["end"]) for label in labels]
    assert [end for _, end in bounds[:-1]] == [start for start, _ in bounds[1:]]


@pytest.mark.parametrize("scan", ["single", "per_partition"])
@pytest.mark.parametrize(
    ("zone", "first", "last"),
    [
        ("America/New_York", "0000-12-31", "9999-12-31"),
        ("Asia/Tokyo", "0001-01-01", "+10000-01-01"),
        ("Pacific/Kiritimati", "0000-12-31", "+10000-01-01"),
    ],
)
def test_sentinels_in_a_zone_are_ordinary(
    tmp_path: Path, postgres_database: AnyDatabase, scan: str, zone: str, first: str, last: str
) -> None:
    """The first and the last instant of the years 1 to 9999 lie in days of their own, and none between."""
    root = tmp_path / "tree"
    instants = ["0001-01-01 00:00:00", "2024-03-10 12:00:00", "9999-12-31 23:59:59.999999"]
    create(postgres_database, "postgres", "timestamptz", instants)

    outcome = run_well(
        tmp_path, postgres_database.source, by_day(root, partition_timezone=zone, scan=scan), validate=True
    )

    assert {label: numbers for label, numbers in ids(root).items() if 1 not in numbers} == {
        first: {0},
        last: {2},
        NULL: {99},
    }
    assert outcome.partitions == 4
    assert rows_by_manifest(root)[first] == [(0, utc(instants[0]))]
    again = run_well(tmp_path, postgres_database.source, by_day(root, partition_timezone=zone, scan=scan))
    assert (again.partitions_written, again.partitions_unchanged) == (0, 4)


@pytest.mark.parametrize(("engine", "declared"), COLUMNS)
@pytest.mark.parametrize(("zone", "label"), [("UTC", "2020-05-04"), ("Europe/Moscow", "2020-05-05")])
def test_directory_and_value_are_of_one_instant(
    tmp_path: Path, database: AnyDatabase, engine: str, declared: str, zone: str, label: str
) -> None:
    """Midnight in Moscow is the evening before in UTC: the zone decides the directory, never the value."""
    root = tmp_path / "tree"
    create(database, engine, declared, ["2020-05-04 21:00:00"])

    run_well(tmp_path, database.source, by_local_day(root, engine, zone), validate=True)

    assert rows_by_manifest(root)[label] == [(0, dt.datetime(2020, 5, 4, 21, tzinfo=dt.UTC))]


@pytest.mark.parametrize("granularity", ["day", "month", "year"])
@pytest.mark.parametrize(("engine", "declared"), COLUMNS)
def test_bounds_in_a_zone_are_half_open(
    tmp_path: Path, database: AnyDatabase, engine: str, declared: str, granularity: str
) -> None:
    """The last microsecond of a local year is in it, and the next one in the next, by any granularity."""
    root = tmp_path / "tree"
    instants = [
        "2023-12-31 04:59:59.999999",
        "2023-12-31 05:00:00",
        "2024-01-01 04:59:59.999999",
        "2024-01-01 05:00:00",
    ]
    create(database, engine, declared, instants)

    run_well(
        tmp_path,
        database.source,
        by_local_day(
            root,
            engine,
            "America/New_York",
            partition_granularity=granularity,
            scan="per_partition",
        ),
        validate=True,
    )

    assert (
        ids(root)
        == {
            "day": {"2023-12-30": {0}, "2023-12-31": {1, 2}, "2024-01-01": {3}, NULL: {99}},
            "month": {"2023-12": {0, 1, 2}, "2024-01": {3}, NULL: {99}},
            "year": {"2023": {0, 1, 2}, "2024": {3}, NULL: {99}},
        }[granularity]
    )
