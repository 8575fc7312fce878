"""Reads JSON as strictly as it is written: UTF-8, no key twice, no NaN, no lone surrogate, bounded depth.

Pure. Whatever is not as expected raises `DecodeError` with the place, what was seen and what was expected.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from math import isfinite
from typing import NoReturn, TypeVar

from rivet.errors import IntegrityError

T = TypeVar("T")
Decoder = Callable[[object, str], T]

# An export file of half a million partitions, far above what anything else writes.
MAX_BYTES = 256 * 1024**2
# What such a file holds. Python takes a hundred bytes and more for a value that a file has in three.
_MAX_VALUES = 6_000_000

_MAX_DEPTH = 64
_MAX_COUNT = 2**63 - 1
_MAX_SHOWN = 80
# How a lone surrogate can be written in UTF-8, which itself has none; one of a pair looks the same.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class DecodeError(IntegrityError):
    """A manifest or an export file cannot be read as one."""


class UnknownVersion(DecodeError):
    """A manifest or an export file is of a version that this Rivet does not know."""


def parse(data: bytes, max_bytes: int = MAX_BYTES) -> object:
    """Parse one JSON document into plain values that can be written back as they are."""
    check_bounds(data, max_bytes)
    if data.startswith(BOM_UTF8):
        raise DecodeError("expected JSON, and the file begins with a byte order mark")
    try:
        value = _DECODER.decode(data.decode())
    except UnicodeDecodeError as error:
        raise DecodeError(f"byte {error.start} is {data[error.start]:#04x}, expected UTF-8 text") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise DecodeError(f"expected JSON, and {where} is none: {error.msg.lower()}") from error
    except ValueError as error:  # Python reads no integer of more than some thousand digits
        raise DecodeError(f"a number is too long: {error}") from error
    except RecursionError as error:
        raise DecodeError(f"the nesting is too deep, expected at most {_MAX_DEPTH} levels") from error
    if not _is_shallow(value) or _SURROGATE.search(data):
        _check(value, "$", _MAX_DEPTH)
    return value


def check_bounds(data: bytes, max_bytes: int) -> None:
    """Refuse a document that is larger, or holds more values, than is ever parsed."""
    if len(data) > max_bytes:
        raise DecodeError(f"the file is larger than {max_bytes} bytes")
    # Each value follows one of these; in texts there may be more of them.
    if sum(map(data.count, (b"[", b"{", b","))) > _MAX_VALUES:
        raise DecodeError(f"the file has more than {_MAX_VALUES} values")


def unexpected(path: str, seen: object, expected: str) -> NoReturn:
    """Raise the error for a value that is not what stands there by the format."""
    raise DecodeError(f"{path} is {_shown(seen)}, expected {expected}")


def text(value: object, path: str) -> str:
    """Take any text."""
    return value if isinstance(value, str) else unexpected(path, value, "text")


def count(value: object, path: str) -> int:
    """Take an integer from 0 to 2**63 - 1; a boolean is none."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_COUNT:
        return value
    unexpected(path, value, "an integer from 0 to 2**63 - 1")


def flag(value: object, path: str) -> bool:
    """Take true or false."""
    return value if isinstance(value, bool) else unexpected(path, value, "true or false")


def inner_path(value: object, path: str) -> str:
    """Take a relative path that stays where it begins: no empty, `.` or `..` segment, no zero character."""
    name = text(value, path)
    if "\0" in name or not {"", ".", ".."}.isdisjoint(name.split("/")):
        unexpected(path, value, "a relative path without empty, '.' or '..' segments")
    return name


def one_of(*allowed: T) -> Decoder[T]:
    """Take one of these words."""

    def decode(value: object, path: str) -> T:
        for word in allowed:
            if value == word:
                return word
        unexpected(path, value, " or ".join(map(repr, allowed)))

    return decode


def nullable(inner: Decoder[T]) -> Decoder[T | None]:
    """Take null or what the inner decoder takes."""
    return lambda value, path: None if value is None else inner(value, path)


def array_of(inner: Decoder[T]) -> Decoder[tuple[T, ...]]:
    """Take a list of what the inner decoder takes."""

    def decode(value: object, path: str) -> tuple[T, ...]:
        if not isinstance(value, list):
            unexpected(path, value, "a list")
        return tuple(inner(item, f"{path}[{number}]") for number, item in enumerate(value))

    return decode


def mapping_of(inner: Decoder[T]) -> Decoder[Mapping[str, T]]:
    """Take an object with any keys, whose values the inner decoder takes."""

    def decode(value: object, path: str) -> Mapping[str, T]:
        if not isinstance(value, dict):
            unexpected(path, value, "an object")
        return {key: inner(item, f"{path}.{key}") for key, item in value.items()}

    return decode


class Fields:
    """The keys of one object; each known one is taken once, and what is left over is unknown."""

    def __init__(self, value: object, path: str) -> None:
        if not isinstance(value, dict):
            unexpected(path, value, "an object")
        self._left = dict(value)
        self._path = path

    def take(self, key: str, inner: Decoder[T]) -> T:
        """Take the value of a key that must be there."""
        try:
            value = self._left.pop(key)
        except KeyError:
            raise DecodeError(f"{self._path} has no key {key!r}") from None
        return inner(value, f"{self._path}.{key}")

    def take_or(self, key: str, inner: Decoder[T], default: T) -> T:
        """Take the value of a key that may be absent."""
        return self.take(key, inner) if key in self._left else default

    def rest(self) -> dict[str, object]:
        """Give the keys that were not taken."""
        return self._left


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in values if keys.count(key) > 1)
        raise DecodeError(f"an object has the key {_shown(twice)} twice")
    return values


def _refuse_constant(name: str) -> NoReturn:
    raise DecodeError(f"{name} stands for a number, which JSON does not know")


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise DecodeError(f"the number {digits[:_MAX_SHOWN]} is too large")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_refuse_constant, parse_float=_finite)


def _is_shallow(value: object) -> bool:
    """Tell whether a document is surely not nested too deeply, level by level."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(_MAX_DEPTH - 1):
        level = [
            item
            for outer in level
            for item in (outer.values() if type(outer) is dict else outer)
            if type(item) is dict or type(item) is list
        ]
        if not level:
            return True
    return False


def _check(value: object, path: str, depth: int) -> None:
    """Refuse what could not be written back: lone surrogates, and nesting that overflows a stack."""
    if depth == 0:
        raise DecodeError(f"the nesting is too deep, expected at most {_MAX_DEPTH} levels")
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
            unexpected(path, value, "text without lone surrogates")
    elif isinstance(value, dict):
        for key, item in value.items():
            _check(key, path, depth - 1)
            _check(item, f"{path}.{key}", depth - 1)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _check(item, f"{path}[{number}]", depth - 1)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    shown = repr(value)
    return shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"
