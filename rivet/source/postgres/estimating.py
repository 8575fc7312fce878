"""Turns the server's plan of a scan, and what its catalogue knows of a table, into an estimate.

`rivet plan` alone asks for all of it; a run asks for the size of its largest sort, and where there is none,
for how the rows lie that indexes lead to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rivet.plan.estimate import Access, Estimate
from rivet.plan.schema import Column
from rivet.plan.sorting import Detour, is_in_order
from rivet.source.postgres.catalogue import Fetch
from rivet.source.postgres.describing import nodes
from rivet.source.relation import Relation

# pg_stats shows a role the columns that it may read. A table that has children has two lines for a column,
# one with their rows.
_STORED = """
WITH RECURSIVE parts AS (
    SELECT c.oid, n.nspname, c.relname
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname || '.' || c.relname = %(table)s
    UNION
    SELECT i.inhrelid, NULL, NULL FROM pg_catalog.pg_inherits i JOIN parts p ON i.inhparent = p.oid
)
SELECT (SELECT nullif(sum(pg_catalog.pg_table_size(oid)), 0)::int8 FROM parts),
    (SELECT s.correlation FROM pg_catalog.pg_stats s JOIN parts p
        ON s.schemaname = p.nspname AND s.tablename = p.relname
    WHERE s.attname = %(column)s ORDER BY s.inherited DESC LIMIT 1)
"""
# How the tables lie in the order of indexes' first columns, and how much the server keeps in its own memory.
_ORDER = """
SELECT n.nspname, i.relname, s.correlation::float8,
    t.relpages::int8 * current_setting('block_size')::int8,
    (SELECT setting::int8 FROM pg_catalog.pg_settings WHERE name = 'shared_buffers')
        * current_setting('block_size')::int8
FROM pg_catalog.pg_class i
JOIN pg_catalog.pg_namespace n ON n.oid = i.relnamespace
JOIN pg_catalog.pg_index x ON x.indexrelid = i.oid
JOIN pg_catalog.pg_class t ON t.oid = x.indrelid
JOIN unnest(%(schemas)s::text[], %(names)s::text[]) AS wanted (schema, name)
    ON wanted.schema = n.nspname AND wanted.name = i.relname
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = x.indkey[0]
LEFT JOIN pg_catalog.pg_stats s
    ON s.schemaname = n.nspname AND s.tablename = t.relname AND s.attname = a.attname AND NOT s.inherited
"""
# What an index scan takes longer for a row on another page than the one before, whether the server has that
# page in its own memory or fetches it from the system's, as measured with 6,000,000 rows of 150 bytes. Its
# planner asks neither, if it believes that both memories together hold the table.
_NEAR_SECONDS = 1.0e-6
_FAR_SECONDS = 2.4e-6
_GATHERS = ("Gather", "Gather Merge")
_ONE_BY_ONE = "Index Scan"
_BY_INDEX = (_ONE_BY_ONE, "Index Only Scan")
_WHOLE = ("Seq Scan", "Foreign Scan", "Sample Scan")


def estimate_of(plan: dict[str, Any]) -> Estimate:
    """Read a plan."""
    found = nodes(plan)
    accesses: list[Access] = []
    for node in found:
        kind, table = node["Node Type"], node.get("Relation Name", "")
        if kind in _BY_INDEX:
            accesses.append(Access(table, node["Index Name"]))
        elif kind == "Bitmap Heap Scan":
            accesses += [Access(table, n["Index Name"]) for n in nodes(node) if n.get("Index Name")]
        elif kind in _WHOLE:
            accesses.append(Access(table))
    return Estimate(plan["Total Cost"], plan["Plan Rows"], largest_sort(plan), tuple(dict.fromkeys(accesses)))


def stored(fetch: Fetch, relation: Relation, column: Column | None) -> tuple[int | None, float | None]:
    """Ask for the bytes of a table and the correlation of a column; None where they are not known."""
    if relation.table is None:
        return None, None
    asked = {"table": relation.table, "column": "" if column is None else column.name}
    ((table_bytes, correlation),) = fetch(_STORED, asked)
    return table_bytes, correlation


def detour_of(fetch: Fetch, in_order: dict[str, Any], as_it_lies: dict[str, Any]) -> Detour | None:
    """Compare the plan of a scan that is ordered with that of one that is not; None where no index orders it.

    Args:
        fetch: Asked how the tables lie to whose rows the indexes lead.
    """
    leading = [
        [node for node in nodes(plan) if node["Node Type"] == _ONE_BY_ONE] for plan in (in_order, as_it_lies)
    ]
    if not leading[0]:
        return None
    named = list(dict.fromkeys(_index(node) for found in leading for node in found))
    asked = {"schemas": [schema for schema, _ in named], "names": [name for _, name in named]}
    each = {
        (schema, name): _row_seconds(correlation, table_bytes, memory_bytes)
        for schema, name, correlation, table_bytes, memory_bytes in fetch(_ORDER, asked)
    }
    longer, usual = (
        sum(float(node["Plan Rows"]) * each.get(_index(node), _FAR_SECONDS) for node in found)
        for found in leading
    )
    rows = int(as_it_lies["Plan Rows"])
    return Detour(longer - usual, rows, rows * int(as_it_lies["Plan Width"]))


def _index(node: Mapping[str, Any]) -> tuple[str, str]:
    return node.get("Schema", ""), node["Index Name"]


def _row_seconds(correlation: float | None, table_bytes: int, memory_bytes: int) -> float:
    """Reckon what a row takes: nothing where the rows lie in order, either way."""
    share = spread(correlation)
    if is_in_order(share):
        return 0.0
    return _NEAR_SECONDS if share * table_bytes <= memory_bytes else _FAR_SECONDS


def spread(correlation: float | None) -> float:
    """Give the share of a table over which rows lie that follow each other in the order of a column.

    Rows that were put in order by a value to which something at random, up to a share w of its whole range,
    had been added have the correlation 1 / sqrt(1 + w * w). An unknown one the planner takes for 0.

    >>> spread(1.0), spread(-1.0), spread(0.0), spread(None)
    (0.0, 0.0, 1.0, 1.0)
    >>> round(spread(0.991), 3)
    0.135
    """
    squared = min(1.0, (correlation or 0.0) ** 2)
    return 1.0 if squared <= 0.5 else math.sqrt(1 / squared - 1)


def largest_sort(plan: dict[str, Any], processes: int = 1) -> int:
    """Give rows times width of the largest sort in a plan.

    Below a gathering node the planner counts the rows of one process; all of them sort.
    """
    if plan["Node Type"] in _GATHERS:
        processes = plan["Workers Planned"] + 1
    own = plan["Plan Rows"] * plan["Plan Width"] * processes if plan["Node Type"] == "Sort" else 0
    return max([own, *(largest_sort(child, processes) for child in plan.get("Plans", ()))])


def reading_cost(plan: dict[str, Any]) -> float:
    """Add up what the planner thinks that it costs to read tables, and nothing else of a plan."""
    if plan["Node Type"].endswith("Scan") and plan.get("Relation Name") is not None:
        cost: float = plan["Total Cost"]
        return cost
    return sum(reading_cost(child) for child in plan.get("Plans", ()))
