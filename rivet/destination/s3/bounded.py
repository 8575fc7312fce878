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
            self.fp = io.BufferedReader(_Paced(Pace(seconds), self.fp.detach()))

        def begin(self) -> None:
            super().begin()
            must_be_final(self.status)

    return Bounded


def must_be_final(status: int) -> None:
    """Raise `HTTPException` where another answer to the same request is still to come.

    The standard library waits for that after status 100 alone, and takes 103 for the end.
    """
    if status < 200:
        raise http.client.HTTPException(f"an answer that is none yet, of status {status}, was not asked for")


class _Paced(io.RawIOBase):
    """Reads from another for as long as it keeps pace."""

    def __init__(self, pace: Pace, raw: io.RawIOBase) -> None:
        super().__init__()
        self._pace = pace
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        self._pace.keep()
        size = self._raw.readinto(buffer)
        self._pace.took(size or 0)
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()
