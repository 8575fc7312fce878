"""A directory tree as a destination: staged under the root, renamed into place, synced when settled."""

from __future__ import annotations

import errno
import io
import itertools
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import BinaryIO

from rivet.destination.local_conditional import LocalConditional
from rivet.destination.local_directories import LocalDirectories
from rivet.destination.local_lasting import LocalLasting, LocalLastings
from rivet.destination.local_listing import walk
from rivet.destination.local_reading import NO_SUCH_FILE, open_file
from rivet.destination.local_staged import LocalStaged as LocalStaged
from rivet.destination.names import STAGING_DIRECTORY, check_directory, check_name, check_run_id, split_prefix
from rivet.destination.protocol import Inspected, Left, Listed, Staged
from rivet.destination.system_errors import translated

# A Parquet writer hands over pages and many headers of some bytes; larger chunks pass uncopied.
_BUFFER_BYTES = 256 * 1024
_COPY_BYTES = 1024 * 1024
_PUT = "put-"


class LocalDestination:
    """A root directory and all files below it.

    Directories and files get the modes that the umask gives. A directory that is a symbolic link is written
    and listed through the link, since readers do the same; a file that is one is replaced by a file.

    Args:
        root: Relative paths are taken from the working directory of this moment.
        directory_mode: Of the directories that are made, less what the umask takes.
    """

    kind = "local"
    warnings = ()
    concurrency = 1
    uploaded_bytes = 0

    def __init__(self, root: Path, directory_mode: int = 0o777) -> None:
        self._root = os.fspath(root.absolute())
        self._base = self._root.rstrip("/") + "/"
        self._staging = self._base + STAGING_DIRECTORY
        self._directories = LocalDirectories(self._root, self._staging, directory_mode)
        self._conditional = LocalConditional(
            self._staging,
            self._directories,
            write=lambda data, private: self._temporary(data, 0o600 if private else 0o666),
            place=self._place,
        )
        self._lasting = LocalLastings(
            self._staging, self._directories, create=self._create, unique=self._unique
        )
        self._token = secrets.token_hex(8)
        self._numbers = itertools.count()

    @property
    def uri(self) -> str:
        """Give the root as a path that ends in `/`."""
        return self._base

    def read(self, name: str) -> bytes:
        """Give all bytes of a file."""
        with open_file(self._path(name)) as file:
            return file.readall()

    def open(self, name: str, size_bytes: int | None = None) -> AbstractContextManager[BinaryIO]:  # noqa: ARG002
        """Open a file for reading at any offset."""
        return io.BufferedReader(open_file(self._path(name)))

    def list(self, prefix: str = "") -> Iterator[Listed]:
        """List the regular files as readers see them, also through links, in the order of names."""
        directory, beginning = split_prefix(prefix)
        return walk(self._base, directory, beginning, hidden=STAGING_DIRECTORY)

    def stage(self, name: str, run_id: str) -> LocalStaged:
        """Begin a file in the run's own directory below the staging directory."""
        target = self._path(name)
        staged = f"{self._staging}/{check_run_id(run_id)}/{self._unique()}"
        with translated("stage", target):
            _refuse_directory(target)
            file = self._create(staged)
        return LocalStaged(file, staged, target)

    def stage_lasting(self, name: str, run_id: str) -> LocalLasting:
        """Begin a file that stays in the run's own directory until it is swept."""
        target = self._path(name)
        with translated("stage", target):
            _refuse_directory(target)
        return self._lasting.stage(target, run_id)

    def note(self, name: str, data: bytes, run_id: str) -> None:
        """Write a file beside what a run has staged."""
        self._lasting.note(name, data, run_id)

    def left(self, run_id: str) -> Iterator[Left]:
        """List the files in a run's directory."""
        return self._lasting.left(run_id)

    def open_left(self, left: Left) -> AbstractContextManager[BinaryIO]:
        """Open a file in a run's directory."""
        return self._lasting.open(left)

    def take_over(self, left: Left, run_id: str) -> Left:
        """Link a file into another run's directory."""
        return self._lasting.take_over(left, run_id)

    def lasting(self, left: Left, name: str) -> LocalLasting:
        """Give a file of a run's directory that can be published."""
        return self._lasting.finished(left, self._path(name))

    def publish(self, staged: Sequence[Staged]) -> None:
        """Rename files onto their names, one after the other."""
        for file in staged:
            if not isinstance(file, LocalStaged):
                raise TypeError(f"{file!r} was not staged here")
            file.publish(self._place)

    def publish_over(self, staged: Staged, version: str | None) -> bool:
        """Rename a file onto its name where that version of it stands."""
        if not isinstance(staged, LocalStaged):
            raise TypeError(f"{staged!r} was not staged here")
        return self._conditional.change(staged.target, version, lambda: staged.publish(self._place))

    def put(self, name: str, data: bytes) -> None:
        """Write and sync a temporary in the staging directory, and rename it."""
        target = self._path(name)
        with translated("write", target):
            try:
                temporary = self._temporary(data)
                try:
                    self._place(temporary, target)
                except BaseException:
                    with suppress(OSError):
                        os.unlink(temporary)
                    raise
            finally:
                # Nothing else may be staged, and nobody sweeps after the last put of a run.
                with suppress(OSError):
                    os.rmdir(self._staging)

    def inspect(self, name: str, limit_bytes: int | None = None) -> Inspected:
        """Read a file and its version."""
        return self._conditional.inspect(self._path(name), limit_bytes)

    def age_seconds(self, name: str) -> float:
        """Compare a file's time with a temporary's."""
        return self._conditional.age_seconds(self._path(name))

    def create(self, name: str, data: bytes, *, private: bool = False) -> str | None:
        """Write a file under a name that is free."""
        return self._conditional.create(self._path(name), data, private=private)

    def replace(self, name: str, data: bytes, version: str, *, private: bool = False) -> str | None:
        """Replace a file of a version."""
        return self._conditional.replace(self._path(name), data, version, private=private)

    def remove(self, name: str, version: str) -> bool:
        """Remove a file of a version, and the directories that this left empty."""
        path = self._path(name)
        if not self._conditional.remove(path, version):
            return False
        with translated("remove", path):
            self._directories.prune(os.path.dirname(path))
        return True

    def delete(self, names: Iterable[str]) -> None:
        """Remove files, then the directories that this left empty."""
        directories: set[str] = set()
        for name in names:
            path = self._path(name)
            with translated("delete", path), suppress(*NO_SUCH_FILE):
                os.unlink(path)
            directories.add(os.path.dirname(path))
        for directory in sorted(directories, reverse=True):
            with translated("remove", directory):
                self._directories.prune(directory)

    def settle(self, directories: Iterable[str]) -> None:
        """Sync directories, and those above them in which this object made or removed one."""
        paths = [self._base + d if check_directory(d) else self._root for d in directories]
        with translated("sync", self._root):
            self._directories.settle(paths)

    def sweep(self, run_ids: Iterable[str]) -> None:
        """Remove the staging directories of runs, and the temporaries that killed puts left behind.

        A put's temporary bears no run id, and only the run that holds the root sweeps it.
        """
        wanted = {check_run_id(run_id) for run_id in run_ids}
        with translated("sweep", self._staging):
            for entry in _entries(self._staging):
                # A link in place of a run's directory is not followed: what it leads to was not staged.
                if entry.is_dir(follow_symlinks=False):
                    if entry.name in wanted:
                        _remove_files(entry.path)
                elif entry.name.startswith(_PUT) and self._token not in entry.name:
                    _unlink(entry.path)
            with suppress(OSError):
                os.rmdir(self._staging)

    def remove_root_if_empty(self) -> None:
        """Remove the root and its parents, as long as they are empty and this object made them."""
        self._directories.remove_root()

    def close(self) -> None:
        """Do nothing: no file is held open between calls, but for those being written."""

    def _path(self, name: str) -> str:
        return self._base + check_name(name)

    def _unique(self) -> str:
        return f"{self._token}-{next(self._numbers)}"

    def _temporary(self, data: bytes, mode: int = 0o666) -> str:
        """Write and sync a temporary in the staging directory, with what the umask leaves of a mode."""
        path = f"{self._staging}/{_PUT}{self._unique()}"
        try:
            with self._create(path, mode) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            with suppress(OSError):
                os.unlink(path)
            raise
        return path

    def _create(self, path: str, mode: int = 0o666) -> io.BufferedWriter:
        def opened(name: str, flags: int) -> int:
            return os.open(name, flags, mode)

        return self._directories.within(
            path, lambda: io.BufferedWriter(io.FileIO(path, "xb", opener=opened), _BUFFER_BYTES)
        )

    def _place(self, source: str, target: str) -> None:
        """Move a synced file onto its name; the directory of that name may lie on another file system."""

        def move() -> None:
            try:
                os.replace(source, target)
            except OSError as exc:
                if exc.errno != errno.EXDEV:
                    raise
                self._copy(source, target)
                _unlink(source)

        self._directories.within(target, move)

    def _copy(self, source: str, target: str) -> None:
        temporary = f"{os.path.dirname(target)}/.rivet-{self._unique()}"
        try:
            with open(source, "rb") as reading, open(temporary, "xb") as writing:
                shutil.copyfileobj(reading, writing, _COPY_BYTES)
                writing.flush()
                os.fsync(writing.fileno())
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise


def _refuse_directory(path: str) -> None:
    """Refuse a name that a directory has: a file could not be renamed onto it, long after it was staged."""
    if os.path.isdir(path) and not os.path.islink(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


def _remove_files(directory: str) -> None:
    for entry in _entries(directory):
        if not entry.is_dir(follow_symlinks=False):
            _unlink(entry.path)
    with suppress(OSError):
        os.rmdir(directory)


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
