"""Decides in how many queries an export is read, and says why.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from rivet.errors import PlanError
from rivet.plan.estimate import Estimate
from rivet.wording import counted

# Rows that a server may pass over for scans that no index serves, all together: some seconds of its time.
MAX_ROWS_PASSED = 10_000_000
_SERVED = 0.5


class Way(StrEnum):
    """In what queries an export is read."""

    SINGLE = "single"  # everything in one
    SPAN = "span"  # from the first window that is read to the last
    BOUNDED = "bounded"  # several windows in each, of bounded rows
    PER_PARTITION = "per_partition"
    CHUNKS = "chunks"


@dataclass(frozen=True, slots=True)
class Choice:
    """The way in which an export is read.

    Attributes:
        why: A clause for people.
        max_scan_rows: Rows of a scan, where they are bounded.
    """

    way: Way
    why: str = ""
    max_scan_rows: int = 1


ONE_SCAN = Choice(Way.SINGLE)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the choice follows from.

    Attributes:
        column: The partition column's name.
        unsteady: Why no snapshot is to be had; empty: it is.
        is_indexed: Whether an index leads with the column.
        is_part: Whether the relation holds further rows than those of the windows that are read.
        rows: All rows.
        max_scan_rows: The most that a scan may read, where several can be had.
        bound: Where that comes from, for people.
    """

    column: str
    unsteady: str
    is_indexed: bool
    is_part: bool
    rows: int
    max_scan_rows: int
    bound: str = "max_scan_rows"


def choose_way(wish: Literal["auto", "single", "per_partition"], given: Circumstances) -> Choice:
    """Choose how an export with a partition column is read.

    Several scans need a snapshot that they share, and an index, or each would pass over the whole table; who
    wants one for each partition gets it without an index, too, as far as `passes_advice` lets him.

    >>> given = Circumstances("day", "", is_indexed=True, is_part=False, rows=11, max_scan_rows=10)
    >>> choose_way("auto", given)
    Choice(way=<Way.BOUNDED: 'bounded'>, why='11 rows, more than max_scan_rows allows: 10', max_scan_rows=10)
    """
    if wish == "per_partition":
        return Choice(Way.PER_PARTITION, "`scan: per_partition` asks for it")
    if given.unsteady:
        return Choice(Way.SINGLE, f"several need a snapshot: {given.unsteady}")
    if wish == "single" or not given.is_indexed:
        asked = "`scan: single` asks for it"
        lacks = f"no index leads with {given.column!r}, so that each would read the whole table"
        return Choice(Way.SPAN if given.is_part else Way.SINGLE, asked if wish == "single" else lacks)
    if given.is_part:
        why = f"only what is selected is read, by the index on {given.column!r}"
        return Choice(Way.BOUNDED, why, given.max_scan_rows)
    rows, bound = counted(given.rows, "row"), f"more than {given.bound} allows: {given.max_scan_rows:,}"
    if given.rows <= given.max_scan_rows:
        return Choice(Way.SINGLE, f"{rows}, no {bound}")
    return Choice(Way.BOUNDED, f"{rows}, {bound}", given.max_scan_rows)


def is_passing(part: Estimate, whole: Estimate) -> bool:
    """Tell whether a scan of some windows passes over the table, and not over a part of it.

    Args:
        whole: Of all rows; neither is to be sorted.

    >>> is_passing(Estimate(90), Estimate(100)), is_passing(Estimate(10), Estimate(100))
    (True, False)
    """
    return part.cost is None or whole.cost is None or part.cost > _SERVED * whole.cost


def passes_advice(scans: int, rows: int, column: str, where: str) -> str:
    """Warn of scans each of which passes over all rows, for want of an index.

    Args:
        rows: Of the whole table.
        where: The export's place in the config.

    Raises:
        PlanError: They would pass over so many rows that nobody can have meant it.
    """
    passed = scans * rows
    told = (
        f"{where}.scan: no index leads with {column!r}, so each of {counted(scans, 'scan')} passes over all "
        f"{counted(rows, 'row')}"
    )
    hint = f"create an index that leads with {column!r}, or set `scan: auto`, which reads all in one"
    if passed > MAX_ROWS_PASSED:
        raise PlanError(f"{told}: {passed:,} in all, and at most {MAX_ROWS_PASSED:,} are allowed", hint=hint)
    return f"{told}: {hint}"
