"""What a source's planner says of the query of a scan, and what its catalogue says of how the rows lie.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

# From here on a table's order is taken for that of a column: so PostgreSQL's own planner nearly does.
_ORDERED = 0.95


@dataclass(frozen=True, slots=True)
class Access:
    """How a query comes to the rows of one table.

    Attributes:
        table: As the planner names it; empty for the relation itself.
        index: Name of the index that is used, or None where the whole table is passed over.
    """

    table: str
    index: str | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a scan would cost, by the source's own estimate.

    Attributes:
        cost: In the planner's own units, which compare the queries of one engine; None where it tells none.
        rows: None where it tells none.
        sort_bytes: What the source would sort, if it is asked for an order; 0: the rows come in order.
        accesses: How it comes to the rows, each once.
        table_bytes: What the table takes, as its catalogue has it; None of a query, or where it says nothing.
        correlation: How far the rows lie in the column's order, from -1 to 1; None where that is not known.
    """

    cost: float | None = None
    rows: int | None = None
    sort_bytes: int = 0
    accesses: tuple[Access, ...] = ()
    table_bytes: int | None = None
    correlation: float | None = None


def order_told(correlation: float | None, column: str) -> str:
    """Say how rows lie; nothing where that is not known.

    >>> order_told(0.999, "day"), order_told(-1.0, "day"), order_told(None, "day")
    ("in the order of 'day'", "in the reverse order of 'day'", '')
    >>> order_told(0.31, "day")
    "not in the order of 'day' (correlation 0.31)"
    """
    if correlation is None:
        return ""
    if abs(correlation) >= _ORDERED:
        return f"in the {'reverse ' if correlation < 0 else ''}order of {column!r}"
    return f"not in the order of {column!r} (correlation {correlation:.2f})"
