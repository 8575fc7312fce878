"""Says how rows are sorted. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a date, timestamp or instant column, ties by the columns of the primary key."""

    column: str
    ties: tuple[str, ...] = ()
