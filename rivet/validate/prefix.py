"""Tells which place `rivet validate --prefix` names, with a config and without.

Looks at the local disk only where a path is named; opens nothing.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from rivet.config.settings import (
    DestinationSettings,
    GcsDestinationSettings,
    LocalDestinationSettings,
    S3DestinationSettings,
)
from rivet.errors import ConfigError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_USERINFO = re.compile(r"//.*@", re.DOTALL)  # where some people write keys
_STORES: dict[str, type[S3DestinationSettings | GcsDestinationSettings]] = {
    "s3": S3DestinationSettings,
    "gs": GcsDestinationSettings,
}


def place_of(prefix: str, cwd: Path) -> DestinationSettings:
    """Give the place of a root or a partition that no config describes.

    A store is reached by its SDK's own ways: credentials and endpoint come from files and the environment.

    Args:
        prefix: A path from cwd, `s3://bucket/…` or `gs://bucket/…`.

    Raises:
        ConfigError: The prefix names no place.
    """
    scheme = _SCHEME.match(prefix)
    if scheme is None:
        return _directory(prefix, cwd)
    store = _STORES.get(scheme[1].lower())
    told = _USERINFO.sub("//***@", prefix)
    if store is None:
        raise ConfigError(
            f"--prefix: {told!r} has the unknown scheme {scheme[1]!r}",
            hint="write a path, s3://bucket/prefix or gs://bucket/prefix",
        )
    from rivet.config.stores import bucket_fault  # a path on this disk needs no model of a config

    bucket, _, key = prefix[scheme.end() :].partition("/")
    root = _tidied(key)
    if bucket_fault(bucket) is not None or root is None:
        raise ConfigError(
            f"--prefix: {told!r} is no prefix in a bucket",
            hint=f"write it like {scheme[1].lower()}://bucket/lake/events/",
        )
    return store(bucket, root, "")


def place_under(settings: DestinationSettings, prefix: str, directory: Path) -> DestinationSettings | None:
    """Give the place under an export's root that a prefix names; None where it is not under it.

    Args:
        prefix: A key in the export's bucket, or a path from directory; the bucket's URI may stand before it.
        directory: The config's folder.
    """
    if isinstance(settings, LocalDestinationSettings):
        path = Path(os.path.normpath(directory / prefix))
        is_under = path.is_relative_to(os.path.normpath(settings.root))
        return replace(settings, root=_existing(prefix, directory)) if is_under else None
    root = _tidied(prefix.removeprefix(settings.label.removesuffix(settings.prefix)))
    return None if root is None or not root.startswith(settings.prefix) else replace(settings, prefix=root)


def _tidied(key: str) -> str | None:
    """Give a prefix with one `/` after each segment; None where a segment leads nowhere in a bucket.

    >>> _tidied("/lake//events"), _tidied(""), _tidied("lake/../x")
    ('lake/events/', '', None)
    """
    segments = [segment for segment in key.split("/") if segment]
    if any(segment in (".", "..") or "\0" in segment for segment in segments):
        return None
    return "".join(f"{segment}/" for segment in segments)


def _directory(prefix: str, cwd: Path) -> LocalDestinationSettings:
    if not prefix or "\0" in prefix:
        raise ConfigError(f"--prefix: {prefix!r} is no path", hint="write the path of a root or a partition")
    return LocalDestinationSettings(_existing(prefix, cwd), "")


def _existing(prefix: str, cwd: Path) -> Path:
    path = cwd / prefix
    if ".." in path.parts:
        path = Path(os.path.realpath(path))  # a `..` after a link leads elsewhere than its text says
    # Path.is_file raises where rights are missing or a name is too long, which the destination says better.
    if os.path.isfile(path):  # noqa: PTH113
        raise ConfigError(
            f"--prefix: {prefix!r} is a file, expected a directory",
            hint="name the directory of a partition or the root above it",
        )
    return path
