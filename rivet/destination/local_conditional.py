"""Files that are created, replaced and removed on a condition, between processes and between hosts.

A directory has no operation that replaces a file only where it is the one that was looked at. So:

- A file is created by a hard link to a finished temporary, which fails where the name is taken: one of many
  wins, on NFS too, where the number of links tells the truth when an answer was lost.
- Whoever replaces or removes a file holds the guard: a file made with O_EXCL, exclusive on NFS as well. Under
  it the file is looked at, compared, and renamed over or unlinked, which takes less than a millisecond.
- A guard that a killed process left is broken once it is ten seconds old by the file system's clock: it is
  renamed away, so that one of many breaks it, and put back where it turns out to be another's.
- A process that is stopped under the guard for so long finds when it goes on that the guard is not its own,
  and begins anew. If it is stopped between that look and its rename, the rename still comes: for the sake of
  these microseconds the holder of a lock reads it again before it acts on it.

Locks of the system (flock, fcntl) are not used: some file systems have none, and some have them for one host.
"""

from __future__ import annotations

import errno
import hashlib
import os
import random
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO

from rivet.destination.local_directories import LocalDirectories
from rivet.destination.local_reading import open_file
from rivet.destination.protocol import Inspected
from rivet.destination.system_errors import translated
from rivet.errors import DestinationUnavailable, ObjectNotFound

_GUARD = "guard"
_BREAK_AFTER_SECONDS = 10.0
_GIVE_UP_AFTER_SECONDS = 60.0
_PAUSE_SECONDS = 0.005
_ATTEMPTS = 5
# More than a lock has; of a larger file the rest is told from another's by size, time and inode.
_DIGESTED_BYTES = 64 * 1024
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)


class LocalConditional:
    """Changes files on conditions; may be used by several threads.

    Args:
        staging: The directory for the guard and the temporaries.
        write: Writes and syncs a temporary in staging, for its owner alone or not, and gives its path.
        place: Renames a temporary onto a name.
    """

    def __init__(
        self,
        staging: str,
        directories: LocalDirectories,
        *,
        write: Callable[[bytes, bool], str],
        place: Callable[[str, str], None],
    ) -> None:
        self._staging = staging
        self._guard = f"{staging}/{_GUARD}"
        self._directories = directories
        self._write = write
        self._place = place

    def inspect(self, path: str, limit_bytes: int | None) -> Inspected:
        """Read a file and its version."""
        with open_file(path) as file, translated("read", path):
            facts = os.fstat(file.fileno())
            wanted = facts.st_size if limit_bytes is None else min(facts.st_size, limit_bytes)
            data = _read(file, max(wanted, min(facts.st_size, _DIGESTED_BYTES)))
        digest = hashlib.sha256(data[:_DIGESTED_BYTES]).hexdigest()
        version = f"{facts.st_ino}-{facts.st_size}-{facts.st_mtime_ns}-{digest}"
        return Inspected(data[:limit_bytes], version)

    def age_seconds(self, path: str) -> float:
        """Compare a file's time with that of a temporary: the file system has set both."""
        with (
            open_file(path) as file,
            translated("look at", path),
            self._temporary(b"", private=True) as temporary,
        ):
            written, present = os.fstat(file.fileno()), os.stat(temporary)
        return max(0.0, (present.st_mtime_ns - written.st_mtime_ns) / 1e9)

    def create(self, path: str, data: bytes, *, private: bool) -> str | None:
        """Link a temporary to a name that is free."""

        def link(temporary: str) -> bool:
            try:
                self._directories.within(path, lambda: os.link(temporary, path))
            except FileExistsError:
                if os.stat(temporary).st_nlink == 2:
                    return True
                if os.path.isdir(path):
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path) from None
                if os.path.lexists(path) and not os.path.isfile(path):  # to all who look there is nothing
                    raise
                return False
            except OSError as exc:
                if exc.errno not in _NO_LINKS:
                    raise
                return self._guarded(path, None, lambda: self._place(temporary, path))
            return True

        return self._written(path, data, link, private=private)

    def replace(self, path: str, data: bytes, version: str, *, private: bool) -> str | None:
        """Rename a temporary onto a file of a version."""

        def rename(temporary: str) -> bool:
            return self._guarded(path, version, lambda: self._place(temporary, path))

        return self._written(path, data, rename, private=private)

    def remove(self, path: str, version: str) -> bool:
        """Unlink a file of a version."""
        with translated("delete", path):
            return self._guarded(path, version, lambda: os.unlink(path))

    def change(self, path: str, version: str | None, change: Callable[[], object]) -> bool:
        """Make a change where a version of a file stands, None for no file, and tell whether."""
        with translated("write", path):
            return self._guarded(path, version, change)

    def _written(self, path: str, data: bytes, use: Callable[[str], bool], *, private: bool) -> str | None:
        """Put a temporary to use, and give the version of the file that it has become."""
        with translated("write", path):
            attempt = 1
            while True:
                with self._temporary(data, private=private) as temporary:
                    version = self._version(temporary)
                    try:
                        return version if use(temporary) else None
                    except FileNotFoundError:
                        # The run that holds the root may have swept it meanwhile.
                        if attempt == _ATTEMPTS or os.path.lexists(temporary):
                            raise
                attempt += 1

    def _version(self, path: str) -> str | None:
        with suppress(ObjectNotFound):
            return self.inspect(path, 1).version
        return None

    def _guarded(self, path: str, version: str | None, change: Callable[[], object]) -> bool:
        """Make a change under the guard where a version stands, None for no file, and tell whether."""
        while True:
            with self._guarding() as is_guarded:
                if self._version(path) != version:
                    return False
                if is_guarded():
                    change()
                    return True

    @contextmanager
    def _guarding(self) -> Iterator[Callable[[], bool]]:
        token = secrets.token_bytes(16)
        self._take(token)
        try:
            yield lambda: self._is_guard(token)
        finally:
            with suppress(OSError):
                if self._is_guard(token):
                    os.unlink(self._guard)
            self._tidy()

    def _is_guard(self, token: bytes) -> bool:
        with suppress(FileNotFoundError), FileIO(self._guard) as file:
            return file.read(len(token)) == token
        return False

    def _take(self, token: bytes) -> None:
        """Make the guard, once nobody else has it."""
        end = time.monotonic() + _GIVE_UP_AFTER_SECONDS
        while True:
            try:
                file = self._directories.within(self._guard, lambda: FileIO(self._guard, "x"))
            except FileExistsError:
                self._break_if_old()
            else:
                with file:
                    file.write(token)
                return
            if time.monotonic() > end:
                raise DestinationUnavailable(
                    f"{self._guard!r}, under which files are replaced, does not go away",
                    hint="if no run is at work there, remove it and run again",
                )
            time.sleep(_PAUSE_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311 - it only keeps two apart

    def _break_if_old(self) -> None:
        """Rename away a guard that a killed process left, and put it back if it has become another's."""
        with suppress(ObjectNotFound, FileNotFoundError):
            seen = os.stat(self._guard)
            if self.age_seconds(self._guard) <= _BREAK_AFTER_SECONDS:
                return
            with self._temporary(b"", private=True) as aside:
                os.replace(self._guard, aside)
                if os.stat(aside).st_mtime_ns != seen.st_mtime_ns:
                    with suppress(OSError):
                        os.link(aside, self._guard)

    @contextmanager
    def _temporary(self, data: bytes, *, private: bool) -> Iterator[str]:
        path = self._write(data, private)
        try:
            yield path
        finally:
            with suppress(OSError):
                os.unlink(path)
            self._tidy()

    def _tidy(self) -> None:
        """Remove the directory where nothing is in it, since nobody sweeps after a run's last change."""
        with suppress(OSError):
            os.rmdir(self._staging)


def _read(file: FileIO, size_bytes: int) -> bytes:
    pieces = []
    while size_bytes > 0 and (piece := file.read(size_bytes)):
        pieces.append(piece)
        size_bytes -= len(piece)
    return b"".join(pieces)
