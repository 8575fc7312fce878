"""What a reader that globs sees while a run is under way: the old tree, until publishing begins."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rivet.destination.local_staged import LocalStaged
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import make_events
from tests.run.running import by_day, run_well

# So large that a scan hands over several batches, and that one day is no longer like another.
MANY = {
    "postgres": "SELECT i, timestamp '2023-01-01' + i * interval '10 seconds', repeat(md5(i::text), 4) "
    "FROM generate_series(100, 59999) i",
    "mariadb": "SELECT seq, TIMESTAMP '2023-01-01 00:00:00' + INTERVAL seq * 10 SECOND, REPEAT(MD5(seq), 4) "
    "FROM seq_100_to_59999",
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 59999) "
    "SELECT i, datetime(1672531200 + i * 10, 'unixepoch'), hex(randomblob(64)) FROM n",
}


def _count(root: Path) -> int:
    """Count rows as a reader does that opens whatever ends in `.parquet` at any depth."""
    return sum(pq.read_metadata(path).num_rows for path in root.rglob("*.parquet"))


@pytest.mark.parametrize("scan", ["single", "per_partition"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_reader_never_counts_a_staged_row(
    tmp_path: Path, database: AnyDatabase, engine: str, scan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each staged part and at every event a glob counts the old rows, and once published the new."""
    make_events(database, engine)
    database.execute(
        "ALTER TABLE events "
        + {"postgres": "ALTER note TYPE text", "mariadb": "MODIFY note text", "sqlite": "ADD more int"}[
            engine
        ]
    )
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_day(root, scan=scan))
    old = _count(root)
    assert old == 11
    note = ", NULL" if engine == "sqlite" else ""
    database.execute(f"INSERT INTO events SELECT *{note} FROM ({MANY[engine]}) AS many")
    new = 11 + 59_900
    seen: list[tuple[bool, int, int]] = []

    def look(*, is_published: bool) -> None:
        staged = root / "_rivet_staging"
        files = [path for path in staged.rglob("*") if path.is_file()] if staged.exists() else []
        seen.append((is_published, _count(root), len(files)))

    finish = LocalStaged.finish

    def finish_and_look(file: LocalStaged) -> None:
        finish(file)
        if file.target.endswith(".parquet"):
            look(is_published=False)

    monkeypatch.setattr(LocalStaged, "finish", finish_and_look)
    run_well(
        tmp_path,
        database.source,
        by_day(root, scan=scan),
        # So few partitions are published together: a run says 0 of them before, and all of them after.
        listener=lambda event: look(is_published=bool(event.facts.get("published"))),
    )

    published = [is_published for is_published, _, _ in seen].index(True)
    assert {count for _, count, _ in seen[:published]} == {old}
    assert {count for _, count, _ in seen[published:]} == {new}
    # The reader did look while rows were staged, once for each part at least, not only before and after.
    parts = len(list(root.rglob("*.parquet")))
    assert parts > 2
    assert sum(files > 0 for _, _, files in seen[:published]) >= parts
    assert _count(root) == new
