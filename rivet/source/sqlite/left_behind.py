"""Foretells whether the files that a reader leaves beside a database would keep its owner from writing.

The first to open a database in WAL mode makes its -wal and -shm files, and one that may only read never takes
them away (SQLite manual, "Write-Ahead Logging"). They belong to who made them, with the mode of the database.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import closing
from pathlib import Path

import adbc_driver_manager
import adbc_driver_sqlite.dbapi

from rivet.errors import SourceDenied

if sys.platform != "win32":
    import pwd

_CAP_CHOWN = 0x1
_NOT_OPENED = "unable to open database file"


def refuse_lock_out(path: Path, uri: str) -> None:
    """Refuse a database in WAL mode to which its owner could no longer write once we have read it.

    Args:
        path: A file that may be read.
        uri: As SQLite opens it, for reading only.

    Raises:
        SourceDenied: Nobody has it open, this user is another one, and the owner could not write to the files
            that would be made. To take them away afterwards would harm who has opened them meanwhile.
    """
    if sys.platform == "win32":
        return
    database = path.resolve()  # as SQLite does
    if all(Path(f"{database}-{end}").exists() for end in ("wal", "shm")):
        return
    if not os.access(database.parent, os.W_OK | os.X_OK) or _may_owner_write(database):
        return
    if _is_wal(uri):
        raise SourceDenied(
            f"reading SQLite database {str(path)!r} would keep its owner from writing to it: it is in WAL "
            "mode and nobody has it open, so that -wal and -shm files of this user would stay beside it",
            hint="run as the owner of the file, or while its own program has the database open, or on a copy "
            "(VACUUM INTO)",
        )


def _may_owner_write(database: Path) -> bool:
    """Tell whether the owner could write to a file that we made beside the database, with its mode."""
    user, owner = os.geteuid(), database.stat()
    if owner.st_uid in (0, user) or (user == 0 and _may_give_away()):
        return True
    directory = database.parent.stat()
    if directory.st_mode & stat.S_ISVTX and directory.st_uid != user:
        return False  # Linux then lets nobody open files of others as SQLite does (fs.protected_regular)
    if owner.st_mode & stat.S_IWOTH:
        return True
    group = directory.st_gid if directory.st_mode & stat.S_ISGID else os.getegid()
    return bool(owner.st_mode & stat.S_IWGRP) and group in _groups_of(owner.st_uid)


def _may_give_away() -> bool:
    """Tell whether root may give a file to another; SQLite then gives it to the owner of the database."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return True
    return all(
        int(line.split()[1], 16) & _CAP_CHOWN for line in status.splitlines() if line.startswith("CapEff:")
    )


def _groups_of(user: int) -> list[int]:
    try:
        account = pwd.getpwuid(user)
    except KeyError:
        return []
    return os.getgrouplist(account.pw_name, account.pw_gid)


def _is_wal(uri: str) -> bool:
    """Tell by SQLite itself, which without locks can have no WAL, and makes no file.

    No other library may open the file here: to close it would drop the locks of other sessions on it.
    """
    try:
        with closing(adbc_driver_sqlite.dbapi.connect(f"{uri}&nolock=1")) as connection:
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA schema_version")
            return False
    except adbc_driver_manager.Error as exc:
        return _NOT_OPENED in str(exc)  # anything else is told when it is opened to be read
