"""Connection URLs, read so that a password with any character in it is never cut at the wrong place.

Pure. No message holds a part of a URL but the names of its query parameters.

How a URL is read: user and password stand before an `@`. A password that was not percent-encoded may itself
hold `@`, `/`, `?` or `#`, so every `@` is tried, and none; a reading counts only if what follows is
`host:port/database?name=value&…` with nothing left over. Exactly one reading must remain, otherwise the URL
is refused: a guess could send the password to the wrong host. Each part is percent-decoded once; `%` stands
for itself unless two hexadecimal digits follow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from rivet.config.settings import Engine, Secret

_SCHEMES: dict[str, Engine] = {
    "postgresql": "postgres",
    "postgres": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlite": "sqlite",
}
_MAX_LENGTH = 8192
_QUOTES = "'\"`\u2018\u2019\u201c\u201d"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9.-]*)(?:\+[A-Za-z0-9_]+)?://")
_USERINFO = re.compile(r"(?P<user>[^:/?#]*)(?::(?P<password>.*))?", re.DOTALL)
_ADDRESS = re.compile(
    r"(?P<host>\[[0-9A-Fa-f:.]+(?:%(?:25)?[A-Za-z0-9._-]+)?\]|[^\s/?#@:,\[\]\\]*)"
    r"(?::(?P<port>[0-9]{0,5}))?"
    r"(?:/(?P<database>[^\s/?#@]*))?"
    r"(?:\?(?P<query>(?:[A-Za-z_][\w.-]*=[^&#\s]*(?:&|\Z))*))?"
)
_TLS_HINT = (
    "take it out of the URL, and write `tls: {mode: verify-full}` (or require, verify-ca) under `source`"
)
_PARAMETER_HINTS = {
    "connect_timeout": "write `connect_timeout_seconds` under `source`",
    "options": "take it out of the URL; `statement_timeout_seconds` stands under `source`",
    "application_name": "take it out of the URL",
    "charset": "take it out of the URL: text always comes as UTF-8",
    "password": "write user:password@ before the host",
    "user": "write user:password@ before the host",
    "dbname": "write /database after the host",
}
_TLS_PARAMETER = re.compile(r"(?i)(?:ssl|tls)[a-z_-]{0,20}|(?:use|require)ssl|channel_binding|gssencmode")
_SCHEME_HINT = (
    f"begin with one of {', '.join(_SCHEMES)}, and ://, as in postgresql://user:password@host/database"
)
_ENCODE_HINT = (
    "write it as scheme://user:password@host:port/database, with @ / ? # and % in each part percent-encoded;"
    " or write host, port, user, password_env and database instead"
)


class UrlError(ValueError):
    """A URL that cannot be read; message and mend are free of its text."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Location:
    """What a URL says; each part decoded, None where it says nothing.

    Attributes:
        host: Or the directory or file of a Unix socket.
        database: For SQLite, the path of the file.
    """

    engine: Engine
    host: str | None = None
    port: int | None = None
    user: str | None = None
    password: Secret | None = None
    database: str | None = None


def parse_url(text: str) -> Location:
    """Read a connection URL.

    Raises:
        UrlError: If it cannot be read in exactly one way; the message holds nothing of it.

    >>> location = parse_url("postgresql://app:p@ss/w?rd#1%@db.example:5432/shop")
    >>> location.user, location.password.reveal(), location.host, location.port, location.database
    ('app', 'p@ss/w?rd#1%', 'db.example', 5432, 'shop')
    """
    text = text.strip()
    if not text:
        raise UrlError("the URL is empty", _SCHEME_HINT)
    if text[0] in _QUOTES:
        raise UrlError(
            "the URL begins with a quote, which is no part of it",
            "take the quotes away: files of variables, such as Docker's, hand them on with the value",
        )
    scheme = _SCHEME.match(text)
    engine = _SCHEMES.get(scheme[1].lower()) if scheme else None
    if scheme is None or engine is None or len(text) > _MAX_LENGTH:
        raise UrlError(
            "the URL begins with no known scheme" if len(text) <= _MAX_LENGTH else "the URL is too long",
            _SCHEME_HINT,
        )
    rest = text[scheme.end() :]
    if engine == "sqlite":
        return _sqlite(rest)
    readings = [
        (userinfo, address)
        for split in [None, *(i for i, c in enumerate(rest) if c == "@")]
        if (userinfo := _USERINFO.fullmatch(rest[:split] if split is not None else ""))
        and (address := _ADDRESS.fullmatch(rest[split + 1 :] if split is not None else rest))
    ]
    complete = [reading for reading in readings if reading[1]["database"]]
    if readings and not complete and rest.count("@") < 2:
        raise UrlError("the URL names no database", "write /database after host and port")
    if len(complete) != 1:
        many = "can be read in more than one way" if complete else "cannot be read"
        raise UrlError(f"the URL {many}", _ENCODE_HINT)
    return _location(engine, *complete[0])


def _location(engine: Engine, userinfo: re.Match[str], address: re.Match[str]) -> Location:
    parameters = _parameters(engine, address["query"] or "")
    host = address["host"]
    host = host[1:-1].replace("%25", "%", 1) if host.startswith("[") else _decode(host)
    hosts = [h for h in (host, parameters.get("host"), parameters.get("unix_socket")) if h]
    ports = [p for p in (address["port"], parameters.get("port")) if p]
    if len(hosts) > 1 or len(ports) > 1:
        raise UrlError("the URL names two hosts or two ports", "leave one of them")
    if ports and not (re.fullmatch("[0-9]{1,5}", ports[0]) and 1 <= int(ports[0]) <= 65535):
        raise UrlError("the port in the URL is not between 1 and 65535", "write :port after the host")
    password = userinfo["password"]
    return Location(
        engine,
        host=hosts[0] if hosts else None,
        port=int(ports[0]) if ports else None,
        user=_decode(userinfo["user"]) or None,
        password=None if password is None else Secret(_decode(password)),
        database=_decode(address["database"]),
    )


def _parameters(engine: Engine, query: str) -> dict[str, str]:
    """Give the query parameters; only those that name a Unix socket are taken."""
    taken = {"host", "port"} if engine == "postgres" else {"unix_socket"}
    parameters: dict[str, str] = {}
    for part in query.rstrip("&").split("&") if query else []:
        name, _, value = part.partition("=")
        if name not in taken or name in parameters:
            # Only names that are known are shown: nothing else of a URL may reach a log.
            known = _PARAMETER_HINTS.get(name) or (_TLS_HINT if _TLS_PARAMETER.fullmatch(name) else None)
            what = f"parameter {name!r}" if known or name in taken else "a parameter"
            raise UrlError(f"the URL has {what}, which is refused", known or "take it out of the URL")
        parameters[name] = _decode(value)
    return parameters


def _sqlite(rest: str) -> Location:
    # As SQLAlchemy has it: sqlite:///relative.db and sqlite:////absolute.db
    if "?" in rest or not rest.startswith("/") or rest[1:] in ("", ":memory:"):
        raise UrlError(
            "the URL names no SQLite file", "write sqlite:///relative/file.db or sqlite:////absolute/file.db"
        )
    return Location("sqlite", database=_decode(rest[1:]))


def _decode(text: str) -> str:
    try:
        decoded = unquote(text, errors="strict")
    except UnicodeDecodeError:
        decoded = "\0"
    if "\0" in decoded:
        raise UrlError("the URL holds percent-encoded bytes that are not UTF-8 text", _ENCODE_HINT)
    return decoded
