"""Every date falls into its window: boundaries to the microsecond, sentinels, NULL, one row, none at all."""

from __future__ import annotations

import datetime as dt
import json
import time as clock
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.running import by_day, run_well
from tests.run.trees import NULL, Rows, manifests, read_part, rows_by_manifest
from tests.servers.database import Server

LABEL_LENGTHS = {"day": 10, "month": 7, "year": 4}
MOMENTS = [
    "1970-01-01 00:00:01.000000",
    "1999-12-31 23:59:59.999999",
    "2000-02-29 12:00:00.000000",
    "2023-12-31 23:59:59.999999",
    "2024-01-01 00:00:00.000000",
    "2024-01-01 00:00:00.000001",
    "2024-02-28 23:59:59.999999",
    "2024-02-29 00:00:00.000000",
    "2024-02-29 23:59:59.999999",
    "2024-03-01 00:00:00.000000",
    "2024-12-31 23:59:59.999999",
    "2025-01-01 00:00:00.000000",
    "2038-01-19 03:14:07.999999",
]
# Year 1, days that only the proleptic calendar has, before the epoch, and the last window, whose end is no
# Python date.
SENTINELS = [
    "0001-01-01 00:00:00.000000",
    "0001-01-01 23:59:59.999999",
    "1582-10-10 12:00:00.000000",
    "1899-12-31 23:59:59.999999",
    "1969-12-31 23:59:59.999999",
    "9999-12-31 00:00:00.000000",
    "9999-12-31 23:59:59.999999",
]
IN_UTC = {"postgres": "SET TimeZone = 'UTC'", "mariadb": "SET time_zone = '+00:00'", "sqlite": "SELECT 1"}


def _day(text: str) -> dt.date:
    return dt.date.fromisoformat(text[:10])


def _naive(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def _instant(text: str) -> dt.datetime:
    return _naive(text).replace(tzinfo=dt.UTC)


# The engine, the column's type, the moments that it can hold, and what pyarrow makes of one.
COLUMNS = [
    ("postgres", "date", [*SENTINELS, *MOMENTS], _day),
    ("postgres", "timestamp", [*SENTINELS, *MOMENTS], _naive),
    ("postgres", "timestamptz", [*SENTINELS, *MOMENTS], _instant),
    ("mariadb", "date", [*SENTINELS, *MOMENTS], _day),
    ("mariadb", "datetime(6)", [*SENTINELS, *MOMENTS], _naive),
    ("mariadb", "timestamp(6) NULL", MOMENTS, _instant),
    ("sqlite", "DATE", [*SENTINELS, *MOMENTS], _day),
    ("sqlite", "DATETIME", [*SENTINELS, *MOMENTS], _naive),
]
NAIVE = {"postgres": "timestamp", "mariadb": "datetime(6)", "sqlite": "DATETIME"}


def _create(database: AnyDatabase, engine: str, declared: str, texts: Sequence[str | None]) -> None:
    """Make the table `events` of rows numbered from 0, whose moments are in UTC."""
    length = 10 if declared.lower() == "date" else None
    rows = ", ".join(f"({i}, {'NULL' if t is None else repr(t[:length])})" for i, t in enumerate(texts))
    create = f"CREATE TABLE events (id int PRIMARY KEY, created_at {declared})"
    database.execute(f"{IN_UTC[engine]}; {create}" + (f"; INSERT INTO events VALUES {rows}" if rows else ""))


@pytest.mark.parametrize("granularity", LABEL_LENGTHS)
@pytest.mark.parametrize(("engine", "declared", "moments", "value_of"), COLUMNS)
def test_each_moment_lands_in_its_own_window(
    tmp_path: Path,
    database: AnyDatabase,
    engine: str,
    declared: str,
    moments: list[str],
    value_of: Callable[[str], dt.date],
    granularity: str,
) -> None:
    """The first and the last microsecond of a window, in any year from 1 to 9999, are read back in it."""
    root = tmp_path / "tree"
    _create(database, engine, declared, [*moments, None])
    expected: dict[str, Rows] = {NULL: [(len(moments), None)]}
    for number, text in enumerate(moments):
        expected.setdefault(text[: LABEL_LENGTHS[granularity]], []).append((number, value_of(text)))

    outcome = run_well(
        tmp_path, database.source, by_day(root, partition_granularity=granularity), validate=True
    )

    assert rows_by_manifest(root) == {label: sorted(rows, key=repr) for label, rows in expected.items()}
    assert (outcome.rows, outcome.null_rows) == (len(moments) + 1, 1)


@pytest.mark.parametrize("scan", ["single", "per_partition"])
@pytest.mark.parametrize(
    ("engine", "declared", "time"),
    [
        ("postgres", "date", ""),
        ("postgres", "timestamp", "T00:00:00.000000"),
        ("postgres", "timestamptz", "T00:00:00.000000Z"),
        ("mariadb", "date", ""),
        ("mariadb", "datetime(6)", "T00:00:00.000000"),
        ("sqlite", "DATE", ""),
        ("sqlite", "DATETIME", "T00:00:00.000000"),
    ],
)
def test_the_last_window_ends_where_no_date_is(
    tmp_path: Path, database: AnyDatabase, engine: str, declared: str, time: str, scan: str
) -> None:
    """The manifest of the last day names its end in year 10000, and the day is read by any scan."""
    root = tmp_path / "tree"
    _create(database, engine, declared, ["9999-12-30 23:59:59.999999", "9999-12-31 23:59:59.999999"])

    run_well(tmp_path, database.source, by_day(root, scan=scan))

    partition = manifests(root)["9999-12-31"]["partition"]
    assert (partition["start"], partition["end"]) == (f"9999-12-31{time}", f"+10000-01-01{time}")
    assert {label: m["row_count"] for label, m in manifests(root).items()} == dict.fromkeys(
        ["9999-12-30", "9999-12-31"], 1
    )


@pytest.mark.parametrize(
    ("engine", "declared", "distant"),
    [
        ("postgres", "timestamptz", "ALTER DATABASE {database} SET TimeZone = 'Asia/Shanghai'"),
        ("mariadb", "timestamp(6)", "SET GLOBAL time_zone = '+11:00'"),
    ],
)
def test_no_zone_of_server_or_process_moves_a_row(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    database: AnyDatabase,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    declared: str,
    distant: str,
) -> None:
    """Instants fall into days of UTC whatever zone the server, the process and its environment live in."""
    root = tmp_path / "tree"
    moments = ["2024-03-09 23:59:59.999999", "2024-03-10 00:00:00.000000", "2024-03-10 12:00:00.000000"]
    _create(database, engine, declared, moments)
    server: Server = request.getfixturevalue(engine)
    for name in ("TZ", "PGTZ"):
        monkeypatch.setenv(name, "America/Havana")  # where this very midnight does not exist

    server.execute(distant.format(database=database.name))
    clock.tzset()
    try:
        run_well(tmp_path, database.source, by_day(root))
    finally:
        monkeypatch.undo()
        clock.tzset()
        if engine == "mariadb":
            server.execute("SET GLOBAL time_zone = 'SYSTEM'")

    values = [_instant(text) for text in moments]
    assert rows_by_manifest(root) == {
        "2024-03-09": [(0, values[0])],
        "2024-03-10": [(1, values[1]), (2, values[2])],
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_a_single_row_is_one_partition(tmp_path: Path, database: AnyDatabase, engine: str) -> None:
    """One row makes one partition of one part of one row, and nothing else."""
    root = tmp_path / "tree"
    _create(database, engine, NAIVE[engine], ["2024-02-29 23:59:59.999999"])

    outcome = run_well(tmp_path, database.source, by_day(root), validate=True)

    assert (outcome.rows, outcome.partitions, outcome.partitions_written) == (1, 1, 1)
    assert rows_by_manifest(root) == {"2024-02-29": [(0, _naive("2024-02-29 23:59:59.999999"))]}
    assert len(list(root.rglob("*.parquet"))) == 1


@pytest.mark.parametrize("scan", ["single", "per_partition"])
@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_are_all_null_are_the_null_partition(
    tmp_path: Path, database: AnyDatabase, engine: str, scan: str
) -> None:
    """A table whose dates are all NULL becomes the NULL partition alone, typed as described."""
    root = tmp_path / "tree"
    _create(database, engine, NAIVE[engine], [None, None, None])

    outcome = run_well(tmp_path, database.source, by_day(root, scan=scan), validate=True)

    assert (outcome.rows, outcome.null_rows, outcome.partitions) == (3, 3, 1)
    assert rows_by_manifest(root) == {NULL: [(0, None), (1, None), (2, None)]}
    manifest = manifests(root)[NULL]
    assert (manifest["partition"]["is_null"], manifest["partition"]["start"]) == (True, None)
    assert manifest["schema"][1]["type"] == "timestamp[us]"


@pytest.mark.parametrize("partitioned", [True, False])
@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_table_is_a_valid_tree_without_rows(
    tmp_path: Path, database: AnyDatabase, engine: str, *, partitioned: bool
) -> None:
    """An empty table leaves an export file with zero rows and the schema, which validates."""
    root = tmp_path / "tree"
    _create(database, engine, NAIVE[engine], [])
    export = by_day(root)
    if not partitioned:
        export = {"name": "events", "table": "events", "destination": {"type": "local", "path": str(root)}}

    outcome = run_well(tmp_path, database.source, export, validate=True)

    assert (outcome.rows, outcome.partitions) == (0, 0)
    assert [path.name for path in root.rglob("*")] == ["_rivet_export.json"]
    written = json.loads((root / "_rivet_export.json").read_text())
    assert (written["status"], written["row_count"], written["source_rows"]) == ("complete", 0, 0)
    assert written["partitions"] == []
    assert [(c["name"], c["type"]) for c in written["schema"]][1] == ("created_at", "timestamp[us]")


@pytest.mark.parametrize("engine", ENGINES)
def test_an_export_without_partition_by_is_one_partition_at_the_root(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """Without `partition_by` manifest, marker and part lie at the root itself, rows of no date among them."""
    root = tmp_path / "tree"
    _create(database, engine, NAIVE[engine], ["2024-02-29 00:00:00.000000", None])
    export = {"name": "events", "table": "events", "destination": {"type": "local", "path": f"{root}/"}}

    outcome = run_well(tmp_path, database.source, export, validate=True)

    assert (outcome.rows, outcome.partitions, outcome.scans) == (2, 1, 1)
    (part,) = manifests(root)[""]["parts"]
    assert sorted(read_part(root / part["path"])) == [(0, dt.datetime(2024, 2, 29)), (1, None)]
    assert sorted(path.name for path in root.iterdir()) == sorted(
        ["_rivet_export.json", "manifest.json", "_SUCCESS", part["path"]]
    )
