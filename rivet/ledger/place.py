"""Where the ledger of a user lies when the config does not say.

Pure: the environment, the platform and the home that the system knows are parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from rivet.errors import LedgerError

FILE = "ledger.sqlite"


def default_path(environ: Mapping[str, str], platform: str, home: Callable[[], Path]) -> Path:
    """Give the file in the user's state directory.

    Linux and its like: `$XDG_STATE_HOME`, or `~/.local/state` (XDG Base Directory Specification 0.8, which
    says that a path that is not absolute is to be ignored); macOS: `~/Library/Application Support`; Windows:
    `%LOCALAPPDATA%`.

    Args:
        platform: As `sys.platform` has it.
        home: Gives the home directory where the environment names none, as cron may not.

    Raises:
        LedgerError: There is no home directory.
    """
    named = environ.get("LOCALAPPDATA" if platform == "win32" else "XDG_STATE_HOME", "")
    if named and Path(named).is_absolute():
        return Path(named) / "rivet" / FILE
    if platform == "darwin":
        return _home(environ, home) / "Library" / "Application Support" / "rivet" / FILE
    if platform == "win32":
        return _home(environ, home) / "AppData" / "Local" / "rivet" / FILE
    return _home(environ, home) / ".local" / "state" / "rivet" / FILE


def _home(environ: Mapping[str, str], home: Callable[[], Path]) -> Path:
    named = Path(environ.get("HOME", ""))
    if named.is_absolute():
        return named
    try:
        found = home()
    except (RuntimeError, KeyError) as exc:
        found = None
        cause: Exception | None = exc
    else:
        cause = None
    if found is None or not found.is_absolute():
        raise LedgerError(
            "this user has no home directory to keep the history of runs in",
            hint="set XDG_STATE_HOME, or write `state: off` or `state: {url_env: …}` into the config",
        ) from cause
    return found
