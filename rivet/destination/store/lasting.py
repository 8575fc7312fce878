"""Objects below the staging prefix that outlive their process, until their run is swept."""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from typing import BinaryIO, cast

from rivet.destination.names import STAGING_DIRECTORY, check_run_id
from rivet.destination.protocol import Left
from rivet.destination.store.bucket import Bucket
from rivet.destination.store.ranged import TAIL_BYTES, RangedFile
from rivet.destination.store.staged import StoreStaged
from rivet.errors import ObjectNotFound


class StoreLasting:
    """An object below the staging prefix, which the store copies to its key when it is published.

    Args:
        writing: The object on its way there; None where it stands.
    """

    waiting_bytes = 0
    checksum = None

    def __init__(
        self, bucket: Bucket, left: Left, staged: str, key: str, writing: StoreStaged | None
    ) -> None:
        self.key = key
        self._bucket = bucket
        self._left = left
        self._staged = staged
        self._writing = writing
        self._state = "open" if writing is not None else "finished"

    @property
    def left(self) -> Left:
        """Give the object as another run finds it."""
        return self._left

    @property
    def size_bytes(self) -> int:
        """Give the bytes written so far."""
        return self._left.size_bytes if self._writing is None else self._writing.size_bytes

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append bytes."""
        return self._open.write(data)

    def finish(self) -> None:
        """Let the object stand below the staging prefix."""
        writing = self._open
        writing.finish()
        self._left = Left(self._left.run_id, self._left.name, writing.size_bytes, writing.checksum)
        writing.publish()
        self._writing = None
        self._state = "finished"

    def publish(self) -> None:
        """Have it copied to its key."""
        self.must_be_finished()
        try:
            self._bucket.copy(self._staged, self.key, self.size_bytes)
        except ObjectNotFound as exc:
            raise ObjectNotFound(
                f"cannot publish {self._bucket.uri + self.key!r}: what was staged is gone"
            ) from exc
        self._state = "published"

    def publish_over(self, version: str | None) -> bool:  # noqa: ARG002 - a part's name is its run's own
        """Publish it, whatever stands."""
        self.publish()
        return True

    def must_be_finished(self) -> None:
        """Raise unless it can be published: a bug."""
        if self._state != "finished":
            raise ValueError(f"{self.key!r} is published before it is finished, or once too often")

    def discard(self) -> None:
        """Drop what is not finished; what is stays until it is swept."""
        if self._writing is not None:
            self._writing.discard()
        self._state = "discarded"

    @property
    def _open(self) -> StoreStaged:
        if self._writing is None or self._state != "open":
            raise ValueError(f"{self.key!r} is written to after it was finished")
        return self._writing


class StoreLastings:
    """Stages, finds and hands over objects that last.

    Args:
        prefix: What all keys of the destination begin with.
        stage: Begins an object of a key and a run.
    """

    def __init__(self, bucket: Bucket, prefix: str, stage: Callable[[str, str], StoreStaged]) -> None:
        self._bucket = bucket
        self._prefix = f"{prefix}{STAGING_DIRECTORY}/"
        self._stage = stage
        self._token = secrets.token_hex(8)
        self._numbers = itertools.count()
        self._known: dict[str, set[str]] = {}
        self._lock = threading.Lock()

    def stage(self, key: str, run_id: str) -> StoreLasting:
        """Begin an object that is to be copied to a key."""
        name = self._unique(run_id)
        staged = self._key(run_id, name)
        return StoreLasting(self._bucket, Left(run_id, name, 0), staged, key, self._stage(staged, run_id))

    def note(self, name: str, data: bytes, run_id: str) -> None:
        """Put facts beside them."""
        self._bucket.put(self._key(run_id, name), data)

    def left(self, run_id: str) -> Iterator[Left]:
        """List what a run has left."""
        prefix = f"{self._prefix}{check_run_id(run_id)}/"
        for listed in self._bucket.list(prefix):
            name = listed.name.removeprefix(prefix)
            if name and "/" not in name:
                self._key(run_id, name)
                yield Left(run_id, name, listed.size_bytes, listed.checksum)

    def open(self, left: Left) -> AbstractContextManager[BinaryIO]:
        """Open one for reading in ranges."""
        key = self._key(left.run_id, left.name)
        tail = self._bucket.tail(key, TAIL_BYTES)
        file = RangedFile(tail, lambda start, end: self._bucket.range(key, start, end, tail.version))
        return cast("AbstractContextManager[BinaryIO]", file)

    def take_over(self, left: Left, run_id: str) -> Left:
        """Have one copied to another run's."""
        name = self._unique(run_id)
        self._bucket.copy(self._key(left.run_id, left.name), self._key(run_id, name), left.size_bytes)
        return Left(run_id, name, left.size_bytes)

    def finished(self, left: Left, key: str) -> StoreLasting:
        """Give one that stands."""
        return StoreLasting(self._bucket, left, self._key(left.run_id, left.name), key, None)

    def see(self, name: str) -> None:
        """Remember what a listing of the destination shows below the staging directory.

        Args:
            name: From the root.
        """
        segments = name.split("/")
        if len(segments) == 3 and segments[0] == STAGING_DIRECTORY and all(segments):
            self._key(*segments[1:])

    def sweep(self, run_ids: Collection[str]) -> None:
        """Remove what is known of runs: what was made here, or a listing has shown."""
        with self._lock:
            keys = sorted(key for run_id in run_ids for key in self._known.pop(run_id, ()))
        if keys:
            self._bucket.delete(keys)

    def _unique(self, run_id: str) -> str:
        # By the run id in it an upload that was broken off is found and dropped.
        return f"{check_run_id(run_id)}-{self._token}-{next(self._numbers)}"

    def _key(self, run_id: str, name: str) -> str:
        if "/" in name or not name:
            raise ValueError(f"{name!r} is no name among what a run has staged")
        key = f"{self._prefix}{run_id}/{name}"
        with self._lock:
            self._known.setdefault(run_id, set()).add(key)
        return key
