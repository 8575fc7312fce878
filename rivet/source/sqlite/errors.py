"""One table from what the driver raises to what Rivet raises: what may pass, what is denied, what is wrong.

The driver hands over SQLite's own messages but not its codes, so the table is by message.
"""

from __future__ import annotations

import re

import adbc_driver_manager
import pyarrow as pa
import sqlalchemy.exc

from rivet.errors import SourceDenied, SourceError, SourceStopped, SourceUnavailable
from rivet.source.translation import Meaning, translation

DRIVER_ERRORS = (
    adbc_driver_manager.Error,
    sqlalchemy.exc.SQLAlchemyError,
    pa.ArrowException,
    OSError,
    UnicodeDecodeError,
)

# The driver's own words around SQLite's; what follows is the statement, which may hold values.
_PREFIX = re.compile(r"^(?:[A-Z_]+: )?(?:\[SQLite\] )?(?:Failed to (?:prepare|step) query: )?")
_STATEMENT = "\nquery:"

_LOCKED = (
    "another process writes to the database; run again later, or raise connect_timeout_seconds under `source`"
)
_NO_DATABASE = "check the path; a database that is encrypted must be decrypted to another file first"
_NOT_OPENED = (
    "check the rights on the file and its directory; a database in WAL mode needs its -wal and -shm files "
    "beside it, or a directory in which they can be made"
)
_HOT_JOURNAL = (
    "Rivet opens the file for reading only: where a writer was killed in a transaction, let its own program "
    "open the database once; one in WAL mode must be open elsewhere, or lie where this user may make files"
)
_FULL = "SQLite sorts in files; let SQLITE_TMPDIR name a directory with more room"

# By SQLite's messages (its sqlite3ErrStr and sqlite3_errmsg), the first that is part of what was raised.
_BY_MESSAGE: tuple[tuple[str, type[SourceError], str | None], ...] = (
    ("is locked", SourceUnavailable, _LOCKED),
    ("locking protocol", SourceUnavailable, None),
    ("file is not a database", SourceError, _NO_DATABASE),
    ("malformed", SourceError, "the file is damaged: look at it with PRAGMA integrity_check"),
    ("unable to open database file", SourceDenied, _NOT_OPENED),
    ("attempt to write a readonly database", SourceError, _HOT_JOURNAL),
    ("access permission denied", SourceDenied, None),
    ("not authorized", SourceDenied, None),
    ("disk is full", SourceStopped, _FULL),
    ("disk I/O error", SourceUnavailable, None),
    ("out of memory", SourceUnavailable, None),
    ("interrupted", SourceStopped, None),
)


def _meaning_of(error: BaseException) -> Meaning:
    message = _words_of(error)
    return next(((kind, hint) for part, kind, hint in _BY_MESSAGE if part in message), (SourceError, None))


def _words_of(error: BaseException) -> str:
    r"""Leave out the driver's own words, and the statement.

    >>> _words_of(OSError("[SQLite] Failed to step query: no such table: a\nquery: SELECT 'x'"))
    'no such table: a'
    """
    if isinstance(error, UnicodeDecodeError):
        return "a text is not valid UTF-8"
    return _PREFIX.sub("", str(error)).split(_STATEMENT, 1)[0] or type(error).__name__


translated = translation(DRIVER_ERRORS, _meaning_of, _words_of)
