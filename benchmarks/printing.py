"""Lays figures out for people: rows of a table, and goals that are met or missed."""

from __future__ import annotations

from collections.abc import Sequence


def goal_line(name: str, value: str, goal: str, *, met: bool) -> str:
    """Say of a figure whether it meets its goal."""
    return f"{name:34}{value:34}{'meets' if met else 'misses'} the goal of {goal}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align cells in columns: the first to the left, the others to the right."""
    widths = [max(len(row[number]) for row in (head, *rows)) for number in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, *rows)
    )


def megabytes(size_bytes: float) -> str:
    """Write a number of bytes, in the unit that the goals have."""
    return f"{size_bytes / 1e6:,.0f} MB"


def seconds(value: float) -> str:
    """Write a time."""
    return f"{value:.2f} s"
