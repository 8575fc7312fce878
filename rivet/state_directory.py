"""Where Rivet keeps what belongs to the user who runs it: the ledger, and locks that no store can keep.

Pure: the environment, the platform and the home that the system knows are parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

_BELOW_HOME = {"darwin": "Library/Application Support", "win32": "AppData/Local"}


def state_directory(environ: Mapping[str, str], platform: str, home: Callable[[], Path]) -> Path | None:
    """Give the user's state directory, or None for a user without a home directory.

    Linux and its like: `$XDG_STATE_HOME`, or `~/.local/state` (XDG Base Directory Specification 0.8, which
    says that a path that is not absolute is to be ignored); macOS: `~/Library/Application Support`; Windows:
    `%LOCALAPPDATA%`.

    Args:
        platform: As `sys.platform` has it.
        home: Gives the home directory where the environment names none, as cron may not.
    """
    named = environ.get("LOCALAPPDATA" if platform == "win32" else "XDG_STATE_HOME", "")
    if named and Path(named).is_absolute():
        return Path(named) / "rivet"
    below = _BELOW_HOME.get(platform, ".local/state")
    found = _home(environ, home)
    return None if found is None else found / below / "rivet"


def _home(environ: Mapping[str, str], home: Callable[[], Path]) -> Path | None:
    named = Path(environ.get("HOME", ""))
    if named.is_absolute():
        return named
    try:
        found = home()
    except (RuntimeError, KeyError):
        return None
    return found if found.is_absolute() else None
