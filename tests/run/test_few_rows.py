"""Few of a PostgreSQL table's rows are found and read in one pass over it, before anything is planned."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from rivet.source.postgres.bulk import PostgresBatches
from tests.run.changing import assert_holds, by_change, orders, orders_table
from tests.run.running import run_one, run_well
from tests.run.trees import snapshot
from tests.servers.database import Database


@pytest.fixture
def engine() -> str:
    """Name the engine that has them."""
    return "postgres"


DAY = "2023-01-05"
# One value each day, of whose rows there are more than are put in order at a time.
_LARGE = (
    "INSERT INTO orders SELECT n, '2023-01-01'::timestamp + n % 30 * interval '1 day',"
    " '2024-01-01'::timestamp + n * interval '1 second', {}"
)
_ALL_AT_WORK = (
    "ALTER DATABASE {0} SET parallel_setup_cost = 0; ALTER DATABASE {0} SET parallel_tuple_cost = 0; "
    "ALTER DATABASE {0} SET min_parallel_table_scan_size = 0"
)
NIGHT = f"UPDATE orders SET updated_at = '2024-06-01' WHERE created_at = '{DAY}' AND id % 7 = 0"


def _make(database: Database, rows: int, note: str = "'first'", more: str = "") -> None:
    numbers = f"generate_series(1, {rows}) AS n"
    database.execute(
        f"{orders_table('postgres')}; ALTER TABLE orders ALTER note TYPE text; {more}; "
        f"{_LARGE.format(note)} FROM {numbers}; ANALYZE orders"
    )


def _passes(statements: list[str]) -> list[str]:
    """List the statements that look through the table, but for those that only plan."""
    return [s for s in statements if 'rivet."created_at"' in s and "EXPLAIN" not in s]


@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ({}, ["rows by place"]),
        ({"unrepresentable": "null"}, ["probe", "rows by place"]),
        ({"table": None, "query": "SELECT * FROM orders"}, ["probe", "rows"]),
    ],
)
def test_one_pass_finds_and_reads_them(
    tmp_path: Path, database: Database, more: dict[str, Any], asked: list[str]
) -> None:
    """Beside the question what has changed; of a query, and where values become NULL, a probe comes first."""
    _make(database, 3000)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_change(root, **more))
    database.execute(NIGHT)

    with database.recording() as statements:
        outcome = run_well(tmp_path, database.source, by_change(root, **more), validate=True)

    assert (outcome.partitions_written, outcome.partitions_unchanged, outcome.partitions_unread) == (1, 1, 28)
    assert_holds(root, orders(database))
    changed, *passes = _passes(statements)
    assert "GROUP BY" in changed
    kinds = ["probe" if "COPY" not in s else "rows by place" if "ctid" in s else "rows" for s in passes]
    assert sorted(kinds) == asked


def test_workers_of_the_server_change_nothing_of_their_order(tmp_path: Path, database: Database) -> None:
    """A partition of rows of one value, more than are sorted at a time, is left alone when read again."""
    _make(database, 9000, "repeat(md5(n::text), 1500)")
    database.execute(_ALL_AT_WORK.format(database.source["url"].rpartition("/")[2]))
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_change(root))
    before = snapshot(root)

    with database.recording() as statements:
        outcome = run_well(tmp_path, database.source, by_change(root, refresh_windows=2))

    assert (outcome.partitions_unchanged, outcome.partitions_unread) == (3, 27)
    assert any("ctid" in s for s in _passes(statements))
    data = {name for name in before if name.endswith((".parquet", "manifest.json", "_SUCCESS"))}
    assert {name: snapshot(root)[name] for name in data} == {name: before[name] for name in data}


def test_a_value_that_cannot_be_represented_is_counted_before_anything_is_written(
    tmp_path: Path, database: Database
) -> None:
    """The reader meets it, and the source is then asked how many there are."""
    _make(database, 3000, more="ALTER TABLE orders ADD price numeric(8, 2)")
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_change(root))
    before = snapshot(root)
    database.execute(f"{NIGHT}; UPDATE orders SET price = 'NaN' WHERE created_at = '{DAY}' AND id % 14 = 0")

    outcome = run_one(tmp_path, database.source, by_change(root))

    (((count,),),) = ((database.fetch("SELECT count(*) FROM orders WHERE price = 'NaN'")),)
    assert outcome.error is not None
    assert f"{count} " in outcome.error
    assert "price" in outcome.error
    assert snapshot(root) == before


def test_rows_that_the_server_counts_and_that_do_not_come_keep_it_from_publishing(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of rows is the server's own, from the end of the data."""
    _make(database, 3000)
    root = tmp_path / "tree"
    run_well(tmp_path, database.source, by_change(root))
    before = snapshot(root)
    database.execute(NIGHT)
    told = attrgetter("_server_rows")
    monkeypatch.setattr(PostgresBatches, "server_rows", property(lambda batches: told(batches) + 1))

    outcome = run_one(tmp_path, database.source, by_change(root))

    assert outcome.exit_code == 4
    assert snapshot(root) == before
