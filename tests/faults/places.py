"""Where the trees of these tests lie, each with a view of it past the code under test."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol
from urllib.error import HTTPError

from botocore.exceptions import ClientError

from tests.run.buckets import Bucket


class Place(Protocol):
    """A destination that can be given any content."""

    environment: Mapping[str, str]

    def hold(self, objects: Mapping[str, bytes]) -> dict[str, Any]:
        """Hold these objects and no others, and give the `destination` section of a config."""

    def read(self, name: str) -> bytes | None:
        """Give an object's bytes, or None where there is none."""

    def names(self) -> list[str]:
        """List all objects."""


class Directory:
    """A directory of the disk."""

    environment: Mapping[str, str] = {}

    def __init__(self, root: Path) -> None:
        self._root = root

    def hold(self, objects: Mapping[str, bytes]) -> dict[str, Any]:
        """Write the files anew."""
        shutil.rmtree(self._root, ignore_errors=True)
        for name, data in objects.items():
            path = self._root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return {"type": "local", "path": f"{self._root}/{{partition}}/"}

    def read(self, name: str) -> bytes | None:
        """Read a file."""
        with suppress(FileNotFoundError, NotADirectoryError):
            return (self._root / name).read_bytes()
        return None

    def names(self) -> list[str]:
        """Walk the directory."""
        return [str(p.relative_to(self._root)) for p in self._root.rglob("*") if p.is_file()]


class Store:
    """A bucket, where each content has a prefix of its own."""

    def __init__(self, bucket: Bucket) -> None:
        self.environment: Mapping[str, str] = bucket.environment
        self._bucket = bucket
        self._numbers = itertools.count()
        self._prefix = ""

    def hold(self, objects: Mapping[str, bytes]) -> dict[str, Any]:
        """Write the objects below a new prefix."""
        self._prefix = f"trees/{next(self._numbers)}/"
        for name, data in objects.items():
            self._bucket.put(self._prefix + name, data)
        return {**self._bucket.section, "prefix": f"{self._prefix}{{partition}}"}

    def read(self, name: str) -> bytes | None:
        """Get an object."""
        try:
            return self._bucket.read(self._prefix + name)
        except HTTPError as error:
            if error.code != 404:
                raise
        except ClientError as error:
            if error.response["Error"]["Code"] != "NoSuchKey":
                raise
        return None

    def names(self) -> list[str]:
        """List the prefix."""
        return [key.removeprefix(self._prefix) for key in self._bucket.keys(self._prefix)]


def content(place: Place) -> dict[str, bytes]:
    """Give all that stands in a place where nobody is at work."""
    found = {name: place.read(name) for name in place.names()}
    return {name: data for name, data in found.items() if data is not None}
