"""The directories of a local tree: made when first needed, removed when empty, synced when settled."""

from __future__ import annotations

import errno
import itertools
import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

# Other threads and runs may prune a directory between its making and its use.
_ATTEMPTS = 100
# Syncs that wait together share the disk's flushes: 256 directories on ext4 took 1.2 to 2.9 ms each one after
# the other, and 0.15 ms each by eight threads; more gain nothing.
_SYNCS_AT_ONCE = 8
_NOT_PRUNED = (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.ENOTDIR)
# What PostgreSQL forgives, too, in a directory: file systems that cannot sync one, and rights to write only.
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EACCES)


class LocalDirectories:
    """Makes, prunes and syncs directories at and below a root; may be used by several threads.

    Args:
        root: An absolute path.
        transient: A directory below it that need never be durable, nor what it holds.
        mode: Of the directories that are made, less what the umask takes.
    """

    def __init__(self, root: str, transient: str, mode: int) -> None:
        self._root = root
        self._transient = transient
        self._mode = mode
        self._made: set[str] = set()
        # Where a directory was made or removed since the last sync, each with a number that tells a later
        # change from the one that a sync has covered.
        self._changed: dict[str, int] = {}
        self._changes = itertools.count()
        self._lock = threading.Lock()

    def within(self, path: str, operation: Callable[[], T]) -> T:
        """Run an operation that needs the directory of path, which is made where it is missing.

        What was made for an operation that failed is removed again.
        """
        made: list[str] = []
        try:
            return self._attempt(path, operation, made)
        except BaseException:
            for directory in reversed(made):
                with suppress(OSError):
                    os.rmdir(directory)
            raise

    def prune(self, directory: str) -> None:
        """Remove a directory and its parents as long as they are empty, never the root."""
        while directory != self._root:
            try:
                os.rmdir(directory)
            except FileNotFoundError:
                pass
            except OSError as exc:
                if exc.errno in _NOT_PRUNED:
                    return
                raise
            else:
                self._note_change(directory)
            directory = os.path.dirname(directory)

    def settle(self, directories: Iterable[str]) -> None:
        """Sync directories, then those above them where one was made or removed, each once."""
        asked = list(set(directories))
        parents = {os.path.dirname(directory) for directory in asked}
        above = {a for p in parents for a in (p, *_above(p)) if a in self._changed}.difference(asked)
        # Each thread has its share: handing over one by one takes as long as a sync itself.
        shares = [asked[n::_SYNCS_AT_ONCE] for n in range(min(len(asked), _SYNCS_AT_ONCE))]
        if len(shares) == 1:
            self._sync_each(shares[0])
        elif shares:
            with ThreadPoolExecutor(len(shares)) as pool:
                list(pool.map(self._sync_each, shares))
        self._sync_each(sorted(above, reverse=True))

    def remove_root(self) -> None:
        """Remove the root and its parents, as long as they are empty and were made here."""
        directory = self._root
        while directory in self._made:
            try:
                os.rmdir(directory)
            except FileNotFoundError:
                pass
            except OSError:
                return
            self._made.discard(directory)
            directory = os.path.dirname(directory)

    def _sync_each(self, directories: Sequence[str]) -> None:
        for directory in directories:
            change = self._changed.get(directory)
            _sync(directory)
            with self._lock:
                if change is not None and self._changed.get(directory) == change:
                    del self._changed[directory]

    def _attempt(self, path: str, operation: Callable[[], T], made: list[str]) -> T:
        for _ in range(_ATTEMPTS):
            try:
                return operation()
            except FileNotFoundError:
                self._make(os.path.dirname(path), made)
        return operation()

    def _make(self, directory: str, made: list[str]) -> None:
        """Make a directory, and its parents where they are missing, and append what was made."""

        def make() -> None:
            try:
                os.mkdir(directory, self._mode)
            except FileExistsError as exc:
                # Where it was pruned since, the error of stat leads to another attempt.
                broken = os.path.islink(directory) and not os.path.exists(directory)
                if broken or not stat.S_ISDIR(os.stat(directory).st_mode):
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), directory) from exc
            else:
                made.append(directory)
                self._made.add(directory)
                self._note_change(directory)

        self._attempt(directory, make, made)

    def _note_change(self, directory: str) -> None:
        """Note that a directory was made or removed, which the one above it must make durable."""
        if directory != self._transient and not directory.startswith(self._transient + "/"):
            with self._lock:
                self._changed[os.path.dirname(directory)] = next(self._changes)


def _above(directory: str) -> Iterator[str]:
    while (parent := os.path.dirname(directory)) != directory:
        yield parent
        directory = parent


def _sync(directory: str) -> None:
    """Sync a directory; where it is gone, the one above it holds the change."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        except OSError as exc:
            exc.filename = directory
            raise
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return
    except OSError as exc:
        if exc.errno not in _CANNOT_SYNC:
            raise
