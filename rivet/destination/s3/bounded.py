"""Answers that must go on arriving, however slowly their pieces come."""

from __future__ import annotations

import http.client
import io
import time
from typing import TYPE_CHECKING, Any

from rivet.destination.store.retrying import LEAST_BYTES_PER_SECOND

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class Pace:
    """How long an answer may take: some time, and more for each byte that has come.

    A socket's own timeout is for each piece, and begins anew with each byte.

    Args:
        seconds: For an answer without a byte.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def keep(self) -> None:
        """Raise `TimeoutError` where the time is over."""
        if time.monotonic() > self._end:
            raise TimeoutError

    def took(self, size_bytes: int) -> None:
        """Give more time for bytes that have come."""
        self._end += size_bytes / LEAST_BYTES_PER_SECOND


def bounded_answer(seconds: float) -> type[http.client.HTTPResponse]:
    """Make the class of answers that raise `TimeoutError` when one does not keep pace."""

    class Bounded(http.client.HTTPResponse):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            self._paced = _Paced(Pace(seconds), self.fp.detach())
            self.fp = io.BufferedReader(self._paced)

        def begin(self) -> None:
            super().begin()
            must_be_begun(self.status, has_ended=self._paced.has_ended)

    return Bounded


def must_be_begun(status: int, *, has_ended: bool) -> None:
    """Raise `HTTPException` where an answer is none yet, or was cut off before its body.

    The standard library takes status 103 for the end, though another answer comes, and headers that break off
    for whole ones: without that of the length, the body is then whatever is left, which is nothing.

    Args:
        has_ended: Whether the end of the line was seen while headers were read.
    """
    if status < 200:
        raise http.client.HTTPException(f"an answer that is none yet, of status {status}, was not asked for")
    if has_ended:
        raise http.client.RemoteDisconnected("the connection was closed within the headers of an answer")


class _Paced(io.RawIOBase):
    """Reads from another for as long as it keeps pace.

    Attributes:
        has_ended: Whether the end of the other was seen.
    """

    def __init__(self, pace: Pace, raw: io.RawIOBase) -> None:
        super().__init__()
        self.has_ended = False
        self._pace = pace
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        self._pace.keep()
        size = self._raw.readinto(buffer)
        self._pace.took(size or 0)
        self.has_ended = size == 0
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()
