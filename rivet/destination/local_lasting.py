"""Files in the staging directory that outlive their process, until their run is swept."""

from __future__ import annotations

import errno
import io
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from typing import BinaryIO

from rivet.destination.local_directories import LocalDirectories
from rivet.destination.local_reading import open_file
from rivet.destination.local_staged import LocalStaged
from rivet.destination.names import check_run_id
from rivet.destination.protocol import Left
from rivet.destination.system_errors import translated
from rivet.errors import ObjectNotFound

_COPY_BYTES = 1024 * 1024


class LocalLasting(LocalStaged):
    """A staged file that gets a second name when it is published, and keeps its first.

    Args:
        file: None where it was finished before.
        link: Gives a file a second name, from the first to the second.
    """

    def __init__(
        self,
        file: io.BufferedWriter | None,
        staged: str,
        target: str,
        link: Callable[[str, str], None],
        size_bytes: int = 0,
    ) -> None:
        super().__init__(file, staged, target, size_bytes)
        self._link = link

    @property
    def left(self) -> Left:
        """Give the file by its run's directory and its own name."""
        directory, _, name = self._staged.rpartition("/")
        return Left(os.path.basename(directory), name, self.size_bytes)

    def publish(self, place: Callable[[str, str], None]) -> None:  # noqa: ARG002 - it stays in its place
        """Link the file to its name."""
        super().publish(self._link)

    def discard(self) -> None:
        """Close the file, and remove it where it is not finished."""
        if self._finished:
            self._gone = True
        super().discard()


class LocalLastings:
    """Stages, finds and hands over files that last.

    Args:
        create: Makes and opens a file that is not there yet.
        unique: Gives a name that no other file of any process has.
    """

    def __init__(
        self,
        staging: str,
        directories: LocalDirectories,
        *,
        create: Callable[[str], io.BufferedWriter],
        unique: Callable[[], str],
    ) -> None:
        self._staging = staging
        self._directories = directories
        self._create = create
        self._unique = unique

    def stage(self, target: str, run_id: str) -> LocalLasting:
        """Begin a file in the run's own directory."""
        staged = self._path(run_id, self._unique())
        with translated("stage", target):
            return LocalLasting(self._create(staged), staged, target, self._link)

    def note(self, name: str, data: bytes, run_id: str) -> None:
        """Write and sync a file beside them."""
        path = self._path(run_id, name)
        with translated("write", path), self._create(path) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def left(self, run_id: str) -> Iterator[Left]:
        """List the files in a run's directory."""
        directory = self._path(run_id, "")
        with translated("list", directory):
            try:
                entries = [e for e in os.scandir(directory) if e.is_file(follow_symlinks=False)]
            except (FileNotFoundError, NotADirectoryError):
                return
            found = [Left(run_id, e.name, e.stat(follow_symlinks=False).st_size) for e in entries]
        yield from sorted(found, key=lambda left: left.name)

    def open(self, left: Left) -> AbstractContextManager[BinaryIO]:
        """Open a file for reading."""
        return io.BufferedReader(open_file(self._path(left.run_id, left.name)))

    def take_over(self, left: Left, run_id: str) -> Left:
        """Link a file into another run's directory."""
        source, name = self._path(left.run_id, left.name), self._unique()
        target = self._path(run_id, name)
        with translated("take over", source):
            try:
                self._link(source, target)
            except FileNotFoundError as exc:
                raise ObjectNotFound(f"cannot take over {source!r}: no such file") from exc
        return Left(run_id, name, left.size_bytes)

    def finished(self, left: Left, target: str) -> LocalLasting:
        """Give a file that was finished before."""
        staged = self._path(left.run_id, left.name)
        return LocalLasting(None, staged, target, self._link, left.size_bytes)

    def _path(self, run_id: str, name: str) -> str:
        if "/" in name or name in (".", ".."):
            raise ValueError(f"{name!r} is no name in a run's directory")
        return f"{self._staging}/{check_run_id(run_id)}/{name}"

    def _link(self, source: str, target: str) -> None:
        """Give a file a second name, or where that cannot be a copy, in one step for who reads it.

        What a kill leaves of it lies in the run's directory; only another file system needs more.
        """
        temporary = f"{os.path.dirname(source)}/{self._unique()}"
        try:
            try:
                os.link(source, temporary, follow_symlinks=False)
            except FileNotFoundError:
                raise
            except OSError:  # a file system that has no links
                _copy(source, temporary)
            self._directories.within(target, lambda: self._move(temporary, target))
        finally:
            with suppress(OSError):
                os.unlink(temporary)

    def _move(self, temporary: str, target: str) -> None:
        try:
            os.replace(temporary, target)
        except OSError as exc:
            if exc.errno != errno.EXDEV:
                raise
            near = f"{os.path.dirname(target)}/.rivet-{self._unique()}"
            try:
                _copy(temporary, near)
                os.replace(near, target)
            finally:
                with suppress(OSError):
                    os.unlink(near)


def _copy(source: str, target: str) -> None:
    with open(source, "rb") as reading, open(target, "xb") as writing:
        shutil.copyfileobj(reading, writing, _COPY_BYTES)
        writing.flush()
        os.fsync(writing.fileno())
