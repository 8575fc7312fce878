"""Answers that must have arrived as a whole within some time, however slowly their pieces come."""

from __future__ import annotations

import http.client
import io
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


def bounded_answer(seconds: float) -> type[http.client.HTTPResponse]:
    """Make the class of answers that raise `TimeoutError` when one is read for longer.

    A socket's own timeout is for each piece, and begins anew with each byte.
    """

    class Bounded(http.client.HTTPResponse):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            self.fp = io.BufferedReader(_Until(time.monotonic() + seconds, self.fp.detach()))

    return Bounded


class _Until(io.RawIOBase):
    """Reads from another until a moment of the monotonic clock."""

    def __init__(self, end: float, raw: io.RawIOBase) -> None:
        super().__init__()
        self._end = end
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        if time.monotonic() > self._end:
            raise TimeoutError
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
