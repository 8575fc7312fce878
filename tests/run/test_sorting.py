"""Who sorts, and what mends a sort that is too large."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.command import run_command, write_config
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.refusing import MOMENT, refused
from tests.run.running import by_day, run_well
from tests.run.trees import manifests

# 20,000 rows over 14 days, in no order, and large enough for planners to care.
FILL = {
    "postgres": "SELECT i, timestamp '2023-01-01' + i * 7919 % 20000 * interval '1 minute', "
    "repeat(md5(i::text), 8) FROM generate_series(1, 20000) i; ANALYZE events",
    "mariadb": "SELECT seq, TIMESTAMP '2023-01-01 00:00:00' + INTERVAL seq * 7919 % 20000 MINUTE, "
    "REPEAT(MD5(seq), 8) FROM seq_1_to_20000; ANALYZE TABLE events",
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
    "SELECT i, datetime(1672531200 + i * 7919 % 20000 * 60, 'unixepoch'), hex(randomblob(128)) FROM n",
}


@pytest.mark.parametrize("engine", ENGINES)
def test_an_index_mends_a_sort_that_is_too_large(
    tmp_path: Path, database: AnyDatabase, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without one the sort is refused with its size; with one it is not needed, or smaller."""
    database.execute(
        f"CREATE TABLE events (id int PRIMARY KEY, created_at {MOMENT[engine]}, note varchar(400))"
    )
    database.execute(f"INSERT INTO events {FILL[engine]}")
    export = by_day(tmp_path / "tree", max_sort_size="1MB", sort="source")

    error, hint = refused(tmp_path, capsys, database.source, export)
    assert "and at most 1,000,000 are allowed" in error
    assert hint.startswith("create an index that leads with the partition column")
    database.execute("CREATE INDEX by_day ON events (created_at)")

    config = write_config(tmp_path, database.source, export)
    (planned,) = run_command(capsys, "plan", "--config", config, "--json").exports
    assert planned["sort_bytes"] <= 1_000_000
    outcome = run_well(tmp_path, database.source, export, validate=True)
    assert outcome.scans == len(planned["scans"])
    assert sum(m["row_count"] for m in manifests(tmp_path / "tree").values()) == 20_000


@pytest.mark.parametrize("engine", ENGINES)
def test_whoever_sorts_the_tree_is_the_same(
    tmp_path: Path,
    database: AnyDatabase,
    engine: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sorted by Rivet in temporary files, the parts have the bytes that they have sorted by the source."""
    monkeypatch.setattr("rivet.export.sorter.MEMORY_BYTES", 0)
    monkeypatch.setattr("rivet.export.sorter.RUN_BYTES", 500_000)
    database.execute(
        f"CREATE TABLE events (id int PRIMARY KEY, created_at {MOMENT[engine]}, note varchar(400))"
    )
    database.execute(f"INSERT INTO events {FILL[engine]}")
    database.execute("UPDATE events SET created_at = NULL WHERE id % 100 = 0")
    database.execute(
        "UPDATE events SET created_at = (SELECT t FROM (SELECT MIN(created_at) AS t FROM events) m) "
        "WHERE id % 100 = 1"
    )

    export = by_day(tmp_path / "tree", sort="source")
    first = run_well(tmp_path, database.source, export, validate=True)
    assert first.rows == 20_000
    other = by_day(tmp_path / "tree", sort="rivet")
    (planned,) = run_command(
        capsys, "plan", "--config", write_config(tmp_path, database.source, other), "--json"
    ).exports
    assert [scan["sorter"] for scan in planned["scans"]] == ["rivet"]
    again = run_well(tmp_path, database.source, other, validate=True)
    assert (again.partitions_written, again.partitions_unchanged) == (0, first.partitions)
