"""Keeps small objects until they are published: in memory up to a bound, then in files without a name."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from rivet.errors import DestinationUnavailable

_MEMORY_BYTES = 4 * 1024**2
_SEGMENT_BYTES = 64 * 1024**2


@dataclass(slots=True, eq=False)
class _Segment:
    """One temporary file; its space comes back when the last object in it is dropped."""

    file: BinaryIO
    size_bytes: int = 0
    objects: int = 0


@dataclass(slots=True, eq=False)
class Kept:
    """An object in the spool: its bytes, or where they lie."""

    size_bytes: int
    data: bytes | None
    segment: _Segment | None = None
    start: int = 0


class Spool:
    """Bytes that wait on this side; used by many threads at once.

    The files have no name in their directory, so that no end of the process leaves one behind.
    """

    def __init__(self, memory_bytes: int = _MEMORY_BYTES, segment_bytes: int = _SEGMENT_BYTES) -> None:
        self._free_bytes = memory_bytes
        self._segment_bytes = segment_bytes
        self._segments: list[_Segment] = []
        self._lock = threading.Lock()

    def keep(self, data: bytes) -> Kept:
        """Take an object.

        Raises:
            DestinationUnavailable: There is no room for temporary files.
        """
        with self._lock, _translated():
            if len(data) <= self._free_bytes:
                self._free_bytes -= len(data)
                return Kept(len(data), data)
            segment = self._last()
            segment.file.seek(segment.size_bytes)
            _write_all(segment.file, data)
            kept = Kept(len(data), None, segment, segment.size_bytes)
            segment.size_bytes += len(data)
            segment.objects += 1
            return kept

    def read(self, kept: Kept) -> bytes:
        """Give the bytes of an object that has not been dropped."""
        if kept.segment is None:
            if kept.data is None:
                raise ValueError("what was dropped from the spool is read")
            return kept.data
        with self._lock, _translated():
            kept.segment.file.seek(kept.start)
            return kept.segment.file.read(kept.size_bytes)

    def drop(self, kept: Kept) -> None:
        """Give the room of an object back; call it once."""
        with self._lock:
            segment, kept.segment, kept.data = kept.segment, None, None
            if segment is None:
                self._free_bytes += kept.size_bytes
                return
            segment.objects -= 1
            if segment.objects == 0 and segment in self._segments:
                self._segments.remove(segment)
                segment.file.close()

    def close(self) -> None:
        """Drop everything."""
        with self._lock:
            for segment in self._segments:
                segment.file.close()
            self._segments.clear()

    def _last(self) -> _Segment:
        """Give the segment to write to: they grow with the whole, so that their number stays small."""
        filed = sum(segment.size_bytes for segment in self._segments)
        if not self._segments or self._segments[-1].size_bytes >= max(self._segment_bytes, filed // 8):
            # Without a buffer a write that fails for want of space fails now, and not at some later flush.
            file = tempfile.TemporaryFile(prefix="rivet-spool-", buffering=0)  # noqa: SIM115
            self._segments.append(_Segment(file))
        return self._segments[-1]


def _write_all(file: BinaryIO, data: bytes) -> None:
    """Write to a file without a buffer, which takes less than it is given where the disk is nearly full."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise DestinationUnavailable(
            f"cannot keep what waits to be published in {tempfile.gettempdir()!r}: {exc.strerror or exc}",
            hint="free space there, or set TMPDIR to a larger place, then run again",
        ) from exc
