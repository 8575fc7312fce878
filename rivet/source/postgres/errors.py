"""One table from what the drivers raise to what Rivet raises: what may pass, what is denied, what is wrong.

Of a server's message only the primary line and its own hint are shown; detail, context and the statement
may hold rows.
"""

from __future__ import annotations

import ssl

import asyncpg
import psycopg
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
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    psycopg.Error,
    sqlalchemy.exc.SQLAlchemyError,
    OSError,  # refused, reset, timed out, no such host, TLS
)

_LOGIN = "check user, password and the server's pg_hba.conf"
_GRANT = "grant the user USAGE on the schema and SELECT on what the export reads"

# By SQLSTATE, or its class of two signs where the whole is not named (PostgreSQL manual, appendix A). An
# export whose source is unavailable is begun anew; one that was stopped is not, since it would be again.
_BY_SQLSTATE: dict[str, Meaning] = {
    "08": (SourceUnavailable, None),
    "25006": (SourceError, READ_ONLY),
    "25P03": (SourceUnavailable, CANCELLED),
    "25P04": (SourceStopped, CANCELLED),
    "28": (SourceDenied, _LOGIN),
    "3D000": (SourceDenied, "check the name of the database"),
    "40": (SourceUnavailable, None),  # deadlocks, and rows that a standby had to give up
    "42501": (SourceDenied, _GRANT),
    "53": (SourceUnavailable, None),  # too many connections, out of memory
    "53100": (SourceStopped, None),
    "53400": (SourceStopped, None),
    "55P03": (SourceUnavailable, LOCKED),
    "57": (SourceUnavailable, None),  # going down, coming up, a connection that was ended
    "57014": (SourceStopped, CANCELLED),
    "58": (SourceUnavailable, None),
    "72000": (SourceUnavailable, None),
    "HV00N": (SourceUnavailable, None),
}


def _meaning_of(error: BaseException) -> Meaning:
    kind, hint = _classify(error)
    return kind, hint or _server_hint(error)


def _classify(error: BaseException) -> Meaning:
    sqlstate = getattr(error, "sqlstate", None)
    if sqlstate:
        return _BY_SQLSTATE.get(sqlstate) or _BY_SQLSTATE.get(sqlstate[:2]) or (SourceError, None)
    if isinstance(error, ssl.SSLError):
        return SourceDenied, NO_TLS
    text = str(error)
    if isinstance(error, (OSError, psycopg.OperationalError)):
        # Neither asyncpg nor libpq has a class or a code for these; both say them in English.
        if any(word in text for word in ("SSL", "certificate")):
            return SourceDenied, NO_TLS
        return SourceUnavailable, UNREACHED if is_unreached(error) else None
    if isinstance(error, asyncpg.InterfaceError):
        return (SourceDenied, _LOGIN) if "authentication" in text.lower() else (SourceUnavailable, None)
    return SourceError, None


def _server_hint(error: BaseException) -> str | None:
    if isinstance(error, psycopg.Error):
        return error.diag.message_hint
    return getattr(error, "hint", None)


def _words_of(error: BaseException) -> str:
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        return error.diag.message_primary
    if isinstance(error, asyncpg.PostgresError):
        return str(error.args[0] if error.args else "no reason given")
    return first_line(error)


translated = translation(DRIVER_ERRORS, _meaning_of, _words_of)
