"""What is staged in memory: it is shown under its name, or gone with who let go of it."""

from __future__ import annotations

import hashlib
import io
from typing import Protocol

from rivet.errors import ObjectNotFound


class Holding(Protocol):
    """What holds the objects: see `MemoryDestination`."""

    objects: dict[str, bytes]
    staged: dict[tuple[str, int], MemoryStaged]

    def record(self, kind: str, name: str) -> int:
        """Record an operation."""

    def forget(self, name: str) -> None:
        """Take an object for another one from now on."""


class MemoryStaged:
    """Bytes on their way to a name."""

    def __init__(self, destination: Holding, key: tuple[str, int], name: str) -> None:
        self._destination = destination
        self._key = key
        self.name = name
        self._data = io.BytesIO()
        self._size_bytes = 0
        self._finished: bytes | None = None
        self._gone = False

    @property
    def size_bytes(self) -> int:
        """Give the bytes written so far."""
        return self._size_bytes

    @property
    def checksum(self) -> str | None:
        """Give the checksum of the finished bytes."""
        return None if self._finished is None else checksum_of(self._finished)

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append bytes and return their number."""
        self._destination.record("write", self.name)
        written = self._data.write(data)
        self._size_bytes += written
        return written

    def finish(self) -> None:
        """End the writing."""
        self._destination.record("finish", self.name)
        self._finished = self._data.getvalue()
        self._data.close()

    def publish(self) -> None:
        """Move the bytes to the name."""
        if self._finished is None or self._gone:
            raise ValueError(f"{self.name!r} is published before it is finished, or once too often")
        self._destination.record("publish", self.name)
        if self._destination.staged.pop(self._key, None) is None:
            raise ObjectNotFound(f"cannot publish {self.name!r}: what was staged is gone")
        self._destination.forget(self.name)
        self._destination.objects[self.name] = self._finished
        self._gone = True

    def discard(self) -> None:
        """Drop the bytes, unless they are published."""
        if not self._gone:
            self._destination.record("discard", self.name)
            self._destination.staged.pop(self._key, None)
            self._data.close()
            self._gone = True


def checksum_of(data: bytes) -> str:
    """Give what a listing shows of an object's bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
