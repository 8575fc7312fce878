"""Where something stands in a config, and how it is shown: paths, and values without secrets.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rivet.errors import Problem

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_MAX_SHOWN = 60
# The last three are names, where some people write the secret itself.
_SECRET_KEYS = {"url", "password", "access_key_env", "secret_key_env", "session_token_env"}

Keys = tuple[str | int, ...]


def below(path: str, key: str | int) -> str:
    """Extend a path by a key or an index.

    >>> below(below("$", "exports"), 0), below("$", "a key")
    ('$.exports[0]', "$['a key']")
    """
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if _PLAIN_KEY.fullmatch(key) else f"{path}[{shown(key)}]"


def shown(value: object) -> str:
    """Show a value as a message may: short, in one line, and hidden where it may hold a connection URL.

    >>> shown("weekly"), shown(True), shown("postgresql://u:p@h/d"), shown([])
    ("'weekly'", 'true', "'***'", 'a list')
    """
    if isinstance(value, str):
        if "://" in value or "@" in value:
            return "'***'"
        return repr(value if len(value) <= _MAX_SHOWN else value[:_MAX_SHOWN] + "…")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return "null" if value is None else "a list" if isinstance(value, list) else "a mapping"


def is_unicode(text: str) -> bool:
    """Tell whether a text can be encoded: YAML escapes and environment variables can hold lone surrogates."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


@dataclass(frozen=True)
class Place:
    """A mapping of the config: where it stands, and what the user wrote there.

    Attributes:
        path: Such as `$.exports[0]`.
        written: Its values before any `${env:…}` was replaced; to show them shows no variable's value.
        inherited: Keys, and pairs of nested keys, whose values came from `$.defaults`.
    """

    path: str
    written: Mapping[str, object]
    inherited: frozenset[Keys] = field(default_factory=frozenset)

    def at(self, *keys: str | int) -> str:
        """Give the path of what stands under keys; what `defaults` gave stands there."""
        inherited = any(keys[:n] in self.inherited for n in range(1, len(keys) + 1))
        path = "$.defaults" if inherited else self.path
        for key in keys:
            path = below(path, key)
        return path

    def found(self, *keys: str | int) -> object:
        """Give what the user wrote under keys, or None."""
        value: object = self.written
        for key in keys:
            if isinstance(value, Mapping) and isinstance(key, str):
                value = value.get(key)
            elif isinstance(value, list) and isinstance(key, int) and key < len(value):
                value = value[key]
            else:
                return None
        return value

    def states(self, *keys: str | int) -> bool:
        """Tell whether the user wrote something other than null under keys."""
        return self.found(*keys) is not None

    def problem(self, keys: Keys, message: str, hint: str | None = None) -> Problem:
        """Word a problem of what stands under keys; `{found}` in the message shows it."""
        return Problem(self.at(*keys), self._filled(message, keys), hint)

    def clash(self, keys: Keys, message: str, hint: str) -> Problem:
        """Word a problem of what stands under keys beside something else: it is this place's own."""
        return Problem(Place(self.path, {}).at(*keys), self._filled(message, keys), hint)

    def _filled(self, message: str, keys: Keys) -> str:
        if keys and keys[-1] in _SECRET_KEYS:
            # What is empty hides nothing, and stars would look like something.
            return message.replace("{found} is empty", "is empty").replace("{found}", "'***'")
        return message.replace("{found}", shown(self.found(*keys)))


def without(values: dict[str, object], keys: Keys) -> None:
    """Remove what stands under keys; of a list, the whole list."""
    *parents, last = keys[: next((i for i, key in enumerate(keys) if isinstance(key, int)), len(keys))]
    inner: object = values
    for key in parents:
        inner = inner.get(key) if isinstance(inner, dict) else None
    if isinstance(inner, dict):
        inner.pop(last, None)
