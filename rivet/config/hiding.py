"""Takes out of what a server says the values of variables that stand in a query, which it may have quoted.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from rivet.config.settings import Secret
from rivet.errors import RivetError

MASK = "***"
# A server quotes a query from anywhere to anywhere: a piece of so many characters of a value is hidden, too.
_PIECE = 8
# A shorter value, such as a limit or a number of a tenant, is no secret.
_LEAST = 4


@contextmanager
def hiding(values: Sequence[Secret]) -> Iterator[None]:
    """Let every error of the block that was raised on purpose leave without these values."""
    try:
        yield
    except RivetError as error:
        error.args = tuple(without(a, values) if isinstance(a, str) else a for a in error.args)
        error.hint = None if error.hint is None else without(error.hint, values)
        raise


def without(text: str, values: Sequence[Secret]) -> str:
    """Replace each value, and each longer piece of one, by stars.

    >>> without("near 'd-battery-staple' LIMIT 1' at line 1", [Secret("old-battery-staple"), Secret("1")])
    "near '***' LIMIT 1' at line 1"
    """
    for value in values:
        text = _without(text, value.reveal())
    return text


def _without(text: str, value: str) -> str:
    size = min(_PIECE, len(value))
    if size < _LEAST:
        return text
    pieces = {value[i : i + size] for i in range(len(value) - size + 1)}
    begins = [i for i in range(len(text) - size + 1) if text[i : i + size] in pieces]
    hidden = {i + n for i in begins for n in range(size)}
    runs = groupby(enumerate(text), key=lambda place: place[0] in hidden)
    return "".join(MASK if is_hidden else "".join(c for _, c in run) for is_hidden, run in runs)
