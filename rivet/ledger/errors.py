"""What the drivers of the ledger's database raise, as one line that holds no secret."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy.exc

from rivet.errors import LedgerError, LedgerUnavailable

_HINT = "no run needs the ledger: a damaged file may be removed, and `state: off` in the config does without"
# Neither psycopg nor PyMySQL has a class of its own for a server that lets nobody in; libpq has no code.
_REFUSED_CODES = (1044, 1045, 1049, 1130, 1142, 1698)
_MAY_PASS = (
    "starting up",
    "shutting down",
    "too many",
    "connection slots",
    "recovery",
    "timeout",
    "timed out",
)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn what a driver or the system raises into a `LedgerError`, told in one line.

    Raises:
        LedgerUnavailable: It may pass: unreachable, locked, a full disk.
        LedgerError: It was refused, or something else than a ledger stands there.
    """
    try:
        yield
    except sqlalchemy.exc.DBAPIError as exc:
        original = exc.orig if exc.orig is not None else exc
        words = _words(original)
        may_pass = isinstance(exc, sqlalchemy.exc.OperationalError) and not _is_refusal(original, words)
        kind = LedgerUnavailable if may_pass else LedgerError
        raise kind(f"{doing}: {words}", hint=_HINT) from exc
    except sqlalchemy.exc.SQLAlchemyError as exc:
        raise LedgerError(f"{doing}: {type(exc).__name__}", hint=_HINT) from exc
    except OSError as exc:
        raise LedgerError(f"{doing}: {exc.strerror or type(exc).__name__}", hint=_HINT) from exc


def _words(error: BaseException) -> str:
    """Give what a driver says: of PyMySQL the text beside its code; only the first line."""
    if len(error.args) > 1 and isinstance(error.args[0], int):
        return str(error.args[1])
    primary = getattr(getattr(error, "diag", None), "message_primary", None)
    return primary or str(error).strip().split("\n", 1)[0] or type(error).__name__


def _is_refusal(error: BaseException, words: str) -> bool:
    if len(error.args) > 1 and isinstance(error.args[0], int):
        return error.args[0] in _REFUSED_CODES
    return "FATAL:" in words and not any(passing in words for passing in _MAY_PASS)
