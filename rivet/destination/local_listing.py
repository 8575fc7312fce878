"""Lists the files below a directory as an object store would: whole names, in their order."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from rivet.destination.protocol import Listed
from rivet.destination.system_errors import translated


def walk(base: str, directory: str, beginning: str, *, hidden: str) -> Iterator[Listed]:
    """List the regular files in a directory below base, at any depth, in the order of Python's strings.

    Links are followed as pyarrow's datasets and one-level globs do, except one that leads back to a directory
    it lies in. What vanishes meanwhile, leads nowhere or is no regular file is left out.

    Args:
        base: The root, ending in `/`.
        directory: Where to begin, from the root, ending in `/`; empty for the root itself.
        beginning: What the first segment after it begins with.
        hidden: A name that is left out at the root.
    """
    if directory.partition("/")[0] == hidden:
        return
    trail = [iter([e for e in _children(base, directory, beginning) if e[0] != f"{hidden}/"])]
    while trail:
        for name, size_bytes in trail[-1]:
            if size_bytes is None:
                trail.append(iter(_children(base, name)))
                break
            yield Listed(name, size_bytes)
        else:
            trail.pop()


def _children(base: str, directory: str, beginning: str = "") -> list[tuple[str, int | None]]:
    """Give the names and sizes of a directory's files, and its directories with a final slash and no size.

    With the slash, the order of these names is the order of all names below them.
    """
    children: list[tuple[str, int | None]] = []
    path = base + directory
    with translated("list", path):
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.name.startswith(beginning):
                        children += _child(base, directory, entry)
        except (FileNotFoundError, NotADirectoryError):
            pass
    return sorted(children, key=lambda child: child[0])


def _child(base: str, directory: str, entry: os.DirEntry[str]) -> list[tuple[str, int | None]]:
    try:
        if entry.is_dir():
            return [] if _leads_back(base, directory, entry) else [(f"{directory}{entry.name}/", None)]
        if entry.is_file():
            return [(directory + entry.name, entry.stat().st_size)]
    except OSError as exc:
        if exc.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
    return []


def _leads_back(base: str, directory: str, entry: os.DirEntry[str]) -> bool:
    """Tell whether a directory is a link to one of those it lies in."""
    if not entry.is_symlink():
        return False
    above = [base + directory[: i + 1] for i, character in enumerate(directory) if character == "/"]
    return any(os.path.samestat(entry.stat(), os.stat(path)) for path in [base, *above])
