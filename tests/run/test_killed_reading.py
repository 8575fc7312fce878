"""A run that is killed while the server is still at work for it: the server does not work on for nobody."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.run.refusing import by_query
from tests.run.running import by_day, settings
from tests.servers.database import Database

# The probe needs no column that it does not count; the read sorts, and needs all.
SLOW = """
CREATE TABLE events (id int PRIMARY KEY, created_at timestamp);
INSERT INTO events SELECT i, timestamp '2024-01-01' + i * interval '1 day' FROM generate_series(1, 30) AS i;
CREATE FUNCTION slow(i int) RETURNS int LANGUAGE plpgsql STABLE AS
$$ BEGIN PERFORM pg_sleep(600); RETURN i; END $$;
"""
OURS = "FROM pg_stat_activity WHERE application_name = 'rivet' AND datname = current_database()"


def _wait_for(database: Database, condition: str) -> None:
    deadline = time.monotonic() + 60
    while database.fetch(f"SELECT {condition} {OURS}") != [(True,)]:
        assert time.monotonic() < deadline, database.fetch(f"SELECT state, query {OURS}")
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("query", "busy"),
    [
        ("SELECT id, created_at FROM events WHERE slow(id) > 0", "SELECT count%"),
        ("SELECT id, created_at, slow(id) AS slow FROM events", "COPY%"),
    ],
    ids=["probe", "read"],
)
def test_postgres_ends_the_queries_of_a_run_that_is_killed(
    tmp_path: Path, postgres_database: Database, query: str, busy: str
) -> None:
    """The connections for asking and for bulk rows are gone within seconds, before any first row."""
    postgres_database.execute(SLOW)
    settings(tmp_path, postgres_database.source, by_query(by_day(tmp_path / "tree"), query))
    command = [sys.executable, "-m", "rivet", "run", "--config", str(tmp_path / "rivet.yaml"), "--quiet"]
    with subprocess.Popen(command) as running:
        try:
            _wait_for(postgres_database, f"bool_or(state = 'active' AND query LIKE '{busy}')")
        finally:
            running.kill()

    _wait_for(postgres_database, "count(*) = 0")
