"""A table of orders whose rows say when they were last changed, and what a tree of it holds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tests.run.conftest import AnyDatabase
from tests.run.refusing import MOMENT
from tests.run.trees import NULL, Rows, rows_by_glob, rows_by_manifest

WATERMARK = "2023-02-01T12:00:00.000005"
DAYS = tuple(f"2023-01-{day:02d}" for day in range(1, 7))


def make_orders(database: AnyDatabase, engine: str) -> None:
    """Make six days of three orders each, and one without a day; the last change of all is the watermark."""
    rows = [
        (10 * number + turn, f"'{day} {6 * turn:02d}:00:00'", f"'2023-02-01 {number:02d}:00:00.00000{turn}'")
        for number, day in enumerate(DAYS, 1)
        for turn in range(3)
    ]
    rows += [
        (90, "NULL", "'2023-02-01 11:00:00'"),
        (91, "'2023-01-04 23:59:59.999999'", f"'{_sql(WATERMARK)}'"),
    ]
    values = ", ".join(f"({key}, {at}, {changed}, 'first')" for key, at, changed in rows)
    database.execute(f"{orders_table(engine)}; INSERT INTO orders VALUES {values}")


def orders_table(engine: str, name: str = "orders") -> str:
    """Write the statement that makes the table."""
    moment = MOMENT[engine]
    columns = f"id int PRIMARY KEY, created_at {moment}, updated_at {moment}, note varchar(40)"
    return f"CREATE TABLE {name} ({columns})"


def by_change(root: Path, **more: Any) -> dict[str, Any]:
    """Give an incremental export of the table, changed by more; a key that is None is left out."""
    export = {
        "name": "orders",
        "table": "orders",
        "mode": "incremental",
        "cursor_column": "updated_at",
        "partition_by": "created_at",
        "destination": {"type": "local", "path": f"{root}/{{partition}}/"},
    }
    return {key: value for key, value in {**export, **more}.items() if value is not None}


def orders(database: AnyDatabase, columns: str = "id, created_at, updated_at, note") -> dict[str, Rows]:
    """Give the rows of the table by the label of their day, sorted as `trees` sorts them."""
    rows: dict[str, Rows] = {}
    for row in database.fetch(f"SELECT {columns} FROM orders"):
        told = tuple(_moment(value) if 0 < place < 3 else value for place, value in enumerate(row))
        label = NULL if told[1] is None else told[1].date().isoformat()
        rows.setdefault(label, []).append(told)
    return {label: sorted(group, key=repr) for label, group in rows.items()}


def mixed(old: dict[str, Rows], new: dict[str, Rows], labels: Collection[str]) -> dict[str, Rows]:
    """Give what a tree holds of which these partitions are new, and all others old."""
    kept = {label: rows for label, rows in old.items() if label not in labels}
    return kept | {label: rows for label, rows in new.items() if label in labels}


def assert_holds(root: Path, expected: dict[str, Rows]) -> None:
    """Assert that a tree holds these rows, by its manifests and by a glob."""
    assert rows_by_manifest(root) == expected
    assert rows_by_glob(root) == sorted((row for rows in expected.values() for row in rows), key=repr)


def _moment(value: Any) -> Any:
    return dt.datetime.fromisoformat(value) if isinstance(value, str) else value


def _sql(moment: str) -> str:
    return moment.replace("T", " ")
