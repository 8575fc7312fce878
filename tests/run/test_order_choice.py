"""In what order rows are read: as they lie, and sorted, or as an index leads to them."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from rivet.outcome import Reading
from rivet.plan.scans import Sorter
from tests.run.command import run_command, write_config
from tests.run.conftest import AnyDatabase
from tests.run.running import by_day, run_well
from tests.run.trees import NULL, rows_by_manifest
from tests.servers.database import Database
from tests.servers.sqlite import SqliteDatabase

ROWS = 30_000
# 30,000 minutes of 21 days, some without a day.
VALUE = "CASE WHEN i % 100 > 0 THEN timestamp '2023-01-01' + {minute} * interval '1 minute' END"
MINUTES = {"random": "i * 7919 % 30000", "sorted": "i", "reversed": "(30000 - i)"}
PLENTY, LITTLE = "20GB", "100KB"
# By such a cost of a page the server's planner takes an index rather than sort, and by such it never does.
CHEAP, DEAR = "1.1", "400"


def _fill(database: Database, shape: str, *, is_indexed: bool, page_cost: str = CHEAP) -> None:
    database.execute(f'ALTER DATABASE "{database.name}" SET random_page_cost = {page_cost}')
    value = VALUE.format(minute=MINUTES[shape])
    database.execute(
        "CREATE TABLE events (id int PRIMARY KEY, created_at timestamp, n int);"
        f"INSERT INTO events SELECT i, {value}, i % 7 FROM generate_series(1, {ROWS}) i"
    )
    if is_indexed:
        database.execute("CREATE INDEX by_day ON events (created_at)")
    database.execute("ANALYZE events")


def _fill_sqlite(database: SqliteDatabase, shape: str, *, is_indexed: bool) -> None:
    value = f"iif(i % 100, datetime(1672531200 + {MINUTES[shape]} * 60, 'unixepoch'), NULL)"
    database.execute("CREATE TABLE events (id int PRIMARY KEY, created_at DATETIME, n int)")
    database.execute(
        f"WITH RECURSIVE m(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM m WHERE i < {ROWS}) "
        f"INSERT INTO events SELECT i, {value}, i % 7 FROM m"
    )
    if is_indexed:
        database.execute("CREATE INDEX by_day ON events (created_at)")


def _planned(capsys: pytest.CaptureFixture[str], directory: Path, database: AnyDatabase, **more: Any) -> Any:
    export = {key: value for key, value in by_day(directory / "tree", **more).items() if value is not None}
    config = write_config(directory, database.source, export)
    (planned,) = run_command(capsys, "plan", "--config", config, "--json").exports
    return planned


def _kind(planned: Any) -> tuple[str, set[str], bool]:
    """Give the way, who sorts, and whether anybody has to."""
    return planned["choice"]["way"], {s["sorter"] for s in planned["scans"]}, planned["sort_bytes"] > 0


def _exported(tmp_path: Path, database: AnyDatabase, place: str, **more: Any) -> Reading:
    """Export, and compare every row with the database."""
    root = tmp_path / place
    outcome = run_well(tmp_path, database.source, by_day(root, **more), validate=True)
    held: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for key, at, n in database.fetch("SELECT id, created_at, n FROM events ORDER BY id"):
        moment = None if at is None else dt.datetime.fromisoformat(str(at))
        held[NULL if moment is None else f"{moment:%Y-%m-%d}"].append((key, moment, n))
    landed = rows_by_manifest(root)
    assert {value: sorted(tuple(row) for row in rows) for value, rows in landed.items()} == dict(held)
    assert outcome.reading is not None
    return outcome.reading


@pytest.mark.parametrize("is_indexed", [True, False], ids=["index", "none"])
@pytest.mark.parametrize("shape", MINUTES)
def test_an_index_orders_rows_where_they_lie_in_its_order_alone(
    tmp_path: Path,
    postgres_database: Database,
    shape: str,
    is_indexed: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Else they are read in one pass and sorted by Rivet, whether or not the source might sort as much."""
    database = postgres_database
    _fill(database, shape, is_indexed=is_indexed)
    by_index = is_indexed and shape != "random"

    for limit in (PLENTY, LITTLE):
        planned = _planned(capsys, tmp_path, database, max_sort_size=limit)
        assert _kind(planned) == ("single", {"source"} if by_index else {"rivet"}, not by_index), planned
        assert [a["index"] for a in planned["estimate"]["accesses"]] == ["by_day" if by_index else None]
        assert ("Rivet would sort for" if by_index else "Rivet sorts them in about") in planned["choice"][
            "why"
        ]
        assert ("longer" in planned["choice"]["why"]) is is_indexed

        reading = _exported(tmp_path, database, limit, max_sort_size=limit)
        assert reading.sorter == (None if by_index else Sorter.RIVET)
        assert reading.choice.why == planned["choice"]["why"]


@pytest.mark.parametrize("page_cost", [CHEAP, DEAR])
def test_what_the_server_thinks_of_its_disk_changes_no_choice(
    tmp_path: Path, postgres_database: Database, page_cost: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows in no order are read in one pass, too, where it would sort, and more than it may."""
    database = postgres_database
    _fill(database, "random", is_indexed=True, page_cost=page_cost)

    for limit in (PLENTY, LITTLE):
        planned = _planned(capsys, tmp_path, database, max_sort_size=limit)
        assert _kind(planned) == ("single", {"rivet"}, True), planned
        assert ("longer" in planned["choice"]["why"]) is (page_cost == CHEAP)
    assert _exported(tmp_path, database, "tree", max_sort_size=LITTLE).sorter is Sorter.RIVET
    # Who wants the source to sort has it cut into what it may.
    several = _planned(capsys, tmp_path, database, max_sort_size=LITTLE, sort="source")
    if page_cost == DEAR:
        assert several["choice"]["way"] == "bounded"
        assert 0 < several["sort_bytes"] <= 100_000
    else:
        assert _kind(several) == ("single", {"source"}, False)


def test_without_room_for_temporary_files_rows_come_by_the_index(
    tmp_path: Path,
    postgres_database: Database,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long that takes; and the source sorts what it may, in as many scans as that asks for."""
    database = postgres_database
    _fill(database, "random", is_indexed=True)
    monkeypatch.setattr("rivet.plan.sorting._IN_MEMORY_BYTES", 0)
    monkeypatch.setattr("rivet.preparing.ordering.free_bytes", lambda: 1000)

    assert _kind(_planned(capsys, tmp_path, database)) == ("single", {"source"}, False)
    assert _exported(tmp_path, database, "one").sorter is None

    database.execute(f'ALTER DATABASE "{database.name}" SET random_page_cost = {DEAR}')
    planned = _planned(capsys, tmp_path, database, max_sort_size=LITTLE)
    assert planned["choice"]["way"] == "bounded"
    assert planned["choice"]["why"].endswith("more than max_sort_size allows")
    assert 0 < planned["sort_bytes"] <= 100_000
    assert _exported(tmp_path, database, "several", max_sort_size=LITTLE).sorter is Sorter.SOURCE


def test_bounds_on_scans_hold_whoever_sorts(
    tmp_path: Path, postgres_database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scans of at most so many rows, or of one day, stay such where the rows lie in no order."""
    database = postgres_database
    _fill(database, "random", is_indexed=True)

    bounded = _planned(capsys, tmp_path, database, max_scan_rows=20_000)
    assert bounded["choice"]["way"] == "bounded"
    assert max(s["expected_rows"] for s in bounded["scans"]) <= 20_000
    *ranges, nulls = (s["sorter"] for s in bounded["scans"])
    assert (ranges, nulls) == (["rivet", "rivet"], "source")
    assert "; of the largest scan's rows: Rivet sorts them in about" in bounded["choice"]["why"]
    days = _planned(capsys, tmp_path, database, scan="per_partition")
    assert len(days["scans"]) == days["partition_count"]
    assert _exported(tmp_path, database, "bounded", max_scan_rows=20_000).sorter is Sorter.RIVET
    _exported(tmp_path, database, "days", scan="per_partition")


def test_an_index_under_a_query_is_judged_as_that_of_a_table(
    tmp_path: Path, postgres_database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which way the rows lie the planner's own index tells, whatever the text that leads to it."""
    database = postgres_database
    for shape, who in (("random", "rivet"), ("sorted", "source")):
        database.execute("DROP TABLE IF EXISTS events")
        _fill(database, shape, is_indexed=True)
        query = "SELECT id, created_at, n + 1 AS n FROM events"
        planned = _planned(capsys, tmp_path, database, table=None, query=query)
        assert _kind(planned)[:2] == ("single", {who}), planned


@pytest.mark.parametrize("is_indexed", [True, False], ids=["index", "none"])
@pytest.mark.parametrize("shape", MINUTES)
def test_sqlite_goes_by_an_index_where_rows_lie_in_its_order_alone(
    tmp_path: Path,
    sqlite_database: SqliteDatabase,
    shape: str,
    is_indexed: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its planner would always; without one it sorts what it may, and Rivet what is more."""
    database = sqlite_database
    _fill_sqlite(database, shape, is_indexed=is_indexed)
    by_index = is_indexed and shape != "random"

    for limit in (PLENTY, LITTLE):
        planned = _planned(capsys, tmp_path, database, max_sort_size=limit)
        who = "source" if by_index or (limit == PLENTY and not is_indexed) else "rivet"
        assert _kind(planned) == ("single", {who}, not by_index), planned
        assert ("longer" in planned["choice"]["why"]) is is_indexed
        reading = _exported(tmp_path, database, limit, max_sort_size=limit)
        assert reading.sorter == (None if by_index else Sorter(who))


@pytest.mark.parametrize("shape", ["random", "sorted"])
def test_mariadb_is_read_in_one_pass_whatever_the_index(
    tmp_path: Path, mariadb_database: Database, shape: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would sort the whole table, and several scans would sort as much; it does if it is asked to."""
    database = mariadb_database
    minute = {"random": "seq * 7919 % 30000", "sorted": "seq"}[shape]
    database.execute(
        "CREATE TABLE events (id int PRIMARY KEY, created_at datetime, n int, INDEX by_day (created_at))"
    )
    database.execute(
        "INSERT INTO events SELECT seq, IF(seq % 100, TIMESTAMP '2023-01-01 00:00:00' + "
        f"INTERVAL {minute} MINUTE, NULL), seq % 7 FROM seq_1_to_{ROWS}"
    )
    database.execute("ANALYZE TABLE events")

    for limit in (PLENTY, LITTLE):
        planned = _planned(capsys, tmp_path, database, max_sort_size=limit)
        assert _kind(planned) == ("single", {"rivet"}, True), planned
        assert _exported(tmp_path, database, limit, max_sort_size=limit).sorter is Sorter.RIVET
    several = _planned(capsys, tmp_path, database, max_sort_size=LITTLE, sort="source")
    assert several["choice"]["way"] == "bounded"
    assert several["sort_bytes"] <= 100_000
