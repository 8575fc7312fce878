"""Names below a root, checked alike by every store.

Pure. The plan makes no name that is refused here, so a refusal is a `ValueError`: a bug, not bad input.
"""

from __future__ import annotations

STAGING_DIRECTORY = "_rivet_staging"


def check_name(name: str) -> str:
    """Give back the name of an object or a directory, unless it is empty, escapes the root or is staging's.

    >>> check_name("day=2023-01-01/_SUCCESS")
    'day=2023-01-01/_SUCCESS'
    """
    segments = name.split("/")
    if "\0" in name or any(segment in ("", ".", "..") for segment in segments):
        raise ValueError(f"name {name!r} is not a path below the root")
    if segments[0] == STAGING_DIRECTORY:
        raise ValueError(f"name {name!r} lies in the staging directory")
    return name


def check_directory(name: str) -> str:
    """Give back the name of a directory, the root being the empty name."""
    return name and check_name(name)


def check_run_id(run_id: str) -> str:
    """Give back a run id that is one segment of a path."""
    if "/" in run_id:
        raise ValueError(f"run id {run_id!r} holds a slash")
    return check_name(run_id)


def split_prefix(prefix: str) -> tuple[str, str]:
    """Cut a prefix into the directory it lies in, with a final slash unless the root, and a name's beginning.

    >>> split_prefix("day=2023-01-01/events__")
    ('day=2023-01-01/', 'events__')
    """
    directory, slash, beginning = prefix.rpartition("/")
    if slash and directory.split("/")[0] != STAGING_DIRECTORY:
        check_name(directory)
    return directory + slash, beginning
