"""An incremental run that is killed: the watermark is not ahead of the tree, and the next run ends right."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import pytest

from tests.run.changing import assert_holds, by_change, make_orders, orders
from tests.run.nights import assert_valid, export_file
from tests.run.running import run_well, settings
from tests.run.test_kill import _ask, _driver
from tests.run.trees import rows_by_manifest
from tests.servers.sqlite import SqliteDatabase

LAST_CHANGE = 29  # changes of the destination that a night makes, and some more


def _change(database: SqliteDatabase, night: int, dice: random.Random) -> None:
    """Insert, update, move and delete rows, and let every insert and update advance the cursor."""
    moment = f"2023-03-{1 + night // 20:02d} {night % 20:02d}:00:00"
    keys = [key for (key,) in database.fetch("SELECT id FROM orders ORDER BY id")]
    moved, updated, gone = dice.sample(keys, 3)
    days = [f"'2023-01-{dice.randrange(1, 9):02d} 03:00:00'", "NULL"]
    database.execute(
        f"""
        DELETE FROM orders WHERE id = {gone};
        UPDATE orders SET created_at = {dice.choice(days)}, updated_at = '{moment}.000001' WHERE id = {moved};
        UPDATE orders SET note = 'night {night}', updated_at = '{moment}.000002' WHERE id = {updated};
        INSERT INTO orders VALUES ({1000 + night}, {days[0]}, '{moment}.000003', 'new');
        """
    )


def _assert_not_ahead(root: Path, database: SqliteDatabase) -> None:
    """Assert that the tree holds, as it is, each row that the watermark says it holds."""
    told: dict[str, Any] | None = export_file(root).get("watermark")
    assert told is not None
    watermark = dt.datetime.fromisoformat(str(told["value"]))
    held = {row for rows in rows_by_manifest(root).values() for row in rows}
    for rows in orders(database).values():
        assert {row for row in rows if row[2] <= watermark} <= held


@pytest.mark.parametrize("nights", [6, pytest.param(60, marks=pytest.mark.long)])
def test_killed_at_random_changes_the_watermark_is_not_ahead_of_the_tree(
    tmp_path: Path, sqlite_database: SqliteDatabase, nights: int
) -> None:
    """Killed once or twice each night, and the source changed again, the run that ends equals the source."""
    make_orders(sqlite_database, "sqlite")
    root, dice, killed = tmp_path / "tree", random.Random(nights), 0
    export = by_change(root, verify_counts=True, vanished="remove")
    run_well(tmp_path, sqlite_database.source, export)
    settings(tmp_path, sqlite_database.source, export)
    with _driver(tmp_path / "rivet.yaml") as driver:
        for night in range(nights):
            for turn in range(1 + night % 2):
                _change(sqlite_database, 2 * night + turn, dice)
                answer = _ask(driver, dice.randrange(LAST_CHANGE))
                assert answer in ("killed", "0")
                killed += answer == "killed"
                _assert_not_ahead(root, sqlite_database)
            if night % 3:
                continue

            run_well(tmp_path, sqlite_database.source, export)

            assert_holds(root, orders(sqlite_database))
            _assert_not_ahead(root, sqlite_database)
            assert_valid(root)
    assert killed > nights // 2
