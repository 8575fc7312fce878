"""What both the reader of packets and the decoder of their rows know of the binary protocol. Pure."""

from __future__ import annotations

from dataclasses import dataclass

HEADER_BYTES = 4
"""Before each packet stands its length, in three bytes, and a number that counts packets."""
JOINED = 2**24 - 1
"""Stands for the length of a row that came in several packets: it goes on to the end of its block."""


@dataclass(frozen=True, slots=True)
class Wire:
    """In what form the values of an output column come.

    Attributes:
        code: The protocol's number of the type.
        decimals: Digits of a second's fraction that a moment shows as text.
    """

    code: int
    is_unsigned: bool = False
    decimals: int = 0
