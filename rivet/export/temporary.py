"""Where large temporary files go, and what room there is for them."""

from __future__ import annotations

import os
import shutil
import tempfile

from rivet.errors import SpillUnavailable

# Where Debian and others keep large temporary files: /tmp may be a part of memory.
_DIRECTORY = "/var/tmp"  # noqa: S108

MAKE_ROOM = "make room there, name another directory with TMPDIR, or set `sort: source`"


def directory() -> str:
    """Name the directory of temporary files: TMPDIR where it is set, else one on a disk, not in memory.

    Raises:
        SpillUnavailable: There is none that can be written to.
    """
    if not os.environ.get("TMPDIR") and os.access(_DIRECTORY, os.W_OK | os.X_OK):
        return _DIRECTORY
    try:
        return tempfile.gettempdir()
    except OSError as exc:
        raise SpillUnavailable(f"cannot make temporary files: {exc.strerror}", hint=MAKE_ROOM) from exc


def free_bytes() -> int:
    """Give the free bytes of the disk that temporary files go to; 0 where that cannot be told."""
    try:
        return shutil.disk_usage(directory()).free
    except (OSError, SpillUnavailable):
        return 0
