"""One table from what the drivers raise to what Rivet raises: what may pass, is denied, or is wrong."""

from __future__ import annotations

import ssl
from collections.abc import Iterable

import asyncmy.errors
import pymysql.err
import sqlalchemy.exc

from rivet.errors import SourceDenied, SourceError, SourceStopped, SourceUnavailable
from rivet.source.translation import (
    CANCELLED,
    LOCKED,
    NO_TLS,
    READ_ONLY,
    UNREACHED,
    Meaning,
    first_line,
    is_unreached,
    translation,
)

DRIVER_ERRORS = (
    asyncmy.errors.MySQLError,
    pymysql.err.MySQLError,
    sqlalchemy.exc.SQLAlchemyError,
    OSError,  # refused, reset, timed out, no such host, TLS
)

_LOGIN = "check user, password, and the host that the account is for"
_GRANT = "grant the user SELECT on what the export reads"
_CHANGED = "a table was altered while the export was under way; run it again"
_PREPARED = "raise max_prepared_stmt_count at the server: to describe and each scan take a statement of it"
_GONE = (1054, 1146)  # no such column, no such table
_REPEATED = "give each column its own alias in the query"


def _meanings(codes: Iterable[int], kind: type[SourceError], hint: str | None = None) -> dict[int, Meaning]:
    return dict.fromkeys(codes, (kind, hint))


# By the server's or the client's code (MySQL and MariaDB manuals, "Error Codes"); others are SourceErrors. An
# export whose source is unavailable is begun anew; one that was stopped is not, since it would be again.
_BY_CODE: dict[int, Meaning] = (
    # Wrong password, host not allowed, password expired, account locked, an unknown way to log in.
    _meanings((1045, 1130, 1251, 1275, 1524, 1698, 1820, 1862, 2054, 2059, 2061), SourceDenied, _LOGIN)
    | _meanings((1129, 3118, 4151), SourceDenied, _LOGIN)
    | _meanings((1044, 1049), SourceDenied, "check the name of the database, and that the user may use it")
    | _meanings((1142, 1143, 1227, 1345, 1356, 1370), SourceDenied, _GRANT)
    | _meanings((2026, 3159), SourceDenied, NO_TLS)
    | _meanings((1290, 1792), SourceError, READ_ONLY)
    | _meanings((1060,), SourceError, _REPEATED)
    # Too many connections, out of memory, shutdown, a node of a cluster that is not ready.
    | _meanings((1037, 1040, 1041, 1047, 1053, 1203), SourceUnavailable)
    | _meanings((1461,), SourceUnavailable, _PREPARED)
    # What the storage engine says, often of its disk; what the network or net_write_timeout did.
    | _meanings((3, 126, 1026, 1030, 1152, 1158, 1159, 1160, 1161, 1184, 4031), SourceUnavailable)
    # No room on its disk or for its sort; the hour's resources of this user.
    | _meanings((28, 1021, 1038, 1226), SourceStopped)
    # Locks and deadlocks; a connection that was killed, as a server does that goes down.
    | _meanings((1205,), SourceUnavailable, LOCKED)
    | _meanings((1213, 1927, 3572), SourceUnavailable)
    # A statement that was killed, by hand or by max_statement_time and max_execution_time.
    | _meanings((1028, 1317, 1969, 3024), SourceStopped, CANCELLED)
    | _meanings((1412, 1615), SourceUnavailable, _CHANGED)
    # The client's own: not reached, unknown host; gone, lost, out of step; 0 is "not connected".
    | _meanings((2002, 2003, 2005), SourceUnavailable, UNREACHED)
    | _meanings((0, 2006, 2012, 2013, 2014, 2027, 2055), SourceUnavailable)
)


def code_of(error: BaseException) -> int | None:
    """Give the number of an error of either driver, or None."""
    code = error.args[0] if isinstance(error, _CODED) and error.args else None
    return code if isinstance(code, int) else None


def came_from_server(error: BaseException) -> bool:
    """Tell whether the server itself said it, so that the talk with it can go on."""
    code = code_of(error)
    return code is not None and code >= 1000 and not 2000 <= code < 3000


_CODED = (asyncmy.errors.MySQLError, pymysql.err.MySQLError)


def _meaning_of(error: BaseException) -> Meaning:
    if _is_tls(error):
        return SourceDenied, NO_TLS
    if isinstance(error, OSError):
        return SourceUnavailable, UNREACHED if is_unreached(error) else None
    code = code_of(error)
    if code is None:
        # What has no code did not come from the server: the talk with it broke.
        return (SourceUnavailable, None) if isinstance(error, _CODED) else (SourceError, None)
    return _BY_CODE.get(code, (SourceError, None))


def _is_tls(error: BaseException) -> bool:
    """Look for a failure of TLS in what the drivers wrap as "can't connect"."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLError):
            return True
        seen = getattr(seen, "original_exception", None) or seen.__cause__
    return False


def _words_of(error: BaseException) -> str:
    if code_of(error) is not None and len(error.args) > 1:
        return f"{error.args[1]} ({error.args[0]})" if error.args[0] else str(error.args[1])
    return first_line(error)


def _meaning_once_described(error: BaseException) -> Meaning:
    return (SourceUnavailable, _CHANGED) if code_of(error) in _GONE else _meaning_of(error)


translated = translation(DRIVER_ERRORS, _meaning_of, _words_of)
translated_once_described = translation(DRIVER_ERRORS, _meaning_once_described, _words_of)
"""For statements over columns that the server has described: one that it does not know any more is gone."""
