"""A part that stands, or is staged, as it is read again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import BinaryIO

WRITE_ANEW = "write the partition anew: rivet run --partition LABEL"
"""The mend where a part that stands is damaged."""


@dataclass(frozen=True, slots=True)
class ReadablePart:
    """A part that can be read, by its name for people."""

    name: str
    open: Callable[[], AbstractContextManager[BinaryIO]]
