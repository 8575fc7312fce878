"""Dates of every calendar, and moments with and without a zone, as Parquet holds them and readers see."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rivet.run import check, plan
from tests.readers.reading import FILES, WHOLE, values
from tests.run.conftest import AnyDatabase
from tests.run.running import by_day, run_well, settings

ENGINES = ("postgres", "mariadb", "sqlite")
# What an engine calls a moment without a zone and an instant.
KINDS = {
    "postgres": ("timestamp", "timestamptz"),
    "mariadb": ("datetime(6)", "timestamp(6) NULL"),
    "sqlite": ("TIMESTAMP", "TIMESTAMPTZ"),
}
# Microseconds since 1970 of both columns, counted by the database.
_SECONDS = "(EXTRACT(EPOCH FROM {0}) * 1000000)::bigint"
_TEXT = "strftime('%s', substr({0}, 1, 19)) * 1000000 + substr({0}, 21, 6)"  # strftime rounds fractions
COUNTED = {
    "postgres": (_SECONDS, _SECONDS),
    "mariadb": (
        "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {0})",
        "CAST(UNIX_TIMESTAMP({0}) * 1000000 AS SIGNED)",
    ),
    "sqlite": (_TEXT, _TEXT),
}
SENTINELS = ["0001-01-01", "1582-10-04", "1582-10-10", "1899-12-31", "1900-01-01", "1970-01-01", "9999-12-31"]


@pytest.mark.parametrize("by", ["naive", "instant"])
@pytest.mark.parametrize("engine", ENGINES)
def test_moments_are_microseconds_and_say_whether_they_are_instants(
    engine: str, database: AnyDatabase, by: str, tmp_path: Path
) -> None:
    """INT64 with the logical type, adjusted to UTC for instants only, equal to what the database counts."""
    naive, instant = KINDS[engine]
    zone = "" if engine == "mariadb" else "+00:00"
    database.execute(
        f"CREATE TABLE events (id int, naive {naive}, instant {instant});"
        f"INSERT INTO events VALUES (1, '2023-01-01 12:00:00.000000', '2023-01-01 12:00:00.000000{zone}'),"
        f"(2, '2023-07-01 23:59:59.999999', '2023-07-01 23:59:59.999999{zone}'), (3, NULL, NULL)"
    )
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_day(root, partition_by=by, partition_key="day"))
    counting = ", ".join(
        sql.format(name) for sql, name in zip(COUNTED[engine], ("naive", "instant"), strict=True)
    )
    counted = [tuple(row) for row in database.fetch(f"SELECT {counting} FROM events ORDER BY id")]

    for part in root.rglob("*.parquet"):
        described = pq.ParquetFile(part).schema
        for position, adjusted in ((1, False), (2, True)):
            column = described.column(position)
            assert column.physical_type == "INT64"
            logical = json.loads(column.logical_type.to_json())
            assert (logical["Type"], logical["timeUnit"]) == ("Timestamp", "microseconds")
            assert logical["isAdjustedToUTC"] is adjusted
    for read in FILES.values():
        table = read(root)
        assert list(zip(values(table, "naive"), values(table, "instant"), strict=True)) == counted


@pytest.mark.parametrize("engine", ENGINES)
def test_dates_of_any_calendar_have_padded_labels_and_are_read_back(
    database: AnyDatabase, tmp_path: Path
) -> None:
    """Year 1, the days that the Gregorian calendar left out, 1899: whole days, the same to each reader."""
    rows = ", ".join(f"({n}, '{day}')" for n, day in enumerate(SENTINELS))
    database.execute(f"CREATE TABLE events (id int, created_at date); INSERT INTO events VALUES {rows}")
    root, days = tmp_path / "tree", [dt.date.fromisoformat(day) for day in SENTINELS]
    export = by_day(root, partition_key="day")
    run_well(tmp_path, database.source, export, validate=True)

    assert sorted(p.name for p in root.iterdir() if p.is_dir()) == [f"day={day}" for day in SENTINELS]
    for part in root.rglob("*.parquet"):
        column = pq.ParquetFile(part).schema.column(1)
        assert (column.physical_type, column.logical_type.type) == ("INT32", "DATE")
    for path in root.rglob("manifest.json"):
        partition = json.loads(path.read_text(encoding="utf-8"))["partition"]
        assert partition["calendar"] == "proleptic-gregorian"
    for read in FILES.values():
        assert values(read(root), "created_at") == days
    for name in ("duckdb", "polars"):
        assert values(WHOLE[name](root), "day") == days, name
    config = settings(tmp_path, database.source, export)
    (checked,), (planned,) = check(config, listener=lambda _: None), plan(config, listener=lambda _: None)
    assert checked.readers is not None
    assert any("datetimeRebaseMode = CORRECTED" in line for line in checked.readers["Spark"])
    assert any(w.startswith("values begin at 0001-01-01") for w in planned.warnings)


@pytest.mark.parametrize("engine", ["postgres", "sqlite"])
def test_moments_of_any_calendar_are_read_back(engine: str, database: AnyDatabase, tmp_path: Path) -> None:
    """As naive values and as instants, to the microsecond, in a tree by year, whose labels are padded too."""
    naive, instant = KINDS[engine]
    told = [f"{day} 12:34:56.789012" for day in SENTINELS]
    rows = ", ".join(f"({n}, '{text}', '{text}+00:00')" for n, text in enumerate(told))
    database.execute(
        f"CREATE TABLE events (id int, naive {naive}, instant {instant}); INSERT INTO events VALUES {rows}"
    )
    root = tmp_path / "tree"
    export = by_day(root, partition_by="instant", partition_key="year", partition_granularity="year")
    run_well(tmp_path, database.source, export, validate=True)

    epoch, step = dt.datetime(1970, 1, 1), dt.timedelta(microseconds=1)
    expected = [(dt.datetime.fromisoformat(text) - epoch) // step for text in told]
    for read in FILES.values():
        table = read(root)
        assert values(table, "naive") == expected
        assert values(table, "instant") == expected
    labels = {p.name for p in root.iterdir() if p.is_dir()}
    assert labels == {f"year={day[:4]}" for day in SENTINELS}
