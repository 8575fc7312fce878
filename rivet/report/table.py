"""Plain-text tables.

Pure.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence

from rivet.report.wording import one_line
from rivet.wording import counted


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Collection[int] = ()
) -> list[str]:
    """Lay out rows under a header, two spaces between columns; columns in `numbers` stand to the right.

    Every cell is made one line first.

    >>> table(("day", "rows"), [("Monday", "7")], numbers={1})
    ['day     rows', 'Monday     7']
    """
    lines = [[one_line(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(_padded(cell, widths[i], right=i in numbers) for i, cell in enumerate(line)).rstrip()
        for line in lines
    ]


def cut(lines: Sequence[str], limit: int, noun: str, *, header: int = 0) -> list[str]:
    """Leave out the middle of a list longer than limit, saying how much; the header lines always stay.

    >>> cut(["1", "2", "3", "4", "5"], 2, "partition")
    ['1', '... 3 partitions left out, --json lists all ...', '5']
    """
    left_out = len(lines) - header - limit
    if left_out <= 0:
        return list(lines)
    head = header + limit - limit // 2
    return [
        *lines[:head],
        f"... {counted(left_out, noun)} left out, --json lists all ...",
        *lines[head + left_out :],
    ]


def _padded(cell: str, width: int, *, right: bool) -> str:
    space = " " * (width - _width(cell))
    return space + cell if right else cell + space


def _width(text: str) -> int:
    """Count the terminal cells of a text: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )
