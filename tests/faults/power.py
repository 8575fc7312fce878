"""A disk that may lose, when the power goes, whatever nobody has asked it to keep.

`recorded` notes the operations that a run makes on files below a directory, in their order. `Disk` takes them
one by one and knows, after each, what may stand there after a loss of power: of a file that was not synced
anything at all; of a name any of the files that it has had since its directory was synced, each name for
itself. That is less than any file system in use promises.
"""

from __future__ import annotations

import io
import os
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rivet.destination import local_conditional


@dataclass(frozen=True)
class Operation:
    """One operation: `create`, `link`, `rename`, `unlink`, `mkdir`, `rmdir`, `sync` or `sync directory`.

    Attributes:
        data: What a synced file holds.
    """

    kind: str
    path: str
    target: str = ""
    data: bytes = b""


class _Recorder:
    """Does what the system's functions do, one at a time, and notes it.

    Args:
        below: Only what is done below this directory is noted.
    """

    def __init__(self, below: Path) -> None:
        self.operations: list[Operation] = []
        self._base = f"{below}/"
        self._paths: dict[int, str] = {}
        self._lock = threading.RLock()
        self._open, self._fsync = os.open, os.fsync

    def open(self, path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
        with self._lock:
            descriptor = self._open(path, flags, mode, **options)
            self._paths[descriptor] = str(path)
            if flags & os.O_CREAT:
                self._note("create", path)
        return descriptor

    def fsync(self, descriptor: Any) -> None:
        with self._lock:
            self._fsync(descriptor)
            path = Path(self._paths[descriptor])
            if path.is_dir():
                self._note("sync directory", path)
            else:
                self._note("sync", path, "", path.read_bytes())

    def noting(self, kind: str, act: Callable[..., Any]) -> Callable[..., Any]:
        """Give a function that does the same, and notes it once it is done."""

        def noted(*arguments: Any, **options: Any) -> Any:
            with self._lock:
                result = act(*arguments, **options)
                self._note(kind, *arguments[:2])
            return result

        return noted

    def _note(self, kind: str, path: Any, target: Any = "", data: bytes = b"") -> None:
        if any(f"{one}/".startswith(self._base) for one in (path, target)):
            self.operations.append(Operation(kind, str(path), str(target), data))


@contextmanager
def recorded(below: Path) -> Iterator[list[Operation]]:
    """Record what is done to files and directories below a directory, from all threads, in one order."""
    recorder = _Recorder(below)

    class Guard(io.FileIO):
        def __init__(self, path: str, mode: str = "r") -> None:
            make = recorder.noting("create", super().__init__) if mode == "x" else super().__init__
            make(path, mode)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", recorder.open)
        patch.setattr(os, "fsync", recorder.fsync)
        patch.setattr(local_conditional, "FileIO", Guard)
        for kind, name in (("rename", "replace"), *((k, k) for k in ("link", "unlink", "mkdir", "rmdir"))):
            patch.setattr(os, name, recorder.noting(kind, getattr(os, name)))
        yield recorder.operations


@dataclass
class File:
    """A file; `data` is what is sure to be in it, None where nothing is."""

    data: bytes | None = None


@dataclass
class Directory:
    """A directory: of each name all that it may stand for, the present one last; None is nothing."""

    names: dict[str, list[File | Directory | None]] = field(default_factory=dict)

    def may_be(self, name: str) -> list[File | Directory | None]:
        """Give all that a name may stand for."""
        return self.names.get(name, [None])

    def now(self, name: str) -> File | Directory | None:
        """Give what a name stands for while the power is there."""
        return self.may_be(name)[-1]

    def put(self, name: str, what: File | Directory | None) -> None:
        """Let a name stand for something else, which is not sure yet."""
        self.names.setdefault(name, [None]).append(what)


class Disk:
    """A tree of directories, all of which is sure at first."""

    def __init__(self, root: Path) -> None:
        self._path = str(root)
        self.root = _as_it_is(root)

    def take(self, operation: Operation) -> None:
        """Take an operation."""
        kind = operation.kind
        if kind == "sync directory":
            directory = self.root if operation.path == self._path else self._find(operation.path)
            assert isinstance(directory, Directory)
            directory.names = {name: may_be[-1:] for name, may_be in directory.names.items()}
            return
        directory, name = self._place(operation.path)
        if kind == "sync":
            file = directory.now(name)
            assert isinstance(file, File)
            file.data = operation.data
        elif kind in {"create", "mkdir"}:
            directory.put(name, File() if kind == "create" else Directory())
        elif kind in {"unlink", "rmdir"}:
            directory.put(name, None)
        else:
            target, target_name = self._place(operation.target)
            target.put(target_name, directory.now(name))
            if kind == "rename":
                directory.put(name, None)

    def _place(self, path: str) -> tuple[Directory, str]:
        above, _, name = path.rpartition("/")
        directory = self.root if above == self._path else self._find(above)
        assert isinstance(directory, Directory), path
        return directory, name

    def _find(self, path: str) -> File | Directory | None:
        found: File | Directory | None = self.root
        for name in path.removeprefix(f"{self._path}/").split("/"):
            assert isinstance(found, Directory), path
            found = found.now(name)
        return found


def _as_it_is(path: Path) -> Directory:
    directory = Directory()
    for inner in path.iterdir():
        directory.names[inner.name] = [_as_it_is(inner) if inner.is_dir() else File(inner.read_bytes())]
    return directory


Choose = Callable[[list[File | Directory | None]], File | Directory | None]


def left_behind(directory: Directory, place: Path, choose: Choose, rng: random.Random) -> None:
    """Write a directory as a loss of power may leave it.

    Args:
        choose: Picks one of all that a name may stand for.
    """
    place.mkdir()
    for name, may_be in directory.names.items():
        chosen = choose(may_be)
        if isinstance(chosen, Directory):
            left_behind(chosen, place / name, choose, rng)
        elif chosen is not None:
            torn = b"" if rng.random() < 0.5 else b"\0" * 100
            (place / name).write_bytes(torn if chosen.data is None else chosen.data)
