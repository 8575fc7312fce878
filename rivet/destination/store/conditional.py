"""Writes on conditions, once it is certain that the store keeps to them.

Many that speak the protocol of S3 take the headers and write all the same, so a store that is not known is
told once to break both conditions, and must refuse.
"""

from __future__ import annotations

import threading

from rivet.destination.store.bucket import Bucket
from rivet.errors import NoConditionalWrites


class Conditional:
    """The conditional writes of one bucket; may be used by several threads.

    Attributes:
        is_trusted: Whether a condition was kept already.
    """

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self.is_trusted = False
        self._lock = threading.Lock()

    def put(self, key: str, data: bytes, version: str | None) -> str | None:
        """Write where a version stands, or, for None, nothing.

        Raises:
            NoConditionalWrites: The store does not keep to conditions.
        """
        written = self._bucket.put_if(key, data, version)
        with self._lock:
            if written is not None and not self.is_trusted:
                if not self._bucket.is_known:
                    self._try(key, data)
                self.is_trusted = True
        return written

    def _try(self, key: str, data: bytes) -> None:
        """Write on conditions that do not hold; other bytes, or they would pass for the first."""
        for version in (None, self._bucket.no_version):
            if self._bucket.put_if(key, data + b"\n", version) is not None:
                raise NoConditionalWrites(
                    f"{self._bucket.uri}{key} was replaced by a request whose condition did not hold",
                    hint="the store ignores conditional writes",
                )
