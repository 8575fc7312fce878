"""How numbers of things stand in a sentence.

Pure.
"""

from __future__ import annotations


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Count things in words.

    >>> counted(1, "scan"), counted(3000, "row"), counted(0, "scan")
    ('1 scan', '3,000 rows', '0 scans')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
