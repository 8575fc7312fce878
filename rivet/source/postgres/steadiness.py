"""Tells from the planner's own account whether a relation may give other rows each time it is read.

The plan shows what views, policies and inlined functions hide, and the catalogue what a function's author
declared of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rivet.source.postgres.catalogue import Fetch
from rivet.source.steadiness import called_functions, reason, unsteadiness

_VOLATILE = """
SELECT proname FROM pg_catalog.pg_proc
WHERE proname = ANY (%(names)s) AND provolatile = 'v' ORDER BY 1 LIMIT 1
"""
# Statistics, sessions, slots and settings lie in no table, so no snapshot holds them; their functions are
# declared stable all the same. By the catalogue these are the server's own functions that only the process
# which leads a query may call (others would see another state), or that make rows of nothing. Servers before
# 9.6 say nothing of processes. `age` is told of dates and of transactions.
_OF_STATE = """
SELECT p.proname
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang AND l.lanname = 'internal'
WHERE p.proname = ANY (%(names)s) AND p.provolatile = 's'
GROUP BY 1
HAVING bool_and(to_jsonb(p) ->> 'proparallel' = 'r' OR (p.proretset AND p.pronargs = 0))
    AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_proc o WHERE o.proname = p.proname AND o.provolatile = 'i'
    )
ORDER BY 1 LIMIT 1
"""
# A sequence is one row that is overwritten, and so are some rows of the catalogue.
_OVERWRITTEN = """
SELECT n.nspname, c.relname, c.relkind = 'S'
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN unnest(%(schemas)s::text[], %(names)s::text[]) AS t (schema, name)
    ON t.schema = n.nspname AND t.name = c.relname
WHERE c.relkind = 'S' OR n.nspname = 'pg_catalog'
ORDER BY 1, 2 LIMIT 1
"""
# What in a node is a name or a word of the planner's, and no expression.
_NAMES = frozenset(
    {"Node Type", "Relation Name", "Schema", "Alias", "Index Name", "CTE Name", "Subplan Name", "Plans"}
)


def unsteadiness_of(nodes: Sequence[dict[str, Any]], what: str, fetch: Fetch) -> str:
    """Say why a relation is unsteady; empty where it is not.

    Args:
        nodes: Its plan, by `EXPLAIN (VERBOSE)`.
        what: The relation, for people.
    """
    called: set[str] = set()
    for node in nodes:
        clause = _clause(node)
        if clause:
            return reason(what, f"has {clause}")
        for expression in _texts(node):
            found = unsteadiness(expression, "postgres", what)
            if found is not None:
                return found.reason
            called |= called_functions(expression, "postgres")
    return _calls(called, what, fetch) or _reads_overwritten(nodes, what, fetch)


def _calls(names: set[str], what: str, fetch: Fetch) -> str:
    """Say which function of these names gives other values each time; empty where none does."""
    parameters = {"names": sorted(names)}
    if volatile := fetch(_VOLATILE, parameters) if names else ():
        return reason(what, f"calls the volatile function {volatile[0][0]}()")
    if of_state := fetch(_OF_STATE, parameters) if names else ():
        return reason(what, f"calls {of_state[0][0]}(), which tells of the server's state and not of a table")
    return ""


def _reads_overwritten(nodes: Sequence[dict[str, Any]], what: str, fetch: Fetch) -> str:
    """Say which relation is changed without regard to snapshots; empty where none is."""
    read = [(node["Schema"], node["Relation Name"]) for node in nodes if "Relation Name" in node]
    schemas, names = [schema for schema, _ in read], [name for _, name in read]
    for schema, name, is_sequence in fetch(_OVERWRITTEN, {"schemas": schemas, "names": names}):
        kind = "which is a sequence" if is_sequence else "of the server's catalogue"
        return reason(what, f"reads {f'{schema}.{name}'!r}, {kind} and overwritten in place")
    return ""


def _clause(node: dict[str, Any]) -> str:
    """Give the clause by which a node takes some of several rows; empty where it takes all or the same."""
    kind = node["Node Type"]
    if kind == "Limit":
        return "" if _is_extreme(node) else "LIMIT"
    if kind == "Unique":
        keys = [len(child["Sort Key"]) for child in node["Plans"] if "Sort Key" in child]
        return "DISTINCT ON" if keys and keys[0] < len(node.get("Output", ())) else ""
    return "TABLESAMPLE" if kind == "Sample Scan" else ""


def _is_extreme(limit: dict[str, Any]) -> bool:
    """Tell whether a LIMIT is the planner's own, which finds a `min` or `max` at an end of an index."""
    return (
        limit.get("Parent Relationship") == "InitPlan"
        and len(limit.get("Output", ())) == 1
        and all(
            f"({leaf.get('Output', [''])[0]} IS NOT NULL)" in leaf.get("Index Cond", "")
            for leaf in _leaves(limit)
        )
    )


def _leaves(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for child in node.get("Plans", ()):
        yield from _leaves(child)
    if not node.get("Plans"):
        yield node


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in _NAMES:
                yield from _texts(item)
