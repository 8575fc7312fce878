"""Reads the small files of a tree within bounds, whoever wrote them and however large they are."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext

from rivet.destination.protocol import Destination

# What is larger takes many times its size while it is parsed, so only one such is at a time.
_LARGE_BYTES = 1024**2
_large = threading.Lock()


def read_bounded(destination: Destination, name: str, limit_bytes: int) -> bytes:
    """Give an object's bytes, cut one byte beyond a limit, by which a parser sees that it is too large.

    Raises:
        ObjectNotFound: There is none.
    """
    return destination.inspect(name, limit_bytes + 1).data


def one_large(size_bytes: int) -> AbstractContextManager[object]:
    """Wait until nothing else of the process that is large is being parsed, where this is large."""
    return _large if size_bytes > _LARGE_BYTES else nullcontext()
