"""Opens what `rivet validate --prefix` names, without a config."""

from __future__ import annotations

import os
import re
from pathlib import Path

from rivet.destination.local import LocalDestination
from rivet.destination.protocol import Destination
from rivet.errors import ConfigError
from rivet.plan.names import EXPORT_FILE

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def open_prefix(prefix: str, cwd: Path) -> tuple[Destination, str]:
    """Give the destination and the path in it of a root or a partition.

    A partition is opened from above its `key=value` directory, so that its name can be checked.

    Args:
        prefix: A path from cwd; `s3://…` and `gs://…` come with a later version.

    Raises:
        ConfigError: The prefix names no place that this version can open.
    """
    scheme = _SCHEME.match(prefix)
    if scheme is not None:
        if scheme[1].lower() in ("s3", "gs"):
            raise ConfigError(
                f"--prefix: {prefix!r} is in a bucket, and this version reads local directories only",
                hint="copy the tree to a local directory and validate that; buckets come later",
            )
        raise ConfigError(
            f"--prefix: {prefix!r} has the unknown scheme {scheme[1]!r}",
            hint="write a path, s3://bucket/prefix or gs://bucket/prefix",
        )
    if not prefix or "\0" in prefix:
        raise ConfigError(f"--prefix: {prefix!r} is no path", hint="write the path of a root or a partition")
    path = cwd / prefix
    if ".." in path.parts:
        path = Path(os.path.realpath(path))  # a `..` after a link leads elsewhere than its text says
    if _is_file(path):
        raise ConfigError(
            f"--prefix: {prefix!r} is a file, expected a directory",
            hint="name the directory of a partition or the root above it",
        )
    if not _is_file(path / EXPORT_FILE):
        for above in (path, *path.parents):
            if "=" in above.name:
                return LocalDestination(above.parent), str(path.relative_to(above.parent))
    return LocalDestination(path), ""


def _is_file(path: Path) -> bool:
    # Path.is_file raises where rights are missing or a name is too long, which the destination says better.
    return os.path.isfile(path)  # noqa: PTH113
