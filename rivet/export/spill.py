"""Keeps sorted pieces of rows until their turn: in memory up to a bound, then in one file without a name."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from rivet.errors import SpillUnavailable
from rivet.export.temporary import MAKE_ROOM, directory


@dataclass(frozen=True, slots=True)
class Kept:
    """A batch that is kept: itself, or where in the file it lies."""

    batch: pa.RecordBatch | None
    start: int = 0
    size_bytes: int = 0


class Spill:
    """Batches of one schema that wait on this side, written by one thread and read by another after it.

    The file has no name in its directory, so that no end of the process leaves it behind.

    Args:
        memory_bytes: So many bytes of values are kept in memory; whatever comes later goes to the file.
    """

    def __init__(self, schema: pa.Schema, memory_bytes: int) -> None:
        self._schema = schema
        self._free_bytes = memory_bytes
        self._file: io.FileIO | None = None
        self._end = 0

    def keep(self, batch: pa.RecordBatch) -> Kept:
        """Take a batch.

        Raises:
            SpillUnavailable: There is no room for temporary files.
        """
        size = batch.nbytes
        if size <= self._free_bytes:
            self._free_bytes -= size
            return Kept(batch)
        self._free_bytes = 0  # once there is a file, memory is for those who read it
        message = batch.serialize()
        with _translated():
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=directory(), prefix="rivet-", buffering=0)  # noqa: SIM115
            self._write(memoryview(message))
        kept = Kept(None, self._end, message.size)
        self._end += message.size
        return kept

    def take(self, kept: Kept) -> pa.RecordBatch:
        """Give a batch back.

        Raises:
            SpillUnavailable: The file cannot be read.
        """
        if kept.batch is not None or self._file is None:
            return kept.batch
        with _translated():
            data = _read(self._file, kept)
        return pa.ipc.read_record_batch(data, self._schema)

    @property
    def size_bytes(self) -> int:
        """Give the size of the file; 0: there is none."""
        return self._end

    def close(self) -> None:
        """Give the space back. May be called again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, data: memoryview) -> None:
        if self._file is None:
            raise RuntimeError("nothing is written without a file")
        written = 0
        while written < len(data):  # a file without a buffer may take less than it is given
            written += self._file.write(data[written:])


def _read(file: io.FileIO, kept: Kept) -> pa.Buffer:
    """Read into memory of Arrow's, which gives it back at once."""
    buffer = pa.allocate_buffer(kept.size_bytes)
    view = memoryview(buffer)
    file.seek(kept.start)
    while view:  # one call gives less than 2 GiB
        count = file.readinto(view)
        if not count:
            raise SpillUnavailable(f"a temporary file in {directory()!r} has lost what was written to it")
        view = view[count:]
    return buffer


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise SpillUnavailable(
            f"cannot sort in temporary files in {directory()!r}: {exc.strerror}",
            hint=MAKE_ROOM,
        ) from exc
