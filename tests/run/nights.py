"""A table that is exported night after night, and what a tree of it must hold each time."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from rivet.destination.local import LocalDestination
from rivet.validate import validate
from tests.run.conftest import AnyDatabase
from tests.run.refusing import MOMENT
from tests.run.trees import NULL, Rows, is_ready, rows_by_glob, rows_by_manifest


def make_events(database: AnyDatabase, engine: str) -> None:
    """Make the table `events` as of the first night: six days in eight, and rows without a date."""
    database.execute(
        f"""
        CREATE TABLE events (id int PRIMARY KEY, created_at {MOMENT[engine]}, note varchar(40));
        INSERT INTO events VALUES
            (1, '2023-01-01 00:00:00', 'a'), (2, '2023-01-01 23:59:59.999999', 'b'),
            (3, '2023-01-02 12:00:00', 'shrinks'), (4, '2023-01-02 13:00:00', 'c'),
            (5, '2023-01-03 01:00:00', 'empties'), (6, '2023-01-04 01:00:00', 'stays'),
            (7, '2023-01-06 06:00:00', 'moves'), (8, '2023-01-06 07:00:00', 'stays here'),
            (9, '2023-01-08 08:00:00', 'the last'), (10, NULL, 'filled in'), (11, NULL, 'filled in, too');
        """
    )


SECOND_NIGHT = """
    DELETE FROM events WHERE id IN (3, 5);
    UPDATE events SET created_at = '2023-01-05 05:00:00' WHERE id IN (10, 11);
    UPDATE events SET created_at = '2023-01-02 02:02:02' WHERE id = 7;
    INSERT INTO events VALUES (12, '2023-01-09 00:00:00', 'a new day');
"""


def source_rows(database: AnyDatabase) -> dict[str, Rows]:
    """Give the rows of `events` by the label of their day, sorted as `trees` sorts them."""
    rows: dict[str, Rows] = {}
    for key, told, *rest in database.fetch("SELECT * FROM events"):
        moment = dt.datetime.fromisoformat(told) if isinstance(told, str) else told
        label = NULL if moment is None else moment.date().isoformat()
        rows.setdefault(label, []).append((key, moment, *rest))
    return {label: sorted(group, key=repr) for label, group in rows.items()}


def assert_equal(root: Path, database: AnyDatabase, *, kept: Collection[str] = ()) -> None:
    """Assert that a tree is the table, by its manifests, by a glob, by its export file, and to validation.

    Args:
        kept: Labels of the partitions that are there though the table has no rows of them.
    """
    expected = source_rows(database)
    held = rows_by_manifest(root)
    assert set(held) == {*expected, *kept}
    assert {label: rows for label, rows in held.items() if label not in kept} == expected
    assert rows_by_glob(root) == sorted((row for rows in held.values() for row in rows), key=repr)
    assert all(is_ready(path.parent) for path in root.rglob("manifest.json"))
    assert not (root / "_rivet_staging").exists()
    export = export_file(root)
    assert export["status"] == "complete"
    assert "pending" not in export or export["pending"] is None
    assert export["source_rows"] == sum(map(len, expected.values()))
    states = {e["value"]: e["state"] for e in export["partitions"]}
    assert states == {label: "kept" if label in kept else "live" for label in held}
    assert_valid(root)


def assert_valid(root: Path) -> None:
    """Assert that validation of a tree, at full depth, finds no error."""
    verdict = validate(LocalDestination(root), "", depth="full", strict=False)
    assert verdict.passed, verdict.findings


def export_file(root: Path) -> dict[str, Any]:
    """Read a tree's export file."""
    found: dict[str, Any] = json.loads((root / "_rivet_export.json").read_text())
    return found
