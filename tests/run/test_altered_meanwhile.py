"""Columns that change when the first partition is done: the run goes on with those that it began with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rivet.attempt.ahead import ReadAhead
from rivet.destination.local import LocalDestination
from rivet.events import Event
from rivet.source.mysql.session import MysqlSession
from rivet.validate import validate
from tests.run.altering import Altering, statement
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import assert_equal, make_events
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import manifests, rows_by_manifest

OLD = ("id", "created_at", "note")


@pytest.mark.parametrize("gone", ["ALTER TABLE events DROP COLUMN note", "RENAME TABLE events TO others"])
def test_what_goes_once_it_is_described_is_looked_for_anew(
    tmp_path: Path, mariadb_database: AnyDatabase, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    """MariaDB knows no such column or table then: the run may be tried again, and finds what there is now."""
    make_events(mariadb_database, "mariadb")
    probe, statements = MysqlSession.probe, [gone]

    def probed(*args: Any) -> Any:
        if statements:
            mariadb_database.execute(statements.pop())
        return probe(*args)

    monkeypatch.setattr(MysqlSession, "probe", probed)
    root = tmp_path / "tree"
    outcome = run_one(tmp_path, mariadb_database.source, by_day(root))

    assert (outcome.exit_code, "a table was altered" in str(outcome.hint)) == (3, True), outcome.error
    assert not root.exists()
    again = run_one(tmp_path, mariadb_database.source, by_day(root))
    assert (again.exit_code, root.exists()) == ((0, True) if "DROP" in gone else (2, False))


def _before_the_second_scan(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> list[int]:
    """Act when the scan of one partition has been passed and that of the next begins; scans are counted."""
    read, scans = ReadAhead.read, [0]

    def reading(self: ReadAhead, *args: Any) -> Any:
        scans[0] += 1
        if scans[0] == 2:
            act()
        return read(self, *args)

    monkeypatch.setattr(ReadAhead, "read", reading)
    return scans


def _when_one_is_published(act: Callable[[], None]) -> Callable[[Event], None]:
    return lambda event: act() if event.facts.get("published") else None


@pytest.mark.parametrize("change", ["added", "dropped", "retyped"])
@pytest.mark.parametrize("how", ["per_partition", "eager", "eager per_partition"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_change_when_the_first_partition_is_done_mixes_nothing(
    tmp_path: Path,
    database: AnyDatabase,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    how: str,
    change: str,
) -> None:
    """All parts have the columns and rows that were planned, be they published or only staged by then."""
    monkeypatch.setattr("rivet.attempt.attempt._EAGER_GROUP_PARTITIONS", 1)
    if engine == "sqlite":
        database.execute("PRAGMA journal_mode = WAL")  # else readers keep writers out
    make_events(database, engine)
    (tmp_path / "before").mkdir()
    run_well(tmp_path / "before", database.source, by_day(tmp_path / "before" / "tree"))
    before = rows_by_manifest(tmp_path / "before" / "tree")
    root = tmp_path / "tree"
    altering = Altering(database, engine, statement(change, engine))
    export = by_day(root, scan="per_partition" if "per_partition" in how else "single")
    published: list[int] = []

    def alter() -> None:
        published.append(len(manifests(root)))
        altering.come()

    if "eager" in how:
        listen = _when_one_is_published(alter)
        outcome = run_one(tmp_path, database.source, export | {"publish": "eager"}, listener=listen)
        assert 0 < published[0] < len(before)
    else:
        scans = _before_the_second_scan(monkeypatch, alter)
        outcome = run_one(tmp_path, database.source, export)
        assert scans[0] > 2
    altering.end()
    monkeypatch.undo()

    assert (outcome.status, outcome.error) == ("complete", None)
    assert rows_by_manifest(root) == before
    assert {tuple(pq.ParquetFile(part).schema_arrow.names) for part in root.rglob("*.parquet")} == {OLD}
    assert len({manifest["schema_fingerprint"] for manifest in manifests(root).values()}) == 1
    assert validate(LocalDestination(root), depth="full", strict=True).findings == ()
    run_well(tmp_path, database.source, by_day(root), validate=True)
    assert_equal(root, database)
