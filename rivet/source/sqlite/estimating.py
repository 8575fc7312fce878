"""Turns SQLite's plan of a scan into an estimate. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rivet.plan.estimate import Access, Estimate
from rivet.source.query import ALIAS

_SORTS = "USE TEMP B-TREE FOR ORDER BY"
# As in "SCAN t", "SCAN t USING COVERING INDEX i", "SEARCH t USING INTEGER PRIMARY KEY (rowid>?)".
_ACCESS = re.compile(r"(SCAN|SEARCH) (.+?)(?: USING (?:.*INDEX (.+?)|INTEGER (PRIMARY KEY))(?: \(.*)?)?")


def sorts(details: Iterable[str]) -> bool:
    """Tell whether a plan sorts."""
    return any(detail == _SORTS for detail in details)


def estimate_of(details: Iterable[str], rows: int, sort_bytes: int, total_bytes: int) -> Estimate:
    """Read a plan, whose cost is 1 where it passes over everything, and 0 where it looks for a part.

    Args:
        rows: Of the scan, as they were counted.
        total_bytes: Of all values of the relation.
    """
    cost, accesses = 0.0, []
    for detail in details:
        match = _ACCESS.fullmatch(detail)
        if match is None or match[2] == "CONSTANT ROW" or match[2].startswith("(subquery"):
            continue
        way, table, index, key = match.groups()
        cost = max(cost, float(way == "SCAN"))
        accesses.append(Access("" if table == ALIAS else table, index or key))
    return Estimate(cost, rows, sort_bytes, tuple(dict.fromkeys(accesses)), total_bytes)
