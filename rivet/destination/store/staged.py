"""What is being written to a store: kept on this side while it is small, sent in parts once it is not."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress

from rivet.destination.store.bucket import Bucket, Upload
from rivet.destination.store.pool import UploadPool, finish_all, has_succeeded
from rivet.destination.store.spool import Kept, Spool
from rivet.errors import DestinationError, ObjectNotFound

SMALL_BYTES = 8 * 1024**2

# A store takes 10,000 parts. Some take none but equal ones, so they grow only where a file is beyond 39 GiB.
_EQUAL_PARTS = 5_000
_PARTS_TO_DOUBLE = 500


def part_bytes(number: int) -> int:
    """Give the size of a part, numbered from 1, unless it is the last.

    >>> part_bytes(1), part_bytes(5_000), part_bytes(5_001), part_bytes(5_501)
    (8388608, 8388608, 16777216, 33554432)
    """
    return SMALL_BYTES << max(0, (number - _EQUAL_PARTS + _PARTS_TO_DOUBLE - 1) // _PARTS_TO_DOUBLE)


class StoreStaged:
    """An object on its way to a key.

    Args:
        run_id: Uploads that stand in a store unfinished are found by the run id in their names, so an object
            whose name bears none is kept on this side, whatever its size.
        forget: Called once, when nothing waits any more.
    """

    def __init__(
        self,
        key: str,
        run_id: str,
        *,
        bucket: Bucket,
        spool: Spool,
        pool: UploadPool,
        forget: Callable[[StoreStaged], None],
    ) -> None:
        self.key = key
        self.run_id = run_id
        self._bucket = bucket
        self._spool = spool
        self._pool = pool
        self._forget = forget
        self._may_upload = run_id in key.rpartition("/")[2]
        self._buffer = bytearray()
        self._size_bytes = 0
        self._checksum: str | None = None
        self._kept: Kept | None = None
        self._upload: Upload | None = None
        self._parts = 0
        self._sending: list[Future[None]] = []
        self._state = "open"

    @property
    def size_bytes(self) -> int:
        """Give the bytes written so far."""
        return self._size_bytes

    @property
    def checksum(self) -> str | None:
        """Give the checksum that the store will tell, once it is finished."""
        return self._checksum

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append bytes; what makes up a whole part is sent while writing goes on."""
        self._must_be("open", "written to after it was finished")
        before = len(self._buffer)
        self._buffer += memoryview(data).cast("B")
        written = len(self._buffer) - before
        self._size_bytes += written
        while self._may_upload and len(self._buffer) > (most := part_bytes(self._parts + 1)):
            self._send(most)
        return written

    def finish(self) -> None:
        """Keep what is small; send the last part of what is large and wait until all have arrived."""
        self._must_be("open", "finished twice")
        if self._upload is None:
            data = bytes(self._buffer)
            self._checksum = self._bucket.checksum(data)
            self._kept = self._spool.keep(data)
        else:
            self._send(len(self._buffer))
            finish_all(self._sending)
            self._checksum = self._upload.checksum
        self._buffer = bytearray()
        self._state = "finished"

    def publish(self) -> None:
        """Put what is small, complete what is large."""
        self.must_be_finished()
        if self._upload is not None:
            self._upload.complete()
        elif self._kept is not None:
            self._bucket.put(self.key, self._spool.read(self._kept), self._checksum)
        self._end("published")

    def publish_over(self, version: str | None) -> bool:
        """Put what is small where a version stands, or None for nothing; tell whether it was put."""
        self.must_be_finished()
        if self._kept is None:
            self.publish()
            return True
        if self._bucket.put_if(self.key, self._spool.read(self._kept), version) is None:
            return False
        self._end("published")
        return True

    def must_be_finished(self) -> None:
        """Raise unless it can be published: a bug, or another run's sweep."""
        if self._state == "swept":
            raise ObjectNotFound(f"cannot publish {self._bucket.uri + self.key!r}: what was staged is gone")
        self._must_be("finished", "published before it is finished, or once too often")

    def discard(self) -> None:
        """Drop it; what of it cannot be dropped in the store now is swept by the next run."""
        if self._state in {"open", "finished"}:
            self._drop("discarded")

    def sweep(self) -> None:
        """Drop it as another's: it cannot be published any more."""
        if self._state in {"open", "finished"}:
            self._drop("swept")

    @property
    def waiting_bytes(self) -> int:
        """Give the bytes that publishing sends."""
        return 0 if self._kept is None else self._kept.size_bytes

    def _send(self, size: int) -> None:
        self._sending = [future for future in self._sending if not has_succeeded(future)]
        if self._upload is None:
            self._upload = self._bucket.upload(self.key)
        self._parts += 1
        upload, number = self._upload, self._parts
        data = bytes(memoryview(self._buffer)[:size])
        del self._buffer[:size]
        self._sending.append(self._pool.submit(size, lambda: upload.part(number, data)))

    def _drop(self, state: str) -> None:
        for future in self._sending:
            future.cancel()
        for future in self._sending:
            if not future.cancelled():
                future.exception()
        if self._upload is not None:
            with suppress(DestinationError):
                self._upload.abort()
        self._end(state)

    def _end(self, state: str) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            self._spool.drop(kept)
        self._buffer = bytearray()
        self._sending.clear()
        self._state = state
        self._forget(self)

    def _must_be(self, state: str, otherwise: str) -> None:
        if self._state != state:
            raise ValueError(f"{self.key!r} is {otherwise}")
