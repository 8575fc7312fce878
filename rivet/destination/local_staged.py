"""A file of a local tree that is being written, and has no name yet that a reader sees."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from contextlib import suppress

from rivet.destination.system_errors import translated


class LocalStaged:
    """A file in the staging directory, on its way to its name.

    Args:
        file: Open for writing; None where it was finished before, of so many bytes.
    """

    checksum = None

    def __init__(self, file: io.BufferedWriter | None, staged: str, target: str, size_bytes: int = 0) -> None:
        self._file = file
        self._staged = staged
        self.target = target
        self._size_bytes = size_bytes
        self._finished = file is None
        self._gone = False

    @property
    def size_bytes(self) -> int:
        """Give the bytes written so far."""
        return self._size_bytes

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append bytes and return their number."""
        with translated("write", self.target):
            written = self._open.write(data)
        self._size_bytes += written
        return written

    def finish(self) -> None:
        """Sync and close the file."""
        with translated("write", self.target), self._open as file:
            file.flush()
            os.fsync(file.fileno())
        self._finished = True

    def publish(self, place: Callable[[str, str], None]) -> None:
        """Have the file put in its place."""
        if not self._finished or self._gone:
            raise ValueError(f"{self.target!r} is published before it is finished, or once too often")
        with translated("publish", self.target):
            place(self._staged, self.target)
        self._gone = True

    def discard(self) -> None:
        """Drop the file, unless it is published; what cannot be removed is left for a sweep."""
        if not self._gone:
            self._gone = True
            if self._file is not None:
                with suppress(OSError):
                    self._file.close()
            with suppress(OSError):
                os.unlink(self._staged)

    @property
    def _open(self) -> io.BufferedWriter:
        if self._file is None:
            raise ValueError(f"{self.target!r} is written after it was finished")
        return self._file
