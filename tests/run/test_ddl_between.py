"""DDL that arrives between the locks of a run's connections: neither waits for the other."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rivet.errors import SourceUnavailable
from rivet.events import Event
from rivet.source.postgres.bulk import BulkReader
from rivet.source.relation import Request
from tests.run.nights import assert_equal, make_events
from tests.run.refusing import by_query
from tests.run.running import by_day, run_one, run_well
from tests.servers.database import Database
from tests.source.reading import EVERYTHING, source_of

ADDED = "ALTER TABLE events ADD COLUMN more int DEFAULT 5"
DROPPED = "ALTER TABLE events DROP COLUMN more"
WAITING = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


class _Others:
    """Other people, whose DDL stands in the queue before each turn at which the run would lock once more."""

    def __init__(self, database: Database, statements: Iterator[str]) -> None:
        self._database = database
        self._statements = statements
        self._threads: list[threading.Thread] = []

    def come(self) -> None:
        """Send the next statement, if there is one, and go on when it waits for a lock."""
        for statement in itertools.islice(self._statements, 1):
            thread = threading.Thread(target=self._database.execute, args=(statement,))
            self._threads.append(thread)
            thread.start()
            deadline = time.monotonic() + 30
            while not self._database.fetch(WAITING):
                assert time.monotonic() < deadline
                time.sleep(0.01)

    def have_done(self) -> int:
        """Count the statements, all of which must have got their locks by now."""
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()
        return len(self._threads)


@pytest.fixture
def others(
    postgres_database: Database, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> _Others:
    """Let the statements of the parameter come each after the run's first lock and before its second."""
    others = _Others(postgres_database, iter(request.param))
    hold = BulkReader.hold

    def holding(reader: BulkReader, from_item: str) -> None:
        others.come()
        hold(reader, from_item)

    monkeypatch.setattr(BulkReader, "hold", holding)
    return others


@pytest.mark.parametrize("what", ["table", "query"])
@pytest.mark.parametrize(
    ("others", "count"),
    [
        ([ADDED], 1),
        (["ALTER TABLE events DROP COLUMN note"], 1),
        (["REINDEX TABLE events"], 1),
        ([ADDED, DROPPED, ADDED], 3),
    ],
    indirect=["others"],
)
def test_ddl_that_comes_between_goes_first(
    tmp_path: Path, postgres_database: Database, others: _Others, count: int, what: str
) -> None:
    """It has ended before the run has planned, and the tree has the columns that it left."""
    make_events(postgres_database, "postgres")
    root = tmp_path / "tree"
    export = by_day(root)
    if what == "query":
        export = by_query(export, "SELECT * FROM events")
    done: list[int] = []

    def listen(event: Event) -> None:
        if event.kind == "planned":
            done.append(others.have_done())

    run_well(tmp_path, postgres_database.source, export, listener=listen)

    assert done == [count]
    assert_equal(root, postgres_database)


@pytest.mark.parametrize("others", [["ALTER TABLE events ALTER id TYPE bigint"]], indirect=True)
def test_a_table_that_is_written_anew_between_is_told(
    tmp_path: Path, postgres_database: Database, others: _Others
) -> None:
    """A run whose snapshot lost the rows meanwhile says so, and begins anew where it may."""
    make_events(postgres_database, "postgres")
    root = tmp_path / "tree"

    outcome = run_one(tmp_path, postgres_database.source, by_day(root))

    assert others.have_done() == 1
    assert outcome.exit_code == 3
    assert "written anew" in str(outcome.error)
    assert not root.exists()
    run_well(tmp_path, postgres_database.source, by_day(root))
    assert_equal(root, postgres_database)


@pytest.mark.parametrize("others", [[ADDED, DROPPED] * 50], indirect=True)
def test_ddl_that_comes_between_each_time(
    tmp_path: Path, postgres_database: Database, others: _Others, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run gives up after some times and may be tried again; all of the DDL has gone before it."""
    monkeypatch.setattr("rivet.source.postgres.session._ROUNDS", 3)
    make_events(postgres_database, "postgres")

    outcome = run_one(tmp_path, postgres_database.source, by_day(tmp_path / "tree"))

    assert others.have_done() == 3
    assert (outcome.status, outcome.exit_code) == ("failed", 3)
    assert "DDL came in between" in str(outcome.error)
    assert "ALTER TABLE" in str(outcome.hint)
    assert not (tmp_path / "tree").exists()


def test_a_further_connection_does_not_wait_for_ddl_that_waits_for_the_first(
    postgres_database: Database,
) -> None:
    """A second scan beside an open one ends with what stands in the way; the open one is read to its end."""
    postgres_database.execute(
        "CREATE TABLE events AS SELECT i, repeat('x', 9000) FROM generate_series(1, 6000) i"
    )
    others = _Others(postgres_database, iter([ADDED]))
    with source_of(postgres_database).session() as session:
        relation = session.describe(Request("events"))
        with session.read(relation, relation.columns, None, EVERYTHING) as batches:
            read = next(rows := iter(batches)).num_rows
            others.come()
            second = session.read(relation, relation.columns, None, EVERYTHING)
            with pytest.raises(SourceUnavailable, match="DDL came in between"), second:
                next(iter(second))
            assert read + sum(batch.num_rows for batch in rows) == 6000
    assert others.have_done() == 1
