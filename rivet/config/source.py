"""The source of a config: exactly one way to name a database, resolved into how to connect to it.

Reads `url_file`; looks at nothing else outside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rivet.config.check import checked
from rivet.config.edges import Source
from rivet.config.edges import Tls as TlsKeys
from rivet.config.environment import variable
from rivet.config.files import lack_of_file, read_text
from rivet.config.paths import tidied
from rivet.config.place import Place
from rivet.config.settings import Engine, Secret, SourceSettings, Tls
from rivet.config.url import Location, UrlError, parse_url
from rivet.errors import Problem

_URLS = ("url", "url_env", "url_file")
_PARTS = ("host", "port", "user", "password", "password_env", "database")
_WAYS = "write exactly one of url, url_env, url_file, or host, port, user, password_env and database"
_SQLITE_WAYS = "write exactly one of path, url, url_env, url_file"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# A socket's path, a name or an IPv4 address, or an IPv6 address with or without a zone.
_HOST = re.compile(r"/[^\0]*|[^\s/?#@,\\:\[\]]+|(?=[^:]*:[^:]*:)[0-9A-Fa-f:.]+(?:%\S+)?")


def source_settings(
    place: Place, directory: Path, environ: Mapping[str, str]
) -> tuple[SourceSettings | None, list[Problem]]:
    """Resolve the source; None where problems stand against it.

    Args:
        directory: The config's folder, from which relative paths are meant.
    """
    source, problems = checked(Source, place, environ)
    if not place.states("type"):
        problems.append(place.problem(("type",), "is missing", "write postgres, mysql or sqlite"))
    way, more = _way(source, place)
    problems += more
    location = None
    if way in _URLS:
        location, more = _from_url(source, place, way, directory, environ)
        problems += more
    elif way in _PARTS:
        location, more = _from_parts(source, place, environ)
        problems += more
    elif source.path is not None:
        location = Location("sqlite", database=source.path)
    if location is not None and location.host is not None and not _HOST.fullmatch(location.host):
        key = way if way in _URLS else "host"
        message = "the host is neither a name nor an address nor an absolute path"
        problems.append(place.problem((key,), message, "write one host"))
    tls, more = tls_settings(source.tls, source.type, location, place, directory)
    problems += more
    problems += _misplaced(source, place)
    problems += _beside(source, place)
    if problems or location is None:
        return None, problems
    stated = source.model_dump(
        include={
            "snapshot",
            "consistency",
            "connect_timeout_seconds",
            "statement_timeout_seconds",
            "retries",
            "parallel",
        },
        exclude_none=True,
    )
    return replace(settings_of(location, tls, directory), **stated), []


def _misplaced(source: Source, place: Place) -> list[Problem]:
    """Refuse a URL, which may hold a password, where a name stands that everybody is told."""
    hint = "write the URL into an environment variable, and name that in `url_env`"
    named = (("user", source.user), ("database", source.database), ("path", source.path))
    return [
        place.problem((key,), "is a URL, and none belongs here", hint)
        for key, value in named
        if value is not None and _URL.match(value.strip())
    ]


def _beside(source: Source, place: Place) -> list[Problem]:
    """Refuse several scans at once where an engine has one moment on one connection alone."""
    if source.parallel in (None, 1):
        return []
    if source.type == "sqlite":
        message = "found {found}, and the file of type sqlite is read by one connection in one transaction"
        return [place.problem(("parallel",), message, "write `parallel: 1`, or remove it")]
    if source.type == "mysql" and source.consistency != "statement":
        message = "found {found}, and for type mysql one consistent snapshot lives on one connection"
        hint = "write `parallel: 1`, or `consistency: statement`, and each scan is of a moment of its own"
        return [place.problem(("parallel",), message, hint)]
    return []


def settings_of(location: Location, tls: Tls | None, directory: Path) -> SourceSettings:
    """Say how to connect to a location; of a file the path is meant from the config's folder."""
    sqlite = location.engine == "sqlite"
    return SourceSettings(
        location.engine,
        host=location.host,
        port=location.port,
        user=location.user,
        password=location.password,
        database=None if sqlite else location.database,
        path=tidied(directory / location.database) if sqlite and location.database else None,
        tls=tls,
    )


def _way(source: Source, place: Place) -> tuple[str, list[Problem]]:
    """Give the first key of the way in which the database is named, empty where there is not one way."""
    sqlite = source.type == "sqlite"
    hint = _SQLITE_WAYS if sqlite else _WAYS
    strangers = {None: (), "sqlite": _PARTS}.get(source.type, ("path",))
    problems = [
        place.problem((key,), f"has no meaning for type {source.type}", hint)
        for key in strangers
        if place.states(key)
    ]
    ways = [key for key in (*_URLS, "path") if place.states(key)]
    ways += [key for key in _PARTS if place.states(key)][:1]
    ways = [key for key in ways if key not in strangers]
    if not ways and not problems:
        problems.append(Problem(place.path, "names no database", hint))
    problems += [
        place.problem((key,), f"stands beside {ways[0]}, and one is enough", hint) for key in ways[1:]
    ]
    return (ways[0] if len(ways) == 1 else ""), problems


def _from_url(
    source: Source, place: Place, key: str, directory: Path, environ: Mapping[str, str]
) -> tuple[Location | None, list[Problem]]:
    named = getattr(source, key)
    if named is None:
        return None, []
    text, problem, message = named, None, None
    if key == "url_env":
        text, problem = variable(named, place.at(key), environ)
        if problem is None and not text.strip():
            message = f"environment variable {named!r} is empty, expected the URL of the database"
            return None, [
                place.problem((key,), message, f"export {named}=scheme://user:password@host/database")
            ]
    elif key == "url_file":
        text, message = read_text(directory / named)
    if message is not None:
        problem = place.problem((key,), f"cannot read {{found}}: {message}")
    if problem is not None:
        return None, [problem]
    try:
        location = parse_url(text)
    except UrlError as error:
        return None, [place.problem((key,), str(error), error.hint)]
    if source.type is not None and location.engine != source.type:
        message = f"the URL is for {location.engine}, the type is {source.type}"
        return None, [place.problem((key,), message, "make the two agree")]
    return location, []


def _from_parts(
    source: Source, place: Place, environ: Mapping[str, str]
) -> tuple[Location | None, list[Problem]]:
    problems = []
    password = source.password
    if not place.states("database"):
        problems.append(place.problem(("database",), "is missing", "name the database"))
    if place.states("password") and place.states("password_env"):
        message = "stands beside password, and one is enough"
        problems.append(place.problem(("password_env",), message, "write password_env"))
    if source.password_env is not None:
        password, problem = variable(source.password_env, place.at("password_env"), environ)
        problems += [problem] if problem is not None else []
    if password is not None and "\0" in password:
        problems.append(place.problem(("password",), "holds a zero character"))
    if source.type is None or problems:
        return None, problems
    return Location(
        source.type,
        host=source.host.removeprefix("[").removesuffix("]") if source.host is not None else None,
        port=source.port,
        user=source.user,
        password=None if password is None else Secret(password),
        database=source.database,
    ), []


def tls_settings(
    written: TlsKeys | None,
    engine: Engine | None,
    location: Location | None,
    place: Place,
    directory: Path,
) -> tuple[Tls | None, list[Problem]]:
    """Resolve the `tls` of a database, which stands at a place."""
    if written is None:
        return None, []
    mode = written.mode
    problems = []
    if not place.states("tls", "mode"):
        hint = "write disable, require, verify-ca or verify-full"
        problems.append(place.problem(("tls", "mode"), "is missing", hint))
    if engine == "sqlite":
        problems.append(place.problem(("tls",), "has no meaning for type sqlite", "remove it"))
    socket = location is not None and (location.host or "").startswith("/")
    if socket and mode not in (None, "disable"):
        message = f"mode {mode} cannot be had over a Unix socket"
        problems.append(place.problem(("tls",), message, "remove it, or name a host"))
    ca_file = None if written.ca_file is None else tidied(directory / written.ca_file)
    if ca_file is not None and mode in ("disable", "require"):
        message = f"is not used by mode {mode}"
        problems.append(place.problem(("tls", "ca_file"), message, "write `mode: verify-ca` or verify-full"))
    elif ca_file is None and mode == "verify-ca" and not place.states("tls", "ca_file"):
        message = "is missing: mode verify-ca would trust anyone whom a public authority has signed"
        problems.append(place.problem(("tls", "ca_file"), message, "name it, or write `mode: verify-full`"))
    elif ca_file is not None and (lack := lack_of_file(ca_file)) is not None:
        problems.append(place.problem(("tls", "ca_file"), f"{{found}} {lack}"))
    return (None if mode is None else Tls(mode, ca_file)), problems
