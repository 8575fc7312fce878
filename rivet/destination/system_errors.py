"""The operating system's errors on files, turned into Rivet's by one table."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

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


@contextmanager
def translated(action: str, path: str) -> Iterator[None]:
    """Raise errors of file operations as Rivet's, naming the path that the system names, else this one."""
    try:
        yield
    except OSError as exc:
        raise destination_error(action, path, exc) from exc
    except UnicodeEncodeError as exc:
        raise DestinationError(
            f"cannot {action} {path!r}: the locale has no form for {exc.object[exc.start : exc.end]!r}",
            hint=f"the locale's encoding is {exc.encoding}: set PYTHONUTF8=1 or LC_ALL=C.UTF-8",
        ) from exc
