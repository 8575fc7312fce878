"""Where the ledger of a user lies when the config does not say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from rivet.errors import LedgerError
from rivet.state_directory import state_directory

FILE = "ledger.sqlite"


def default_path(environ: Mapping[str, str], platform: str, home: Callable[[], Path]) -> Path:
    """Give the file in the user's state directory.

    Args:
        platform: As `sys.platform` has it.
        home: Gives the home directory where the environment names none.

    Raises:
        LedgerError: There is no home directory.
    """
    directory = state_directory(environ, platform, home)
    if directory is None:
        raise LedgerError(
            "this user has no home directory to keep the history of runs in",
            hint="set XDG_STATE_HOME, or write `state: off` or `state: {url_env: …}` into the config",
        )
    return directory / FILE
