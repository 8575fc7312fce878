"""Exports into a bucket, and what lies there afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.run.running import by_day
from tests.servers.gcs import GcsBucket
from tests.servers.s3 import S3Bucket

Bucket = S3Bucket | GcsBucket
STORES = ("s3", "gcs")
PREFIX = "lake/ev%2Fents é/"
PATH = f"{PREFIX}{{partition}}"


def export(bucket: Bucket, prefix: str = PATH, **more: Any) -> dict[str, Any]:
    """Give an export of the table `events` by day into a bucket, changed by more."""
    return by_day(Path(), **more) | {"destination": {**bucket.section, "prefix": prefix}}


def copied(bucket: Bucket, directory: Path) -> Path:
    """Copy the tree out of its bucket, as a person with the store's own tool does."""
    for key in bucket.keys(PREFIX):
        file = directory / key.removeprefix(PREFIX)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bucket.read(key))
    return directory


def uri(bucket: Bucket, path: str = "") -> str:
    """Give the URI of the tree, or of a path in it."""
    return f"{'s3' if isinstance(bucket, S3Bucket) else 'gs'}://{bucket.name}/{PREFIX}{path}"
