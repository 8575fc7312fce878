"""Sources and moments that cannot be had: refused with the mend, exit 2, and nothing on the disk touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.refusing import by_query, events_table, refused
from tests.run.running import by_day, run_well


@pytest.mark.parametrize("by", ["table", "view", "query"])
def test_a_snapshot_that_cannot_be_had_is_refused(
    tmp_path: Path, mariadb_database: AnyDatabase, capsys: pytest.CaptureFixture[str], by: str
) -> None:
    """An Aria table has no snapshot: who insists on one is refused, and who does not is told."""
    mariadb_database.execute(events_table("mariadb"))
    mariadb_database.execute("ALTER TABLE events ENGINE = Aria; CREATE VIEW seen AS SELECT * FROM events")
    root = tmp_path / "place" / "tree"
    export = by_day(root, table="seen" if by == "view" else "events")
    if by == "query":
        export = by_query(export, "SELECT * FROM events WHERE id IN (SELECT id FROM events)")

    error, hint = refused(tmp_path, capsys, mariadb_database.source | {"consistency": "snapshot"}, export)

    assert error.startswith("$.source.consistency: a snapshot cannot be had: ")
    assert "is stored by Aria" in error
    assert "consistency: statement" in hint
    outcome = run_well(tmp_path, mariadb_database.source, export, validate=True)
    assert outcome.consistency == "statement"
    assert any("is stored by Aria" in warning for warning in outcome.warnings)


@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_a_login_that_is_refused(
    tmp_path: Path, database: Any, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong password, an unknown user and a missing database are denied, and no password is shown."""
    server = database.server
    login = {
        "type": server.source_type,
        "host": server.host,
        "port": server.port,
        "user": server.user,
        "database": database.name,
    }
    export = by_day(tmp_path / "place" / "tree")
    for changes, message in (
        (
            {"password": "wr0ng"},
            "password authentication failed" if engine == "postgres" else "Access denied",
        ),
        ({"user": "nobody", "password": "wr0ng"}, "nobody"),
        ({"database": "no_such_place", "password": server.password}, "no_such_place"),
    ):
        error, hint = refused(tmp_path, capsys, login | changes, export)

        assert message in error
        assert "check" in hint
        assert "wr0ng" not in error + hint
        assert server.password not in error + hint


def test_a_file_that_is_no_sqlite_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing file is not made, and a directory or a text is told for what it is."""
    (tmp_path / "text.db").write_text("id,created_at\n" * 100)
    (tmp_path / "folder").mkdir()
    export = by_day(tmp_path / "place" / "tree")

    for name, message in (
        ("none.db", "no SQLite database"),
        ("folder", "is a directory"),
        ("text.db", "file is not a database"),
    ):
        error, hint = refused(tmp_path, capsys, {"type": "sqlite", "path": str(tmp_path / name)}, export)

        assert message in error
        assert name in error
        assert hint


FIT_NO_CALENDAR = {
    "postgres": ["'infinity'", "'-infinity'", "'0044-03-15 BC'", "'10000-01-01'"],
    "mariadb": ["'0000-00-00'", "'2023-00-00'", "'0000-00-00'", "'2023-02-00'"],
    "sqlite": ["'yesterday'", "''", "'2023-02-30'", "'10000-01-01'"],
}


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_fit_no_calendar_are_counted_and_refused(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Infinity, zero dates, BC and nonsense stop the export with their number; NULL is none of them."""
    database.execute(events_table(engine))
    rows = [f"({number}, {moment})" for number, moment in enumerate(FIT_NO_CALENDAR[engine], 5)]
    insert = f"INSERT INTO events (id, created_at) VALUES {', '.join(rows)}"
    database.execute(f"SET sql_mode = ''; {insert}" if engine == "mariadb" else insert)
    root = tmp_path / "place" / "tree"

    error, hint = refused(tmp_path, capsys, database.source, by_day(root))

    assert error.startswith("column 'created_at': 4 of 8 rows hold a value that fits no calendar")
    assert "unrepresentable: null" in hint
    assert "CASE WHEN … THEN … END" in hint
