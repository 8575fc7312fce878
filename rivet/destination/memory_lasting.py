"""What lasts of what is staged in memory: it stays until its run is swept, whoever let go of it."""

from __future__ import annotations

import io
from collections.abc import Callable

from rivet.destination.protocol import Left
from rivet.errors import ObjectNotFound


class MemoryLasting:
    """Bytes on their way to a name, which stay where they are when they are published.

    Args:
        record: Records an operation; see `MemoryDestination`.
        kept: What lasts, by run id and a name; a finished object is in it.
        show: Makes bytes visible under a name.
    """

    def __init__(
        self,
        left: Left,
        name: str,
        *,
        record: Callable[[str, str], int],
        kept: dict[tuple[str, str], bytes],
        show: Callable[[str, bytes], None],
    ) -> None:
        self.name = name
        self._left = left
        self._record = record
        self._kept = kept
        self._show = show
        self._data = io.BytesIO()
        self._finished = (left.run_id, left.name) in kept
        self._gone = False

    @property
    def left(self) -> Left:
        """Give the object as another run finds it."""
        return Left(self._left.run_id, self._left.name, self.size_bytes)

    @property
    def size_bytes(self) -> int:
        """Give the bytes written so far."""
        return self._left.size_bytes or self._data.tell()

    @property
    def checksum(self) -> str | None:
        """Give nothing: it is not reckoned."""
        return None

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append bytes and return their number."""
        self._record("write", self.name)
        return self._data.write(data)

    def finish(self) -> None:
        """End the writing; from now on another run finds it."""
        self._record("finish", self.name)
        self._kept[self._left.run_id, self._left.name] = self._data.getvalue()
        self._finished = True

    def publish(self) -> None:
        """Show the bytes under the name as well."""
        if not self._finished or self._gone:
            raise ValueError(f"{self.name!r} is published before it is finished, or once too often")
        self._record("publish", self.name)
        data = self._kept.get((self._left.run_id, self._left.name))
        if data is None:
            raise ObjectNotFound(f"cannot publish {self.name!r}: what was staged is gone")
        self._show(self.name, data)
        self._gone = True

    def discard(self) -> None:
        """Let go of it; what is finished stays."""
        self._gone = True
