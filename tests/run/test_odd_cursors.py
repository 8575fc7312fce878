"""Rows whose cursor fits no calendar: before all moments it is none, among them it has its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.changing import by_change
from tests.run.conftest import AnyDatabase
from tests.run.refusing import MOMENT
from tests.run.running import run_well
from tests.run.trees import rows_by_manifest

BEFORE_ALL = {
    "postgres": ("-infinity", "0044-03-15 BC"),
    "mariadb": ("0000-00-00",),
    "sqlite": ("0000-00-00", "", "-4713-11-24"),
}
BEHIND_ALL = {"postgres": ("infinity", "10000-01-01"), "mariadb": (), "sqlite": ("soon", "2023-13-01")}
AMONG = {"postgres": (), "mariadb": ("2023-00-10", "2023-01-00"), "sqlite": ("1/2/2023", "2023-01-32")}


@pytest.mark.parametrize(
    ("engine", "strategy"),
    [("postgres", "rewrite"), ("mariadb", "rewrite"), ("sqlite", "rewrite"), ("sqlite", "append")],
)
def test_what_lies_before_all_moments_is_no_cursor(
    tmp_path: Path, database: AnyDatabase, engine: str, strategy: str
) -> None:
    """The fallback tells of such a row; of one among moments, below the bound, only a count of rows does."""
    moment, root = MOMENT[engine], tmp_path / "tree"
    relaxed = "SET sql_mode = '';" if engine == "mariadb" else ""
    database.execute(
        f"{relaxed} CREATE TABLE orders"
        f" (id int PRIMARY KEY, created_at {moment}, updated_at {moment}, seen_at {moment});"
        " INSERT INTO orders VALUES (1, '2023-01-01', '2023-02-01', '2023-01-01')"
    )
    export = by_change(root, strategy=strategy, cursor_fallback_column="seen_at", unrepresentable="null")
    run_well(tmp_path, database.source, export)
    told = BEFORE_ALL[engine] + BEHIND_ALL[engine]
    odd = enumerate(told + AMONG[engine], 2)
    rows = [f"({key}, '2023-01-0{key}', '{value}', '2023-02-02 00:00:00')" for key, value in odd]
    # Its fallback is older than the bound: nothing has changed in it since.
    rows.append(f"(9, '2023-01-09', '{BEFORE_ALL[engine][0]}', '2023-01-01 00:00:00')")
    database.execute(f"{relaxed} INSERT INTO orders VALUES {', '.join(rows)}")

    run_well(tmp_path, database.source, export)

    assert _ids(root) == {1, *range(2, 2 + len(told))}
    if strategy == "rewrite":
        run_well(tmp_path, database.source, export | {"verify_counts": True})
        assert _ids(root) == {key for (key,) in database.fetch("SELECT id FROM orders")}


def _ids(root: Path) -> set[int]:
    return {row[0] for rows in rows_by_manifest(root).values() for row in rows}
