"""An object at a distance as a file that can be read at any offset, by few requests."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING

from rivet.destination.store.bucket import Tail

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

TAIL_BYTES = 64 * 1024
_BLOCK_BYTES = 8 * 1024**2
_LEAST_BYTES = 256 * 1024


class RangedFile(io.RawIOBase):
    """Keeps the tail and one block; a read that follows the one before it fetches a large block ahead.

    Args:
        tail: The object's end, already fetched.
        fetch: Gives the bytes from one offset to another, the second not included.
    """

    def __init__(self, tail: Tail, fetch: Callable[[int, int], bytes]) -> None:
        super().__init__()
        self._size_bytes = tail.size_bytes
        self._fetch = fetch
        self._tail = (tail.size_bytes - len(tail.data), tail.data)
        self._block = (0, b"")
        self._position = 0

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that it can be read at any offset."""
        return True

    def tell(self) -> int:
        """Give the offset of the next read."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to an offset, which may lie behind the end."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size_bytes}[whence]
        if base + offset < 0:
            raise ValueError(f"negative offset {base + offset}")
        self._position = base + offset
        return self._position

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill a buffer as far as there are bytes, with at most two requests."""
        view = memoryview(buffer).cast("B")
        data = self._read(min(len(view), max(0, self._size_bytes - self._position)))
        view[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        """Give all that follows."""
        return self._read(max(0, self._size_bytes - self._position))

    def read(self, size: int | None = -1) -> bytes:
        """Give so many bytes, fewer only at the end; None and negative numbers mean all."""
        rest = max(0, self._size_bytes - self._position)
        return self._read(rest if size is None or size < 0 else min(size, rest))

    def _read(self, size: int) -> bytes:
        """Give bytes that exist."""
        start, end = self._position, self._position + size
        data = b""
        while start < end:
            piece = _cut(self._tail, start, end) or _cut(self._block, start, end)
            if not piece:
                self._fetch_block(start, end)
                continue
            data = data + piece if data else bytes(piece)
            start += len(piece)
        self._position = end
        return data

    def _fetch_block(self, start: int, end: int) -> None:
        follows = start == self._block[0] + len(self._block[1])
        ahead = start + (_BLOCK_BYTES if follows else _LEAST_BYTES)
        until = min(max(end, ahead), self._tail[0])
        self._block = (start, self._fetch(start, until))


def _cut(held: tuple[int, bytes], start: int, end: int) -> memoryview:
    offset, data = held
    inside = offset <= start < offset + len(data)
    return memoryview(data)[start - offset : end - offset] if inside else memoryview(b"")
