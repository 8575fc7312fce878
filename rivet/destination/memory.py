"""A destination in memory, held to the same contract, that records what is done and can be made to fail."""

from __future__ import annotations

import io
import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import BinaryIO

from rivet.destination.memory_lasting import MemoryLasting
from rivet.destination.memory_operations import Hook as Hook
from rivet.destination.memory_operations import Operation as Operation
from rivet.destination.memory_operations import fail_before as fail_before
from rivet.destination.memory_staged import MemoryStaged, checksum_of
from rivet.destination.names import check_directory, check_name, check_run_id, split_prefix
from rivet.destination.protocol import Inspected, Left, Listed, Staged
from rivet.errors import ObjectNotFound


class MemoryDestination:
    """Objects in a dictionary.

    Args:
        before: Called before each operation; where it raises, the operation is neither done nor recorded.

    Attributes:
        objects: What is visible, by name.
        staged: What is written and not visible, by run id and a number.
        kept: What is staged so as to last, by run id and name.
        operations: What was done, in order.
    """

    kind = "memory"
    uri = "memory:/"
    warnings = ()
    concurrency = 1
    uploaded_bytes = 0

    def __init__(self, before: Hook | None = None) -> None:
        self.objects: dict[str, bytes] = {}
        self.staged: dict[tuple[str, int], MemoryStaged] = {}
        self.kept: dict[tuple[str, str], bytes] = {}
        self.operations: list[Operation] = []
        self._before = before
        self._counts: Counter[str] = Counter()
        self._stamps: dict[str, tuple[bytes, str, float]] = {}
        self._versions = itertools.count(1)
        self._changing = threading.RLock()
        self._lock = threading.Lock()

    def read(self, name: str) -> bytes:
        """Give all bytes of an object."""
        self.record("read", check_name(name))
        return self._object(name)

    def open(self, name: str, size_bytes: int | None = None) -> AbstractContextManager[BinaryIO]:  # noqa: ARG002
        """Open an object for reading at any offset."""
        self.record("open", check_name(name))
        return io.BytesIO(self._object(name))

    def list(self, prefix: str = "") -> Iterator[Listed]:
        """List objects in the order of names, as they are at this moment."""
        split_prefix(prefix)
        self.record("list", prefix)
        objects = sorted(self.objects.items())
        with self._changing:
            return iter(
                [
                    Listed(n, len(d), checksum_of(d), self._stamp(n)[1])
                    for n, d in objects
                    if n.startswith(prefix)
                ]
            )

    def stage(self, name: str, run_id: str) -> MemoryStaged:
        """Begin an object."""
        check_run_id(run_id)
        key = (run_id, self.record("stage", check_name(name)))
        self.staged[key] = MemoryStaged(self, key, name)
        return self.staged[key]

    def stage_lasting(self, name: str, run_id: str) -> MemoryLasting:
        """Begin an object that stays staged."""
        number = self.record("stage", check_name(name))
        return self.lasting(Left(check_run_id(run_id), str(number), 0), name)

    def note(self, name: str, data: bytes, run_id: str) -> None:
        """Keep facts beside it."""
        self.record("note", name)
        self.kept[check_run_id(run_id), name] = bytes(data)

    def left(self, run_id: str) -> Iterator[Left]:
        """List what a run keeps."""
        self.record("left", run_id)
        return iter([Left(r, n, len(d)) for (r, n), d in sorted(self.kept.items()) if r == run_id])

    def open_left(self, left: Left) -> AbstractContextManager[BinaryIO]:
        """Open what a run keeps."""
        self.record("open_left", left.name)
        return io.BytesIO(self._kept(left))

    def take_over(self, left: Left, run_id: str) -> Left:
        """Let another run keep it too."""
        name = str(self.record("stage", left.name))
        self.kept[check_run_id(run_id), name] = self._kept(left)
        return Left(run_id, name, left.size_bytes)

    def lasting(self, left: Left, name: str) -> MemoryLasting:
        """Give what a run keeps, to publish it."""
        return MemoryLasting(left, check_name(name), record=self.record, kept=self.kept, show=self._show)

    def publish(self, staged: Sequence[Staged]) -> None:
        """Move what is staged to its names, each an operation of its own."""
        for one in staged:
            if not isinstance(one, MemoryStaged | MemoryLasting):
                raise TypeError(f"{one!r} was not staged here")
            one.publish()

    def publish_over(self, staged: Staged, version: str | None) -> bool:
        """Move what is staged to its name where that version of it stands."""
        if not isinstance(staged, MemoryStaged | MemoryLasting):
            raise TypeError(f"{staged!r} was not staged here")
        with self._changing:
            standing = self._stamp(staged.name)[1] if staged.name in self.objects else None
            if standing != version:
                return False
            staged.publish()
            return True

    def put(self, name: str, data: bytes) -> None:
        """Replace an object."""
        self.record("put", check_name(name))
        with self._changing:
            self._stamps.pop(name, None)
            self.objects[name] = bytes(data)

    def inspect(self, name: str, limit_bytes: int | None = None) -> Inspected:
        """Give an object and its version."""
        self.record("inspect", check_name(name))
        with self._changing:
            data, version, _ = self._stamp(name)
        return Inspected(data[:limit_bytes], version)

    def age_seconds(self, name: str) -> float:
        """Tell how long ago an object was written, or first looked at where a test has put it there."""
        self.record("age_seconds", check_name(name))
        with self._changing:
            return time.monotonic() - self._stamp(name)[2]

    def create(self, name: str, data: bytes, *, private: bool = False) -> str | None:  # noqa: ARG002
        """Add an object where there is none."""
        self.record("create", check_name(name))
        with self._changing:
            if name in self.objects:
                return None
            self.objects[name] = bytes(data)
            return self._stamp(name)[1]

    def replace(self, name: str, data: bytes, version: str, *, private: bool = False) -> str | None:  # noqa: ARG002
        """Replace an object of a version."""
        self.record("replace", check_name(name))
        with self._changing:
            if name not in self.objects or self._stamp(name)[1] != version:
                return None
            self._stamps.pop(name)
            self.objects[name] = bytes(data)
            return self._stamp(name)[1]

    def remove(self, name: str, version: str) -> bool:
        """Remove an object of a version."""
        self.record("remove", check_name(name))
        with self._changing:
            if name not in self.objects or self._stamp(name)[1] != version:
                return False
            del self.objects[name]
            return True

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects, each an operation of its own."""
        for name in names:
            self.record("delete", check_name(name))
            self.objects.pop(name, None)

    def settle(self, directories: Iterable[str]) -> None:
        """Record the directories, each as an operation of its own."""
        for directory in directories:
            self.record("settle", check_directory(directory))

    def sweep(self, run_ids: Iterable[str]) -> None:
        """Remove what runs left staged, each run an operation of its own."""
        for run_id in run_ids:
            self.record("sweep", check_run_id(run_id))
            for key in [key for key in self.staged if key[0] == run_id]:
                del self.staged[key]
            for kept in [kept for kept in self.kept if kept[0] == run_id]:
                del self.kept[kept]

    def remove_root_if_empty(self) -> None:
        """Do nothing: there is no root to make or remove."""
        self.record("remove_root_if_empty", "")

    def close(self) -> None:
        """Record that the destination was let go of."""
        self.record("close", "")

    def record(self, kind: str, name: str) -> int:
        """Record an operation that is about to be done, and give its number."""
        with self._lock:
            self._counts[kind] += 1
            operation = Operation(kind, name, self._counts[kind])
        if self._before is not None:
            self._before(operation)
        self.operations.append(operation)
        return operation.number

    def forget(self, name: str) -> None:
        """Let what is under a name next have another version, whatever its bytes."""
        self._stamps.pop(name, None)

    def _kept(self, left: Left) -> bytes:
        try:
            return self.kept[left.run_id, left.name]
        except KeyError:
            raise ObjectNotFound(f"cannot read {left.name!r} of run {left.run_id!r}: it is gone") from None

    def _show(self, name: str, data: bytes) -> None:
        self.forget(name)
        self.objects[name] = data

    def _stamp(self, name: str) -> tuple[bytes, str, float]:
        """Give an object with its version and when it was written; tests may have put it there themselves."""
        data = self._object(name)
        found = self._stamps.get(name)
        if found is None or found[0] is not data:
            found = (data, str(next(self._versions)), time.monotonic())
            self._stamps[name] = found
        return found

    def _object(self, name: str) -> bytes:
        try:
            return self.objects[name]
        except KeyError:
            raise ObjectNotFound(f"cannot read {self.uri + name!r}: no such object") from None
