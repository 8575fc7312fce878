"""The operating system's errors on files, turned into Rivet's by one table."""

from __future__ import annotations

import errno
from types import TracebackType

from rivet.errors import DestinationDenied, DestinationError, DestinationUnavailable, ObjectNotFound

_MOUNT = "check that the file system is mounted and answers, then run again"
_RIGHTS = "give the user that runs rivet the rights to read and write there, or choose another path"
_FILE_IN_THE_WAY = (
    "a file or a broken link stands where a directory is needed: move it, or choose another path"
)

_BY_ERRNO: dict[int, tuple[type[DestinationError], str | None]] = {
    errno.ENOSPC: (DestinationUnavailable, "free space on that file system, then run again"),
    errno.EDQUOT: (DestinationUnavailable, "free space or raise the quota, then run again"),
    errno.EIO: (DestinationUnavailable, "look for disk errors in the system's log, then run again"),
    errno.EMFILE: (DestinationUnavailable, "raise the limit of open files (ulimit -n), then run again"),
    errno.ENFILE: (DestinationUnavailable, "the machine is out of open files; run again later"),
    errno.ENOMEM: (DestinationUnavailable, "the machine is out of memory; run again later"),
    errno.EAGAIN: (DestinationUnavailable, None),
    errno.EBUSY: (DestinationUnavailable, None),
    errno.ETIMEDOUT: (DestinationUnavailable, _MOUNT),
    errno.ESTALE: (DestinationUnavailable, _MOUNT),
    errno.ENOTCONN: (DestinationUnavailable, _MOUNT),
    errno.EHOSTDOWN: (DestinationUnavailable, _MOUNT),
    errno.EACCES: (DestinationDenied, _RIGHTS),
    errno.EPERM: (DestinationDenied, _RIGHTS),
    errno.EROFS: (DestinationDenied, "mount the file system for writing, or choose another path"),
    errno.ENOENT: (ObjectNotFound, None),
    errno.ENOTDIR: (DestinationError, _FILE_IN_THE_WAY),
    errno.EISDIR: (DestinationError, "a directory stands where a file is needed: move it"),
    errno.ENAMETOOLONG: (DestinationError, "shorten the path or the name of the export"),
    errno.ELOOP: (DestinationError, "symbolic links go in a circle there: mend them"),
    errno.EFBIG: (DestinationError, "lower max_file_size, or raise the limit of file sizes (ulimit -f)"),
    errno.EMLINK: (DestinationError, "the directory is full: choose a coarser partition_granularity"),
}


def destination_error(action: str, path: str, exc: OSError) -> DestinationError:
    """Turn an error of the operating system into Rivet's; an unknown one keeps its number in the message."""
    kind, hint = _BY_ERRNO.get(exc.errno or 0, (DestinationError, None))
    where = exc.filename2 or exc.filename or path
    text = exc.strerror or str(exc) or type(exc).__name__
    number = "" if exc.errno in _BY_ERRNO else f" (errno {exc.errno})"
    return kind(f"cannot {action} {where!r}: {text}{number}", hint=hint)


class translated:  # noqa: N801 - it is used as the functions of contextlib are
    """Raise errors of file operations as Rivet's, naming the path that the system names, else this one.

    A class, since it stands around each of the thousands of reads and writes of a small partition's files,
    and a generator takes as long as some of them.
    """

    __slots__ = ("_action", "_path")

    def __init__(self, action: str, path: str) -> None:
        self._action = action
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(exc, OSError):
            raise destination_error(self._action, self._path, exc) from exc
        if isinstance(exc, UnicodeEncodeError):
            raise DestinationError(
                f"cannot {self._action} {self._path!r}: the locale has no form for"
                f" {exc.object[exc.start : exc.end]!r}",
                hint=f"the locale's encoding is {exc.encoding}: set PYTHONUTF8=1 or LC_ALL=C.UTF-8",
            ) from exc
