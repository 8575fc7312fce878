"""What Google Cloud Storage tells of an object, and what it is told of one."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import Self

_MD5 = "md5:"


@dataclass(frozen=True, slots=True)
class Resource:
    """An object as it stands.

    Attributes:
        checksum: None where it was composed of others.
        generation: What tells it from those that stood there before; empty where that was not told.
    """

    size_bytes: int
    checksum: str | None
    generation: str

    @classmethod
    def of(cls, body: bytes) -> Self | None:
        """Read an answer; None where it tells of no object.

        >>> Resource.of(b'{"size": "5", "md5Hash": "XUFAKrxLKna5cZ2REBfFkg==", "generation": "7"}')
        Resource(size_bytes=5, checksum='md5:XUFAKrxLKna5cZ2REBfFkg==', generation='7')
        """
        try:
            told = json.loads(body)
            return cls(int(told["size"]), checksum_told(told.get("md5Hash")), str(told.get("generation", "")))
        except (ValueError, LookupError, TypeError, AttributeError):
            return None

    def is_that(self, size_bytes: int, checksum: str) -> bool:
        """Tell whether it holds these bytes."""
        return (self.size_bytes, self.checksum) == (size_bytes, checksum)


def checksum_told(md5: str | None) -> str | None:
    """Spell the MD5 that the store tells as a checksum."""
    return None if md5 is None else _MD5 + md5


def checksum_of(data: bytes) -> str:
    """Give the checksum of bytes."""
    return checksum_from(hashlib.md5(data, usedforsecurity=False).digest())


def checksum_from(digest: bytes) -> str:
    """Spell an MD5 as a checksum."""
    return _MD5 + base64.b64encode(digest).decode()


def metadata(key: str, checksum: str | None = None) -> bytes:
    """Write what an object is to be: with a checksum, it is refused where other bytes arrive."""
    told = {
        "name": key,
        "contentType": "application/octet-stream",
        # What a public bucket has replaced would else be served for an hour by caches on the way.
        "cacheControl": "no-cache",
    }
    if checksum is not None:
        told["md5Hash"] = checksum.removeprefix(_MD5)
    return json.dumps(told).encode()
