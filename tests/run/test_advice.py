"""What people are told beside the results: at each run, or only where they ask what readers will see."""

from __future__ import annotations

from pathlib import Path

from rivet.run import check, plan
from tests.run.changing import by_change, make_orders
from tests.run.nights import make_events
from tests.run.running import by_day, run_well, settings
from tests.servers.database import Database
from tests.servers.sqlite import SqliteDatabase


def test_only_a_check_speaks_of_readers(tmp_path: Path, sqlite_database: SqliteDatabase) -> None:
    """A check says what each makes of the tree; neither plan nor run repeats what changes no value."""
    make_events(sqlite_database, "sqlite")
    export = by_day(tmp_path / "tree", partition_key="day")
    config = settings(tmp_path, sqlite_database.source, export)
    (checked,), (planned,) = check(config, listener=lambda _: None), plan(config, listener=lambda _: None)

    assert checked.readers is not None
    assert any("fails at manifest.json" in line for line in checked.readers["pyarrow"])
    assert planned.readers is None
    assert not any("manifest.json" in w for w in (*checked.warnings, *planned.warnings))
    assert run_well(tmp_path, sqlite_database.source, export).warnings == ()


def test_a_plan_says_where_values_are_older_than_sparks_calendar(
    tmp_path: Path, sqlite_database: SqliteDatabase
) -> None:
    """It knows the smallest value; a run, which changes none, says nothing."""
    sqlite_database.execute("CREATE TABLE events (created_at DATE); INSERT INTO events VALUES ('0001-01-01')")
    export = by_day(tmp_path / "tree", partition_key="day")

    (planned,) = plan(settings(tmp_path, sqlite_database.source, export), listener=lambda _: None)

    assert any(w.startswith("values begin at 0001-01-01: Spark 3") for w in planned.warnings)
    assert run_well(tmp_path, sqlite_database.source, export).warnings == ()


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


def test_a_plan_and_a_check_warn_of_a_cursor_without_an_index(
    tmp_path: Path, sqlite_database: SqliteDatabase
) -> None:
    """Every run would pass over the table for what has changed; where an index serves it they are silent."""
    make_orders(sqlite_database, "sqlite")
    config = settings(tmp_path, sqlite_database.source, by_change(tmp_path / "tree"))

    def warned() -> list[bool]:
        (planned,), (checked,) = plan(config, listener=lambda _: None), check(config, listener=lambda _: None)
        line = "no index leads with 'updated_at': changes are looked for among all rows"
        return [line in planned.warnings, line in checked.warnings]

    before = warned()
    sqlite_database.execute("CREATE INDEX by_change ON orders (updated_at)")

    assert (before, warned()) == ([True, True], [False, False])
