"""The zone of the config alone decides: no zone of server, role, session, process or environment does."""

from __future__ import annotations

import datetime as dt
import time as clock
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rivet.errors import ConfigError
from rivet.run import run
from tests.run.conftest import AnyDatabase
from tests.run.running import by_day, run_well, settings
from tests.run.trees import manifests, rows_by_manifest, snapshot
from tests.servers.database import Server
from tests.zone_law import PLACE, zone_law

IN_UTC = {"postgres": "SET TimeZone = 'UTC'", "mariadb": "SET time_zone = '+00:00'"}
# Beside midnights of UTC and of Havana, where one does not exist.
INSTANTS = [
    *("2019-12-31 20:00:00", "2020-01-01 04:00:00", "2024-03-10 04:59:59.999999", "2024-03-10 05:00:00"),
    *("2024-03-11 03:59:59.999999", "2024-03-11 04:00:00", "2024-11-03 04:30:00", "2024-11-03 05:30:00"),
]
POSTGRES_ZONES = [
    "ALTER DATABASE {database} SET timezone = 'Asia/Shanghai'",
    "ALTER ROLE CURRENT_USER IN DATABASE {database} SET timezone = 'America/St_Johns'",
]
MARIADB_ZONES = ["SET GLOBAL time_zone = '+11:00'", "SET GLOBAL time_zone = '-09:30'"]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Give what sets the zone of this process and of the driver's library."""

    def put(zone: str) -> None:
        for name in ("TZ", "PGTZ"):
            monkeypatch.setenv(name, zone)
        clock.tzset()

    yield put
    monkeypatch.undo()
    clock.tzset()


@pytest.mark.parametrize("zone", ["UTC", "America/Havana"])
@pytest.mark.parametrize(
    ("engine", "declared", "zones"),
    [("postgres", "timestamptz", POSTGRES_ZONES), ("mariadb", "timestamp(6) NULL", MARIADB_ZONES)],
)
def test_nobody_elses_zone_changes_the_tree(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    database: AnyDatabase,
    environment: Callable[[str], None],
    engine: str,
    declared: str,
    zones: list[str],
    zone: str,
) -> None:
    """Server, role, process and environment in other zones give the same partitions and bytes of parts."""
    rows = ", ".join(f"({i}, '{text}')" for i, text in enumerate(INSTANTS))
    database.execute(
        f"{IN_UTC[engine]}; CREATE TABLE events (id int PRIMARY KEY, created_at {declared});"
        f"INSERT INTO events VALUES {rows}"
    )
    server: Server = request.getfixturevalue(engine)

    def tree(name: str) -> tuple[Any, ...]:
        root = tmp_path / name
        run_well(tmp_path, database.source, by_day(root, partition_timezone=zone))
        parts = {
            path.rpartition("/")[0]: data
            for path, data in snapshot(root).items()
            if path.endswith(".parquet")
        }
        return parts, {label: m["partition"] for label, m in manifests(root).items()}, rows_by_manifest(root)

    before = tree("before")
    assert (
        sorted(before[2])[:3]
        == {
            "UTC": ["2019-12-31", "2020-01-01", "2024-03-10"],
            "America/Havana": ["2019-12-31", "2024-03-09", "2024-03-10"],
        }[zone]
    )
    try:
        for number, statement in enumerate(zones):
            server.execute(statement.format(database=database.name))
            environment(["Pacific/Apia", "America/Havana"][number])
            assert tree(f"after {number}") == before
    finally:
        if engine == "mariadb":
            server.execute("SET GLOBAL time_zone = 'SYSTEM'")


@pytest.mark.parametrize(
    ("partition_by", "zone", "label"),
    [
        ("ts", "UTC", "2024-01-01"),
        ("ts", "Asia/Magadan", "2024-01-02"),
        ("dt", "UTC", "2024-01-02"),
    ],
)
def test_timestamp_and_datetime_of_one_wall_time(
    tmp_path: Path, mariadb_database: AnyDatabase, partition_by: str, zone: str, label: str
) -> None:
    """TIMESTAMP is an instant that falls into days of the zone; DATETIME is what it says, never shifted."""
    root = tmp_path / "tree"
    mariadb_database.execute(
        "CREATE TABLE events (ts timestamp NULL, dt datetime); SET time_zone = '+11:00';"
        "INSERT INTO events VALUES ('2024-01-02 09:00:00', '2024-01-02 09:00:00')"
    )

    run_well(
        tmp_path,
        mariadb_database.source,
        by_day(root, partition_by=partition_by, partition_timezone=zone),
        validate=True,
    )

    instant = dt.datetime(2024, 1, 1, 22, tzinfo=dt.UTC)
    assert rows_by_manifest(root) == {label: [(instant, dt.datetime(2024, 1, 2, 9))]}
    assert manifests(root)[label]["partition"]["timezone"] == (zone if partition_by == "ts" else None)


@pytest.mark.parametrize("later", ["Europe/London", "Asia/Tokyo"])
def test_a_new_law_is_followed_by_the_next_run(
    tmp_path: Path, postgres_database: AnyDatabase, later: str
) -> None:
    """When the zone database has changed, partitions with other bounds are written anew, no row lost."""
    root = tmp_path / "tree"
    postgres_database.execute(
        "CREATE TABLE events AS SELECT '2023-07-01 00:00Z'::timestamptz + i * interval '20 minutes'"
        " AS created_at FROM generate_series(0, 480) i"
    )

    def labels() -> dict[str, int]:
        return {label: len(rows) for label, rows in rows_by_manifest(root).items()}

    with zone_law(tmp_path / "zones") as law:
        law("Europe/Berlin")
        run_well(tmp_path, postgres_database.source, by_day(root, partition_timezone=PLACE))
        assert labels()["2023-07-01"] == 66  # from two in the morning
        law(later)
        outcome = run_well(
            tmp_path, postgres_database.source, by_day(root, partition_timezone=PLACE), validate=True
        )

    assert outcome.partitions_unchanged == 0
    assert labels()["2023-07-01"] == {"Europe/London": 69, "Asia/Tokyo": 45}[later]
    assert sum(labels().values()) == 481


def test_a_zone_that_the_database_forgot_is_named(tmp_path: Path, postgres_database: AnyDatabase) -> None:
    """Where the zone of a tree is known no more the run ends at once, naming it, and the tree stays."""
    root = tmp_path / "tree"
    postgres_database.execute("CREATE TABLE events AS SELECT now() AS created_at")
    export = by_day(root, partition_timezone=PLACE)

    with zone_law(tmp_path / "zones") as law:
        law("Europe/Berlin")
        run_well(tmp_path, postgres_database.source, export)
        before = snapshot(root)
        loaded = settings(tmp_path, postgres_database.source, export)
        law(None)
        with pytest.raises(ConfigError, match=PLACE):
            settings(tmp_path, postgres_database.source, export)
        (outcome,) = run(loaded, listener=lambda _: None).exports

    assert (outcome.status, outcome.exit_code) == ("failed", 2)
    assert PLACE in str(outcome.error)
    assert snapshot(root) == before
