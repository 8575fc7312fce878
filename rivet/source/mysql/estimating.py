"""Turns the server's plan of a scan, and what its catalogue knows of a table, into an estimate.

What is asked here is asked for `rivet plan` alone; a run asks for no more than the size of its largest sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rivet.plan.estimate import Access, Estimate
from rivet.plan.schema import Column
from rivet.source.mysql.catalogue import Fetch
from rivet.source.mysql.describing import planned_rows
from rivet.source.query import ALIAS
from rivet.source.relation import Relation

_STORED = (
    "SELECT DATA_LENGTH, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
)


def estimate_of(plan: Sequence[dict[str, Any]], row_bytes: int) -> Estimate:
    """Read a plan, whose cost is the rows that are looked at."""
    rows = planned_rows(plan)
    sorts = any("filesort" in (line["extra"] or "") for line in plan)
    accesses = [Access(_name(line["table"]), _index(line)) for line in plan if line["table"]]
    return Estimate(
        None if rows is None else float(rows),
        rows,
        (rows or 0) * row_bytes if sorts else 0,
        tuple(dict.fromkeys(accesses)),
    )


def stored(fetch: Fetch, relation: Relation, column: Column | None) -> tuple[int | None, float | None]:
    """Ask for the bytes of a table and the correlation of a column; None where they are not known.

    InnoDB keeps the rows of a table in the order of its primary key.
    """
    if relation.table is None:
        return None, None
    found = fetch(_STORED, tuple(relation.table.split(".", 1)))
    table_bytes, engine = found[0] if found else (None, None)
    is_clustered = engine == "InnoDB" and column is not None and relation.primary_key[:1] == (column.name,)
    return table_bytes, 1.0 if is_clustered else None


def _name(table: str) -> str:
    return "" if table == ALIAS else table


def _index(line: dict[str, Any]) -> str | None:
    index: str | None = line["key"]
    return None if line["type"] == "ALL" else index
