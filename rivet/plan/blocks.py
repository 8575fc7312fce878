"""Ranges of the blocks in which a table lies, by which several connections share one pass over it. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks `[start, end)` of a table; no end: up to its last one, whatever is added meanwhile."""

    start: int
    end: int | None


def block_ranges(blocks: int, number: int, *, least: int) -> tuple[Blocks, ...]:
    """Cut a table into at most so many ranges of about equal size; none where one is all that it is worth.

    Args:
        blocks: Those of the table.
        least: Blocks that are worth a connection.

    >>> block_ranges(10, 3, least=2)
    (Blocks(start=0, end=3), Blocks(start=3, end=6), Blocks(start=6, end=None))
    >>> block_ranges(3, 3, least=2)
    ()
    """
    number = min(number, blocks // least)
    if number < 2:
        return ()
    edges = [blocks * place // number for place in range(number)]
    ends = [*edges[1:], None]
    return tuple(Blocks(start, end) for start, end in zip(edges, ends, strict=True))
