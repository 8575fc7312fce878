"""Night after night of random changes, `rewrite` with `verify_counts` ends equal to the table.

And `append` holds every version that there was at the end of a night, once.
"""

from __future__ import annotations

import datetime as dt
import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.run.appending import added, appending, assert_accounted, assert_only_added
from tests.run.changing import assert_holds, by_change, orders, orders_table
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import assert_valid
from tests.run.running import run_well
from tests.run.trees import Rows, snapshot

FIRST_DAY = dt.date(2023, 1, 1)
CLOCK = dt.datetime(2023, 6, 1)


class Business:
    """Orders that come, change, move to another day and go; each insert and update advances the cursor."""

    def __init__(self, database: AnyDatabase, seed: int) -> None:
        self._database = database
        self._chance = random.Random(seed)
        self._ids: list[int] = []
        self._next_id = 1
        self._ticks = 0
        self._days = 20

    def begin(self) -> None:
        """Let some orders have come."""
        self._database.execute("; ".join(self._insert() for _ in range(100)))

    def night(self) -> None:
        """Change some orders, delete some, at times all of a day, and let a day more be open."""
        self._days += 1
        statements = [self._change() for _ in range(self._chance.randrange(4, 25))]
        if self._chance.random() < 0.2:
            day = FIRST_DAY + dt.timedelta(days=self._chance.randrange(self._days))
            statements.append(
                f"DELETE FROM orders WHERE created_at >= '{day} 00:00:00' "
                f"AND created_at < '{day + dt.timedelta(days=1)} 00:00:00'"
            )
        self._database.execute("; ".join(statements))
        self._ids = [key for (key,) in self._database.fetch("SELECT id FROM orders")]

    def _change(self) -> str:
        kind = self._chance.choice(["insert", "insert", "update", "move", "delete"])
        if kind == "insert" or not self._ids:
            return self._insert()
        key = self._chance.choice(self._ids)
        if kind == "delete":
            return f"DELETE FROM orders WHERE id = {key}"
        moved = f"created_at = {self._day()}, " if kind == "move" else ""
        return (
            f"UPDATE orders SET {moved}note = 'u{self._ticks}', updated_at = {self._now()} WHERE id = {key}"
        )

    def _insert(self) -> str:
        self._next_id += 1
        self._ids.append(self._next_id)
        return (
            f"INSERT INTO orders VALUES ({self._next_id}, {self._day()}, {self._now()}, 'n{self._next_id}')"
        )

    def _day(self) -> str:
        if self._chance.random() < 0.05:
            return "NULL"
        days, seconds = self._chance.randrange(self._days), self._chance.randrange(86_400)
        moment = dt.datetime.combine(FIRST_DAY, dt.time()) + dt.timedelta(days=days, seconds=seconds)
        return f"'{moment}'"

    def _now(self) -> str:
        """Give the time of the last change, or the next: of several changes some share a microsecond."""
        self._ticks += self._chance.randrange(2)
        return f"'{(CLOCK + dt.timedelta(microseconds=self._ticks)).isoformat(' ', 'microseconds')}'"


def _in_the_table(database: AnyDatabase) -> list[tuple[Any, ...]]:
    def moment(value: Any) -> Any:
        return dt.datetime.fromisoformat(value) if isinstance(value, str) else value

    rows = database.fetch("SELECT id, created_at, updated_at, note FROM orders ORDER BY id")
    return [(key, moment(at), moment(changed), note) for key, at, changed, note in rows]


def _in_the_tree(root: Path) -> list[tuple[Any, ...]]:
    """Read a tree as DuckDB does that globs."""
    if not list(root.glob("*/*.parquet")):  # the table was emptied
        return []
    query = f"SELECT * FROM read_parquet('{root}/*/*.parquet', hive_partitioning = false) ORDER BY id"
    return duckdb.sql(query).fetchall()


def _run_nights(tmp_path: Path, database: AnyDatabase, engine: str, nights: int, seed: int) -> None:
    database.execute(orders_table(engine))
    business, root = Business(database, seed), tmp_path / "tree"
    export = by_change(root, verify_counts=True, vanished="remove")
    left_alone = 0
    business.begin()
    for night in range(nights):
        business.night()

        outcome = run_well(tmp_path, database.source, export)

        assert _in_the_tree(root) == _in_the_table(database), f"night {night} of seed {seed}"
        assert_valid(root)
        left_alone += outcome.partitions_unread
    assert left_alone > nights  # it is no full run each night


@pytest.mark.parametrize("engine", ENGINES)
def test_each_night_ends_equal_to_the_table(tmp_path: Path, database: AnyDatabase, engine: str) -> None:
    """Over some nights of inserts, updates, moves and deletes the tree is the table, to another reader."""
    _run_nights(tmp_path, database, engine, nights=8, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("engine", ENGINES)
def test_sixty_nights_end_equal_to_the_table(
    tmp_path: Path, database: AnyDatabase, engine: str, seed: int
) -> None:
    """The same over sixty nights, each of which is compared."""
    _run_nights(tmp_path, database, engine, nights=60, seed=seed)


def _add_nights(tmp_path: Path, database: AnyDatabase, engine: str, nights: int, seed: int) -> None:
    database.execute(orders_table(engine))
    business, chance = Business(database, seed), random.Random(seed)
    # A row may change twice in one microsecond, on two nights: its key and the cursor do not tell of that.
    roots: dict[Path, dict[str, Any]] = {
        tmp_path / "rows": {},
        tmp_path / "key": {"unique_key": ["id", "note", "created_at"], "lag": "3 hours"},
    }
    held: dict[str, Rows] = {}
    business.begin()
    for night in range(nights):
        business.night()
        held = added(held, orders(database))
        for root, more in roots.items():
            before = snapshot(root)
            if night and chance.random() < 0.2:  # another run has been killed before its end
                _put_back(root)
            run_well(tmp_path, database.source, appending(root, **more))
            assert_only_added(before, root)
            assert_holds(root, held)
    for root in roots:
        assert_accounted(root)


def _put_back(root: Path) -> None:
    """Put the watermark back to where rows have been added from, as a run leaves it that does not end."""
    path = root / "_rivet_export.json"
    export = json.loads(path.read_text())
    export["watermark"]["value"] = CLOCK.isoformat(timespec="microseconds")
    path.write_text(json.dumps(export))


@pytest.mark.parametrize("engine", ENGINES)
def test_each_night_adds_what_is_new(tmp_path: Path, database: AnyDatabase, engine: str) -> None:
    """Over some nights the tree holds each version of the nights once, from whatever bound it was read."""
    _add_nights(tmp_path, database, engine, nights=4, seed=4)


@pytest.mark.long
@pytest.mark.parametrize("seed", [5, 6])
@pytest.mark.parametrize("engine", ENGINES)
def test_sixty_nights_add_what_is_new(tmp_path: Path, database: AnyDatabase, engine: str, seed: int) -> None:
    """The same over sixty nights, each of which is compared."""
    _add_nights(tmp_path, database, engine, nights=60, seed=seed)
