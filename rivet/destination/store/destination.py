"""A prefix of a bucket as a destination, whatever the store."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import BinaryIO, cast

from rivet.destination.names import check_directory, check_name, check_run_id, split_prefix
from rivet.destination.protocol import Inspected, Left, Listed, Staged
from rivet.destination.store.bucket import Bucket
from rivet.destination.store.conditional import Conditional
from rivet.destination.store.lasting import StoreLasting, StoreLastings
from rivet.destination.store.pool import UploadPool, finish_all
from rivet.destination.store.ranged import TAIL_BYTES, RangedFile
from rivet.destination.store.spool import Spool
from rivet.destination.store.staged import StoreStaged

# Each waits for the store most of the time.
_REQUESTS_AT_ONCE = 16
_UPLOAD_BYTES = 64 * 1024**2


class StoreDestination:
    """Objects below a prefix.

    Args:
        prefix: What all keys begin with; empty, or ending in `/`.
    """

    concurrency = _REQUESTS_AT_ONCE

    def __init__(self, bucket: Bucket, prefix: str) -> None:
        self._bucket = bucket
        self._prefix = prefix
        self._conditional = Conditional(bucket)
        self._spool = Spool()
        self._pool = UploadPool(_REQUESTS_AT_ONCE, _UPLOAD_BYTES)
        self._lasting = StoreLastings(bucket, prefix, self._begin)
        self._staged: set[StoreStaged] = set()
        self._lock = threading.Lock()

    @property
    def kind(self) -> str:
        """Name the kind of store."""
        return self._bucket.kind

    @property
    def uri(self) -> str:
        """Give the prefix with its bucket."""
        return self._bucket.uri + self._prefix

    @property
    def warnings(self) -> Sequence[str]:
        """Give what has come to light of the bucket."""
        return self._bucket.warnings

    @property
    def uploaded_bytes(self) -> int:
        """Give the bytes that staged objects have sent."""
        return self._pool.sent_bytes

    def read(self, name: str) -> bytes:
        """Give all bytes of an object."""
        return self._bucket.get(self._key(name))

    def open(self, name: str, size_bytes: int | None = None) -> AbstractContextManager[BinaryIO]:  # noqa: ARG002
        """Open an object for reading in ranges; its tail is fetched now."""
        key = self._key(name)
        tail = self._bucket.tail(key, TAIL_BYTES)
        file = RangedFile(tail, lambda start, end: self._bucket.range(key, start, end, tail.version))
        return cast("AbstractContextManager[BinaryIO]", file)

    def list(self, prefix: str = "") -> Iterator[Listed]:
        """List the objects below the prefix, but for foreign ones whose keys are no names: folders, `//`."""
        split_prefix(prefix)
        return self._list(prefix)

    def stage(self, name: str, run_id: str) -> StoreStaged:
        """Begin an object."""
        return self._begin(self._key(name), run_id)

    def stage_lasting(self, name: str, run_id: str) -> StoreLasting:
        """Begin an object below the staging prefix, which is copied when it is published."""
        return self._lasting.stage(self._key(name), run_id)

    def note(self, name: str, data: bytes, run_id: str) -> None:
        """Put facts beside what a run has staged."""
        self._lasting.note(name, data, run_id)

    def left(self, run_id: str) -> Iterator[Left]:
        """List what a run has left below the staging prefix."""
        return self._lasting.left(run_id)

    def open_left(self, left: Left) -> AbstractContextManager[BinaryIO]:
        """Open what a run has left for reading in ranges."""
        return self._lasting.open(left)

    def take_over(self, left: Left, run_id: str) -> Left:
        """Have the store copy what a run has left to another's."""
        return self._lasting.take_over(left, run_id)

    def lasting(self, left: Left, name: str) -> StoreLasting:
        """Give what a run has left, to be copied to its name."""
        return self._lasting.finished(left, self._key(name))

    def publish(self, staged: Sequence[Staged]) -> None:
        """Make objects visible, several at once."""
        files: list[StoreStaged | StoreLasting] = []
        for file in staged:
            if not isinstance(file, StoreStaged | StoreLasting):
                raise TypeError(f"{file!r} was not staged here")
            file.must_be_finished()
            files.append(file)
        if len(files) == 1:  # by a thread of its own it would cost as much again on this side
            self._pool.run(files[0].waiting_bytes, files[0].publish)
            return
        finish_all([self._pool.submit(file.waiting_bytes, file.publish) for file in files])

    def publish_over(self, staged: Staged, version: str | None) -> bool:
        """Make an object visible by a request on a condition, once the store has kept to one."""
        if not isinstance(staged, StoreStaged | StoreLasting):
            raise TypeError(f"{staged!r} was not staged here")
        if not self._conditional.is_trusted:
            self.publish([staged])
            return True
        staged.must_be_finished()
        return self._pool.run(staged.waiting_bytes, lambda: staged.publish_over(version))

    def put(self, name: str, data: bytes) -> None:
        """Write an object by one request."""
        self._bucket.put(self._key(name), data)

    def inspect(self, name: str, limit_bytes: int | None = None) -> Inspected:
        """Give an object and its version."""
        return self._bucket.inspect(self._key(name), limit_bytes)

    def age_seconds(self, name: str) -> float:
        """Tell how long ago an object was written, by the store's clock."""
        return self._bucket.age_seconds(self._key(name))

    def create(self, name: str, data: bytes, *, private: bool = False) -> str | None:  # noqa: ARG002
        """Write an object where there is none; who may read it is the bucket's to say."""
        return self._conditional.put(self._key(name), data, None)

    def replace(self, name: str, data: bytes, version: str, *, private: bool = False) -> str | None:  # noqa: ARG002
        """Replace an object of a version."""
        return self._conditional.put(self._key(name), data, version)

    def remove(self, name: str, version: str) -> bool:
        """Remove an object of a version."""
        return self._bucket.delete_if(self._key(name), version)

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects in batches."""
        self._bucket.delete([self._key(name) for name in names])

    def settle(self, directories: Iterable[str]) -> None:
        """Do nothing: what a store has answered for is durable."""
        for directory in directories:
            check_directory(directory)

    def sweep(self, run_ids: Iterable[str]) -> None:
        """Drop what runs left: in this process by asking it, in the store by their names."""
        wanted = {check_run_id(run_id) for run_id in run_ids}
        if not wanted:
            return
        with self._lock:
            mine = [staged for staged in self._staged if staged.run_id in wanted]
        for staged in mine:
            staged.sweep()
        self._lasting.sweep(wanted)
        self._bucket.abort_uploads(self._prefix, wanted)

    def remove_root_if_empty(self) -> None:
        """Do nothing: a prefix is there with its objects."""

    def close(self) -> None:
        """Let go of threads, connections and what waits."""
        self._bucket.close()
        self._pool.close()
        self._spool.close()

    def _key(self, name: str) -> str:
        return self._prefix + check_name(name)

    def _list(self, prefix: str) -> Iterator[Listed]:
        # Stores that are file systems below do not list in the order of keys.
        listed = []
        for o in self._bucket.list(self._prefix + prefix):
            name = o.name[len(self._prefix) :]
            if _is_name(name):
                listed.append(Listed(name, o.size_bytes, o.checksum, o.version))
            else:
                self._lasting.see(name)
        listed.sort(key=lambda one: one.name)
        yield from listed

    def _begin(self, key: str, run_id: str) -> StoreStaged:
        staged = StoreStaged(
            key,
            check_run_id(run_id),
            bucket=self._bucket,
            spool=self._spool,
            pool=self._pool,
            forget=self._forget,
        )
        with self._lock:
            self._staged.add(staged)
        return staged

    def _forget(self, staged: StoreStaged) -> None:
        with self._lock:
            self._staged.discard(staged)


def _is_name(text: str) -> bool:
    try:
        check_name(text)
    except ValueError:
        return False
    return True
