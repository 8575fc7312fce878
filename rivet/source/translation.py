"""The frame around each engine's table of what its drivers raise.

Pure. What an error means, each engine says in its own `errors.py`.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import sqlalchemy.exc

from rivet.errors import SourceError

Meaning = tuple[type[SourceError], str | None]
"""What Rivet raises, and the mend."""

_LIBPQ_UNREACHED = ("Connection refused", "No such file", "could not translate host", "timeout expired")
UNREACHED = "check host and port under `source`, and that the server is running and can be reached from here"
CANCELLED = (
    "the server cancelled it; see statement_timeout_seconds under `source`, and the server's own limits"
)
LOCK_WAIT_SECONDS = 15  # for a table; every session of ours sets it
LOCKED = (
    f"for {LOCK_WAIT_SECONDS} seconds somebody held the table, as DDL does (ALTER TABLE, TRUNCATE, …) that "
    "is under way or waits in the queue itself; run again when it has ended"
)
NO_TLS = "check `tls` under `source` against what the server offers"
READ_ONLY = "Rivet reads in a read-only transaction; take what writes out of the query"


def translation(
    drivers: tuple[type[BaseException], ...],
    meaning_of: Callable[[BaseException], Meaning],
    words_of: Callable[[BaseException], str],
) -> Callable[[str], AbstractContextManager[None]]:
    """Give the context in which what drivers raise becomes a `SourceError`.

    It is entered with the words for what is under way, such as `cannot connect`; SQLAlchemy's wrapping is
    taken off before meaning and words are asked for.

    >>> translated = translation((OSError,), lambda _: (SourceError, None), str)
    >>> with translated("cannot read"):
    ...     raise OSError("gone")
    Traceback (most recent call last):
    ...
    rivet.errors.SourceError: cannot read: gone
    """

    @contextmanager
    def translated(doing: str) -> Iterator[None]:
        try:
            yield
        except drivers as exc:
            error = exc.orig if isinstance(exc, sqlalchemy.exc.DBAPIError) and exc.orig is not None else exc
            kind, hint = meaning_of(error)
            raise kind(f"{doing}: {words_of(error)}", hint=hint) from exc

    return translated


def is_unreached(error: BaseException) -> bool:
    """Tell whether no server answered at the address; libpq says it in English only."""
    if isinstance(error, (ConnectionRefusedError, FileNotFoundError, TimeoutError, socket.gaierror)):
        return True
    text = str(error)
    return any(words in text for words in _LIBPQ_UNREACHED)


def first_line(error: BaseException) -> str:
    """Give what an error without a field for its message says: the rest may hold the statement."""
    if isinstance(error, TimeoutError):
        return "timed out"
    return str(error).split("\n", 1)[0] or type(error).__name__
