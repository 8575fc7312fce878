"""Sizes and times as people write them.

Pure.
"""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

_UNITS = {
    "": 1,
    "b": 1,
    **{f"{prefix}b": 1000**n for n, prefix in enumerate("kmgt", 1)},
    **{f"{prefix}ib": 1024**n for n, prefix in enumerate("kmgt", 1)},
}
_TIME = re.compile(r"([0-9]{1,9}) ?(second|minute|hour|day|week)s?")
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?) ?([A-Za-z]*)")


def parse_size(text: str) -> int | None:
    """Give the bytes of a size, or None where the text is none.

    KB, MB, GB, TB are decimal, KiB, MiB, GiB, TiB binary; a number without a unit is bytes. A fraction of a
    byte is dropped; upper and lower case are alike.

    >>> parse_size("256MiB"), parse_size("1.5 GB"), parse_size("1024")
    (268435456, 1500000000, 1024)
    """
    match = _SIZE.fullmatch(text.strip())
    factor = _UNITS.get(match[2].lower()) if match else None
    return None if match is None or factor is None else int(Fraction(match[1]) * factor)


def parse_time(text: str) -> timedelta | None:
    """Give a length of time, or None where the text is none.

    >>> parse_time("6 hours"), parse_time("1day"), parse_time("6")
    (datetime.timedelta(seconds=21600), datetime.timedelta(days=1), None)
    """
    match = _TIME.fullmatch(text.strip().lower())
    return None if match is None else timedelta(**{f"{match[2]}s": int(match[1])})
