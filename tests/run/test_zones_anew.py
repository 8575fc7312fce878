"""Connections that are made anew under a server whose zone is far from UTC: nothing is shifted by it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq
import pytest

from rivet.events import Event
from rivet.run import run
from tests.run.gates import make_gate, shut_gate
from tests.run.running import by_day, settings
from tests.run.trees import manifests, rows_by_manifest
from tests.servers.database import Database
from tests.source.server_settings import global_settings

ROWS, STEP_HOURS = 60, 5
FIRST = dt.datetime(2024, 2, 26, 9, tzinfo=dt.UTC)
# The same wall time in both columns; the gate stands before the last row.
CREATE = {
    "postgres": "CREATE TABLE base (id int PRIMARY KEY, instant timestamptz, naive timestamp);"
    f" INSERT INTO base SELECT i, ts AT TIME ZONE 'UTC', ts FROM generate_series(0, {ROWS - 1}) AS i,"
    f" LATERAL (SELECT timestamp '2024-02-26 09:00' + i * interval '{STEP_HOURS} hours' AS ts) AS at;"
    " CREATE VIEW events AS SELECT passed(id) AS id, instant, naive FROM base",
    "mariadb": "CREATE TABLE base (id int PRIMARY KEY, instant timestamp(6) NULL, naive datetime(6));"
    " SET time_zone = '+00:00'; INSERT INTO base SELECT seq, ts, ts FROM (SELECT seq,"
    f" TIMESTAMP '2024-02-26 09:00:00' + INTERVAL seq * {STEP_HOURS} HOUR AS ts"
    f" FROM seq_0_to_{ROWS - 1}) AS at;"
    " CREATE VIEW events AS SELECT passed(id) AS id, instant, naive FROM base",
}
KILL = {
    "postgres": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = '{name}' AND application_name = 'rivet'",
    "mariadb": "SELECT id FROM information_schema.processlist WHERE db = '{name}' AND user = 'rivet'",
}


@contextmanager
def _elsewhere(database: Database, engine: str) -> Iterator[None]:
    """Let all new connections of the server begin eleven hours from UTC, unless they say otherwise."""
    if engine == "mariadb":
        with global_settings(database, time_zone="+11:00"):
            assert database.fetch("SELECT @@time_zone") == [("+11:00",)]
            yield
        return
    for owner in (f"DATABASE {database.name}", f"ROLE {database.server.user} IN DATABASE {database.name}"):
        database.server.execute(f"ALTER {owner} SET timezone = 'Pacific/Noumea'")
    assert database.fetch("SHOW timezone") == [("Pacific/Noumea",)]
    yield


def _expected(by: str, zone: str) -> dict[str, list[tuple[int, dt.datetime, dt.datetime]]]:
    """Count the rows without any database, by the label of their day."""
    expected: dict[str, list[tuple[int, dt.datetime, dt.datetime]]] = {}
    for i in range(ROWS):
        at = FIRST + i * dt.timedelta(hours=STEP_HOURS)
        naive = at.replace(tzinfo=None)
        day = naive if by == "naive" else at.astimezone(ZoneInfo(zone))
        expected.setdefault(day.date().isoformat(), []).append((i, at, naive))
    return {label: sorted(rows, key=repr) for label, rows in expected.items()}


@pytest.mark.parametrize(
    ("by", "zone"), [("instant", "UTC"), ("instant", "Pacific/Noumea"), ("naive", "UTC")]
)
@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_a_run_that_is_begun_anew_has_the_same_rows_in_the_same_partitions(
    tmp_path: Path, database: Database, engine: str, by: str, zone: str
) -> None:
    """Its connections are killed in the middle of the scan; those of the second attempt are pinned alike."""
    make_gate(database, engine, ROWS - 1)
    database.execute(CREATE[engine])
    root = tmp_path / "tree"
    more = {} if by == "naive" else {"partition_timezone": zone}
    config = settings(
        tmp_path,
        database.source | {"retries": 1},
        by_day(root, partition_by=by, partition_key="day", **more),
    )

    with _elsewhere(database, engine), shut_gate(database, engine) as gate:

        def kill(event: Event) -> None:
            if event.kind == ("planned" if engine == "postgres" else "progress") and gate.is_shut:
                gate.await_scan()
                killed = database.server.fetch(KILL[engine].format(name=database.name))
                assert killed
                if engine == "mariadb":
                    for (thread,) in killed:
                        database.server.execute(f"KILL CONNECTION {thread}")
                gate.open()

        outcome = run(config, listener=kill, sleep=lambda _: None)

    assert [(e.status, e.error) for e in outcome.exports] == [("complete", None)]
    assert {m["source"]["attempt"] for m in manifests(root).values()} == {2}
    assert rows_by_manifest(root) == _expected(by, zone)
    for part in root.rglob("*.parquet"):
        kinds = {field.name: str(field.type) for field in pq.ParquetFile(part).schema_arrow}
        assert (kinds["instant"], kinds["naive"]) == ("timestamp[us, tz=UTC]", "timestamp[us]")
