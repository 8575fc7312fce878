"""Turns SQLite's plan of a scan into an estimate. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rivet.plan.estimate import Access, Estimate
from rivet.plan.sorting import Detour, is_in_order
from rivet.source.query import ALIAS

_SORTS = "USE TEMP B-TREE FOR ORDER BY"
# As in "SCAN t", "SCAN t USING COVERING INDEX i", "SEARCH t USING INTEGER PRIMARY KEY (rowid>?)".
_ACCESS = re.compile(r"(SCAN|SEARCH) (.+?)(?: USING (?:.*INDEX (.+?)|INTEGER (PRIMARY KEY))(?: \(.*)?)?")
# Of so many rows that follow each other by an index it is looked how far apart they lie, at three places.
_SAMPLE_ROWS = 1000
_SAMPLED_AT = (1, 2, 3)
_NEAR_SHARE = 0.1
# What a scan by an index takes longer for a row, as measured with 2,000,000 rows of 75 bytes: shuffled over
# 0.027 of the table, and over all of it. Over 0.003 it took 0.3 microseconds, about what Rivet's sort takes.
_NEAR_SECONDS = 0.85e-6
_FAR_SECONDS = 2.0e-6


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


def is_led(details: Iterable[str]) -> bool:
    """Tell whether an index that does not hold all that is asked for leads through a whole table."""
    return any(" USING INDEX " in detail and detail.startswith("SCAN ") for detail in details)


def order_statement(from_item: str, rowid: str, order: str) -> str:
    """Ask for the least and the greatest number of a row, and of samples how far apart their rows lie.

    Args:
        rowid: SQL of the number of a row.
        order: SQL of what an index orders the rows by.
    """
    ends = [f"(SELECT {end}({rowid}) FROM {from_item})" for end in ("min", "max")]
    parts = len(_SAMPLED_AT) + 1
    samples = []
    for place in _SAMPLED_AT:
        row = f"{rowid} >= {ends[0]} + ({ends[1]} - {ends[0]}) / {parts} * {place}"
        first = f"(SELECT {order} FROM {from_item} WHERE {row} ORDER BY {rowid} LIMIT 1)"
        rows = f"SELECT {rowid} AS n FROM {from_item} WHERE {order} >= {first} ORDER BY {order}"
        samples.append(f"(SELECT max(n) - min(n) FROM ({rows} LIMIT {_SAMPLE_ROWS}))")
    return f"SELECT {', '.join([*ends, *samples])}"


def detour_of(found: Sequence[int | None], rows: int, sort_bytes: int) -> Detour | None:
    """Reckon from samples what going by an index takes longer; None where they say nothing.

    Args:
        found: The answer to `order_statement`.

    >>> detour_of((1, 2_000_000, 1000, 999, None), 2_000_000, 0).seconds
    0.0
    >>> detour_of((1, 2_000_000, 1_990_000, 999, 1_800_000), 2_000_000, 0).seconds
    4.0
    >>> detour_of((1, 1000, 1000, 1000, 1000), 1000, 0) is None
    True
    """
    least, greatest, *samples = found
    told = sorted(width for width in samples if width is not None)
    if least is None or greatest is None or not told or greatest - least < _SAMPLE_ROWS / _NEAR_SHARE:
        return None
    # So far apart they would lie in order, where numbers are left out, too.
    share = max(0.0, told[len(told) // 2] / (greatest - least) - _SAMPLE_ROWS / rows)
    seconds = 0.0 if is_in_order(share) else _NEAR_SECONDS if share <= _NEAR_SHARE else _FAR_SECONDS
    return Detour(rows * seconds, rows, sort_bytes)
