"""What people are told beside the results: at each run, or only where they ask what readers will see."""

from __future__ import annotations

from pathlib import Path

from rivet.run import check, plan
from tests.run.nights import make_events
from tests.run.running import by_day, run_well, settings
from tests.servers.database import Database
from tests.servers.sqlite import SqliteDatabase


def test_only_a_check_speaks_of_readers_that_open_whole_folders(
    tmp_path: Path, sqlite_database: SqliteDatabase
) -> None:
    """A manifest beside the data is told once, before the first run, and not where it is named apart."""
    make_events(sqlite_database, "sqlite")
    export = by_day(tmp_path / "tree", partition_key="day")
    config = settings(tmp_path, sqlite_database.source, export)
    line = "manifest.json lies beside the data"

    assert any(line in warning for warning in check(config, listener=lambda _: None)[0].warnings)
    assert not any(line in warning for warning in plan(config, listener=lambda _: None)[0].warnings)
    assert not any(line in w for w in run_well(tmp_path, sqlite_database.source, export).warnings)
    destination = export["destination"] | {"manifest_name": "_manifest.json"}
    config = settings(tmp_path, sqlite_database.source, export | {"destination": destination})
    assert not any(line in warning for warning in check(config, listener=lambda _: None)[0].warnings)


def test_rows_that_are_hidden_are_told_by_a_check_and_by_each_run(
    tmp_path: Path, postgres_database: Database
) -> None:
    """A table whose policies hide rows is exported without them, and nobody takes it for the whole."""
    make_events(postgres_database, "postgres")
    postgres_database.execute(
        "CREATE POLICY few ON events USING (id = 1); ALTER TABLE events ENABLE ROW LEVEL SECURITY;"
        "ALTER TABLE events FORCE ROW LEVEL SECURITY"
    )
    export = by_day(tmp_path / "tree", partition_key="day")
    line = (
        f"rows that the row-level security of table 'public.events' hides from "
        f"{postgres_database.server.user!r} are left out; to export them, read as a role with BYPASSRLS"
    )

    outcome = run_well(tmp_path, postgres_database.source, export)

    assert (outcome.rows, outcome.warnings) == (1, (line,))
    config = settings(tmp_path, postgres_database.source, export)
    assert line in check(config, listener=lambda _: None)[0].warnings
