"""Reads the files that a config consists of or names; never creates anything.

Pure but for that. A failure is worded without a byte of the file and without its name.
"""

from __future__ import annotations

import stat
from pathlib import Path

_MAX_BYTES = 4 * 1024**2


def read_text(path: Path) -> tuple[str, str | None]:
    """Give the text of a UTF-8 file, with or without a byte order mark, and why it cannot be read or None."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        return "", (error.strerror or "cannot be opened").lower()
    if len(data) > _MAX_BYTES:
        return "", f"larger than {_MAX_BYTES} bytes"
    try:
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        return "", f"not UTF-8 at byte {error.start}"


def lack_of_file(path: Path) -> str | None:
    """Say, behind a path, why it names no file, or give None where it names one."""
    try:
        return None if stat.S_ISREG(path.stat().st_mode) else "is no file"
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return "is no file"
    except OSError as error:
        return f"cannot be found: {(error.strerror or 'no such file').lower()}"
