"""What would be too large to be read again is refused before anything is published."""

from __future__ import annotations

from pathlib import Path

import pytest

from rivet.export import stage
from rivet.manifest import strict_json
from rivet.publish import announcement
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import snapshot
from tests.servers.sqlite import SqliteDatabase

TABLE = """
    CREATE TABLE events (id INTEGER PRIMARY KEY, created_at DATETIME);
    INSERT INTO events VALUES (1, '2023-01-01 00:00:00'), (2, '2023-01-02 12:00:00');
"""


@pytest.fixture
def source(sqlite_database: SqliteDatabase) -> SqliteDatabase:
    """Give a table of two days."""
    sqlite_database.execute(TABLE)
    return sqlite_database


def test_a_manifest_that_no_run_would_read_is_not_written(
    source: SqliteDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit of what is read is that of what is written: exit 2 with the mend, and the tree as it was."""
    run_well(tmp_path, source.source, by_day(tmp_path / "tree"))
    before = snapshot(tmp_path / "tree")
    source.execute("INSERT INTO events VALUES (3, '2023-01-02 13:00:00')")
    monkeypatch.setattr(stage, "MAX_MANIFEST_BYTES", 1000)

    outcome = run_one(tmp_path, source.source, by_day(tmp_path / "tree"))
    assert outcome.exit_code == 2
    assert "the manifest of 'created_at=2023-01-01', of 1 part, would not be read again" in str(outcome.error)
    assert "the file is larger than 1000 bytes" in str(outcome.error)
    assert "max_file_size" in str(outcome.hint)
    assert snapshot(tmp_path / "tree") == before


def test_an_export_file_that_no_run_would_read_is_not_written(
    source: SqliteDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused before anything is published, though only the last writing would be too much."""
    run_well(tmp_path, source.source, by_day(tmp_path / "other"))
    values = sum(map((tmp_path / "other" / "_rivet_export.json").read_bytes().count, (b"[", b"{", b",")))
    monkeypatch.setattr(strict_json, "_MAX_VALUES", values - 1)
    monkeypatch.setattr(announcement, "_SURELY_LISTED", 1)

    outcome = run_one(tmp_path, source.source, by_day(tmp_path / "tree"))
    assert outcome.exit_code == 2
    assert "_rivet_export.json, of 2 partitions, would not be read again" in str(outcome.error)
    assert f"the file has more than {values - 1} values" in str(outcome.error)
    assert not (tmp_path / "tree").exists()
