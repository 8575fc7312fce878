"""Environment variables in a config: `${env:NAME}` in texts, and keys that name a variable.

Pure: the environment is a parameter. A variable's value is never part of a message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rivet.config.place import Keys, Place, is_unicode, without
from rivet.config.settings import Secret
from rivet.errors import Problem

_REFERENCE = re.compile(r"\$\{env:([^}]*)(\}?)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What hardly anybody has for a password, and no store for an access key: those have 16 in a row and more.
_USUAL_NAME = re.compile(r"(?!.*[A-Z0-9]{16})[A-Z_][A-Z0-9_]*")


class UnsetVariable(Problem):
    """A variable that is named and not set: no fault of an export that is not asked for."""


def replaced(place: Place, environ: Mapping[str, str]) -> tuple[dict[str, object], list[Problem]]:
    """Give what is written at a place with each `${env:NAME}` replaced, once, and what could not be.

    A value that could not be made whole is left out.

    >>> replaced(Place("$.source", {"user": "app_${env:STAGE}"}), {"STAGE": "${env:HOME}"})
    ({'user': 'app_${env:HOME}'}, [])
    """
    problems: dict[Keys, Problem] = {}

    def replace(value: object, keys: Keys) -> object:
        if isinstance(value, str):
            return _REFERENCE.sub(lambda match: lookup(match, keys), value)
        if isinstance(value, list):
            return [replace(item, (*keys, i)) for i, item in enumerate(value)]
        if isinstance(value, Mapping):
            return {key: replace(item, (*keys, key)) for key, item in value.items()}
        return value

    def lookup(match: re.Match[str], keys: Keys) -> str:
        path = place.at(*keys)
        if match[2]:
            value, problem = variable(match[1], path, environ)
        else:
            value, problem = "", Problem(path, "'${env:' has no '}'", "write ${env:NAME}")
        if problem is not None:
            problems[keys] = problem
        return value

    values = {key: replace(value, (key,)) for key, value in place.written.items()}
    for keys in problems:
        without(values, keys)
    return values, list(problems.values())


def values_in(text: object, environ: Mapping[str, str]) -> tuple[Secret, ...]:
    """Give the values that variables put into a text, each once; none where it is no text."""
    names = dict.fromkeys(match[1] for match in _REFERENCE.finditer(text)) if isinstance(text, str) else ()
    return tuple(Secret(environ[name]) for name in names if name in environ)


def variable(name: str, path: str, environ: Mapping[str, str]) -> tuple[str, Problem | None]:
    """Look up a variable that is named at a path; what is missing, or no text, is a problem."""
    if not _NAME.fullmatch(name):
        # Whoever writes the value where its name belongs must not find it in a log.
        return "", Problem(
            path,
            "expected the name of an environment variable: letters, digits and _",
            "write the variable's name here, and its value into the environment",
        )
    if name not in environ:
        if not _USUAL_NAME.fullmatch(name):  # a password may be a valid name, too
            return "", UnsetVariable(
                path,
                "the environment variable that it names is not set",
                "export it; it is the variable's name that stands here, not its value",
            )
        return "", UnsetVariable(path, f"environment variable {name!r} is not set", f"export {name}=…")
    if not is_unicode(environ[name]):
        return "", Problem(path, f"environment variable {name!r} is not UTF-8")
    return environ[name], None
