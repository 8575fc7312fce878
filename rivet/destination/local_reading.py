"""Reads the files of a local tree: regular ones, as those of a store are, with errors that are Rivet's."""

from __future__ import annotations

import errno
import io
import os
import stat
from typing import TYPE_CHECKING

from rivet.destination.system_errors import translated

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# To a store a directory is no object, and neither is what would lie below a file.
NO_SUCH_FILE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


def open_file(path: str) -> io.FileIO:
    """Open a file for reading, or raise `ObjectNotFound`."""
    with translated("read", path):
        try:
            return _Reader(path, opener=_open_regular)
        except NO_SUCH_FILE as exc:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from exc


class _Reader(io.FileIO):
    """A file whose read errors are Rivet's."""

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        with translated("read", str(self.name)):
            return super().readinto(buffer)

    def readall(self) -> bytes:
        with translated("read", str(self.name)):
            return super().readall()


def _open_regular(path: str, flags: int) -> int:
    """Open a regular file; what is none is no object: a pipe would be waited for, a device read for ever."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return descriptor
