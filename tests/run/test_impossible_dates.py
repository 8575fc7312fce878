"""Dates that fit no calendar, and decimals that are no numbers, by policy, on real servers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.run import running
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.trees import NULL, manifests, rows_by_manifest

# A table `t` of `id`, the dates `at` and `other`, and a number in `price`. Rows 1 and 2 are ordinary, the
# first and the last day of all among them; row 3 is NULL, and each after it holds what cannot be.
TABLES = {
    "postgres": """
        CREATE TABLE t (id int, at timestamptz, other date NOT NULL, price numeric(10,2));
        INSERT INTO t VALUES
            (1, '2023-01-01 12:00+00', '0001-01-01', 1.5), (2, '2023-01-02 00:00+00', '9999-12-31', 2),
            (3, NULL, '2023-01-01', NULL), (4, 'infinity', '-infinity', 'NaN'),
            (5, '-infinity', '0044-03-15 BC', 5), (6, '10000-06-23 00:00+00', '2023-01-01', 'NaN'),
            (7, '2023-01-02 00:00+00', 'infinity', 7);
    """,
    "mariadb": """
        SET sql_mode = '';
        CREATE TABLE t (id int, at datetime(6), other date NOT NULL, price decimal(10,2));
        INSERT INTO t VALUES
            (1, '2023-01-01 12:00', '0001-01-01', 1.5), (2, '2023-01-02', '9999-12-31', 2),
            (3, NULL, '2023-01-01', NULL), (4, '0000-00-00', '0000-00-00', 4),
            (5, '2023-00-10', '2023-01-00', 5), (6, '2023-01-00', '2023-01-01', 6),
            (7, '2023-01-02', '0000-00-00', 7);
    """,
    "sqlite": """
        CREATE TABLE t (id INTEGER, at TIMESTAMP, other DATE, price TEXT);
        INSERT INTO t VALUES
            (1, '2023-01-01 12:00:00', '0001-01-01', '1.5'), (2, '2023-01-02', '9999-12-31', '2'),
            (3, NULL, '2023-01-01', NULL), (4, 'infinity', '', '4'), (5, '2023-13-01', '2023-02-30', '5'),
            (6, '0000-00-00', '2023-01-01', '6'), (7, '2023-01-02', 'never', '7');
    """,
}
ROWS = {"2023-01-01": [1], "2023-01-02": [2, 7], NULL: [3, 4, 5, 6]}


def _counts(engine: str) -> dict[str, int]:
    return {"at": 3, "other": 3} | ({"price": 2} if engine == "postgres" else {})


def _export(tmp_path: Path, **more: Any) -> dict[str, Any]:
    return running.by_day(tmp_path / "tree", table="t", partition_by="at", partition_key="day", **more)


@pytest.mark.parametrize("engine", ENGINES)
def test_they_stop_the_run_before_anything_is_written(
    tmp_path: Path, engine: str, database: AnyDatabase
) -> None:
    """Each column is named with its count, the partition column and any other."""
    database.execute(TABLES[engine])

    outcome = running.run_one(tmp_path, database.source, _export(tmp_path))

    assert outcome.exit_code == 2, outcome.error
    for name, count in _counts(engine).items():  # a reason that has been told is not told again
        assert re.search(f"column {name!r}: {count} of 7 rows (hold a value|likewise)", outcome.error or "")
    assert "unrepresentable: null" in (outcome.hint or "")
    assert not (tmp_path / "tree").exists()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("max_scan_rows", [10_000_000, 2], ids=["one scan", "several"])
@pytest.mark.parametrize("sort", ["auto", "source"])
def test_columns_that_only_the_reader_meets_are_counted_too(
    tmp_path: Path, engine: str, database: AnyDatabase, max_scan_rows: int, sort: str
) -> None:
    """Where the partition column is well, others stop the run all the same, however it was to be read."""
    database.execute(TABLES[engine] + "DELETE FROM t WHERE id BETWEEN 4 AND 6; CREATE INDEX i ON t (at);")
    if engine == "postgres":
        database.execute("UPDATE t SET price = 'NaN' WHERE id IN (1, 7)")

    outcome = running.run_one(
        tmp_path, database.source, _export(tmp_path, max_scan_rows=max_scan_rows, sort=sort)
    )

    assert outcome.exit_code == 2, outcome.error
    counts = {"other": 1} | ({"price": 2} if engine == "postgres" else {})
    for name, count in counts.items():
        assert f"column {name!r}: {count} of 4 rows hold" in (outcome.error or "").replace("holds", "hold")
    assert not (tmp_path / "tree").exists()


@pytest.mark.parametrize("scan", ["single", "per_partition"])
@pytest.mark.parametrize("engine", ENGINES)
def test_null_by_policy_loses_no_row_and_counts_each(
    tmp_path: Path, engine: str, database: AnyDatabase, scan: str
) -> None:
    """Rows are NULL's, never those of 1970 or another day, and all that is counted adds up."""
    database.execute(TABLES[engine])

    outcome = running.run_well(
        tmp_path, database.source, _export(tmp_path, scan=scan, unrepresentable=None), validate=True
    )

    tree = rows_by_manifest(tmp_path / "tree")
    found = manifests(tmp_path / "tree")
    export = json.loads((tmp_path / "tree/_rivet_export.json").read_text())
    assert {label: sorted(row[0] for row in rows) for label, rows in tree.items()} == ROWS
    nulls = {row[0]: (row[1] is None, row[2] is None) for rows in tree.values() for row in rows}
    assert [number for number, (at, _) in sorted(nulls.items()) if at] == [3, 4, 5, 6]
    assert [number for number, (_, other) in sorted(nulls.items()) if other] == [4, 5, 7]
    assert outcome.unrepresentable_rows == export["unrepresentable_rows"] == _counts(engine)
    assert (export["source_rows"], export["source_null_rows"], outcome.null_rows) == (7, 1, 4)
    counted = {label: m["unrepresentable_rows"] for label, m in found.items()}
    assert counted.pop(NULL) | {"price": 2} == {"at": 3, "other": 2, "price": 2}
    assert counted == {"2023-01-01": {}, "2023-01-02": {"other": 1}}


@pytest.mark.parametrize("engine", ENGINES)
def test_an_export_without_partitions_counts_them_too(
    tmp_path: Path, engine: str, database: AnyDatabase
) -> None:
    """Without a partition column every such column is an ordinary one."""
    database.execute(TABLES[engine])
    export = {
        "name": "events",
        "table": "t",
        "unrepresentable": None,
        "destination": {"type": "local", "path": str(tmp_path / "tree")},
    }

    outcome = running.run_well(tmp_path, database.source, export, validate=True)

    assert (outcome.rows, outcome.unrepresentable_rows) == (7, _counts(engine))
    assert manifests(tmp_path / "tree")[""]["unrepresentable_rows"] == _counts(engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_column_of_nothing_else(tmp_path: Path, engine: str, database: AnyDatabase) -> None:
    """A table whose every date fits no calendar is not an empty one: its rows make the NULL partition."""
    database.execute(TABLES[engine] + "DELETE FROM t WHERE id NOT IN (4, 5, 6);")

    outcome = running.run_well(
        tmp_path, database.source, _export(tmp_path, unrepresentable=None), validate=True
    )

    assert (outcome.rows, outcome.null_rows, outcome.partitions) == (3, 3, 1)
    assert sorted(row[0] for row in rows_by_manifest(tmp_path / "tree")[NULL]) == [4, 5, 6]


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_are_mended_leave_the_null_partition(
    tmp_path: Path, engine: str, database: AnyDatabase
) -> None:
    """The next run places them, and counts no more of them."""
    database.execute(TABLES[engine])
    export = _export(tmp_path, unrepresentable=None)
    running.run_well(tmp_path, database.source, export)
    database.execute("UPDATE t SET at = '2023-01-01', other = '2023-01-01', price = '1' WHERE id > 3")

    outcome = running.run_well(tmp_path, database.source, export, validate=True)

    assert outcome.unrepresentable_rows == {}
    tree = rows_by_manifest(tmp_path / "tree")
    assert {label: len(rows) for label, rows in tree.items()} == {"2023-01-01": 5, "2023-01-02": 1, NULL: 1}
