"""How texts and quantities are worded: one line, nothing that a terminal obeys, numbers a person can read.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from rivet.wording import counted


def one_line(text: str) -> str:
    r"""Escape every character that is not printable, so that no name can forge a line or steer a terminal.

    Line breaks, control and format characters (bidirectional overrides too) and lone surrogates become
    `\n`, `\x1b`, `\u202e`, `\udcff`.

    >>> one_line("a\nb")
    'a\\nb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def rows_each(ends: tuple[int, int] | None, at_once: int) -> str:
    """Say of scans that are read at once how many rows each has, and how many they are; else nothing.

    >>> rows_each((5, 7000), 2), rows_each((5, 5), 2), rows_each((5, 7000), 1)
    (' of 5 to 7,000 rows, 2 at once', ' of 5 rows, 2 at once', '')
    """
    if at_once == 1:
        return ""
    rows = ""
    if ends is not None:
        rows = f" of {ends[0]:,} to {ends[1]:,} rows" if ends[0] != ends[1] else f" of {ends[0]:,} rows"
    return f"{rows}, {at_once} at once"


def shared_by(block_ranges: int | None) -> str:
    """Say of one scan how many connections share it; else nothing.

    >>> shared_by(3), shared_by(1)
    (', its blocks shared by 3 connections', '')
    """
    return f", its blocks shared by {block_ranges} connections" if (block_ranges or 1) > 1 else ""


def by_column(counts: Mapping[str, int]) -> str:
    """List counts of values by column.

    >>> by_column({"at": 3, "price": 1000})
    "3 values of 'at', 1,000 values of 'price'"
    """
    return ", ".join(f"{counted(count, 'value')} of {name!r}" for name, count in counts.items())


def size(size_bytes: int) -> str:
    """Write a size in bytes with a decimal unit.

    >>> size(999), size(1_500), size(161_234_567)
    ('999 bytes', '1.5 kB', '161.2 MB')
    """
    if size_bytes < 1000:
        return counted(size_bytes, "byte")
    amount = float(size_bytes)
    for unit in ("kB", "MB", "GB", "TB"):
        amount /= 1000
        if round(amount, 1) < 1000:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:,.1f} PB"


def duration(seconds: float) -> str:
    """Write a duration given in seconds.

    >>> duration(4.06), duration(125), duration(3725)
    ('4.1 s', '2 min 05 s', '1 h 02 min')
    """
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
