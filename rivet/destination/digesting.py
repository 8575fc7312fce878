"""Digests what an object holds."""

from __future__ import annotations

import hashlib
from typing import BinaryIO

_READ_BYTES = 1024**2


def sha256_of(file: BinaryIO) -> str:
    """Give the hex SHA-256 of what follows in an open object."""
    sha256 = hashlib.sha256()
    while data := file.read(_READ_BYTES):
        sha256.update(data)
    return sha256.hexdigest()
