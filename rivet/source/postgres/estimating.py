"""Turns the server's plan of a scan, and what its catalogue knows of a table, into an estimate.

What is asked here is asked for `rivet plan` alone; a run asks for no more than the size of its largest sort.
"""

from __future__ import annotations

from typing import Any

from rivet.plan.estimate import Access, Estimate
from rivet.plan.schema import Column
from rivet.source.postgres.catalogue import Fetch
from rivet.source.postgres.describing import nodes
from rivet.source.protocol import Relation

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
_GATHERS = ("Gather", "Gather Merge")
_BY_INDEX = ("Index Scan", "Index Only Scan")
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
