"""Exports through a transaction pooler, where no setting of a session may be counted on, or left behind."""

from __future__ import annotations

from pathlib import Path

from tests.run.running import by_day, run_well
from tests.run.trees import rows_by_glob
from tests.servers.database import Database
from tests.servers.pooler import run_pooler

NAMES = (
    *("TimeZone", "DateStyle", "IntervalStyle", "extra_float_digits", "bytea_output", "lock_timeout"),
    *("client_encoding", "idle_in_transaction_session_timeout", "max_parallel_workers_per_gather"),
    *("default_transaction_read_only", "default_transaction_isolation", "client_connection_check_interval"),
)


def test_exports_through_a_transaction_pooler(tmp_path: Path, postgres_database: Database) -> None:
    """Run after run sees one snapshot, and the pooled connections have no setting of Rivet's afterwards."""
    postgres_database.execute(
        "CREATE TABLE events (id int PRIMARY KEY, created_at timestamp, note text); "
        "INSERT INTO events SELECT i, timestamp '2024-02-26' + i % 5 * interval '1 day', md5(i::text) "
        "FROM generate_series(1, 5000) AS i"
    )
    settings = "SELECT " + ", ".join(f"current_setting('{name}')" for name in NAMES)
    with run_pooler(postgres_database) as behind:
        before = behind.fetch(settings)
        for _ in range(3):
            outcome = run_well(tmp_path, behind.source, by_day(tmp_path / "tree"))
            assert (outcome.rows, outcome.consistency) == (5000, "snapshot")
        # More often than there are connections, so that each of them is asked.
        after = [behind.fetch(settings) for _ in range(9)]

    assert after == [before] * 9
    assert rows_by_glob(tmp_path / "tree") == sorted(
        postgres_database.fetch("SELECT id, created_at, note FROM events"), key=repr
    )
