"""Exports into a bucket, and what lies there afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow.dataset as ds
from gcsfs.core import GCSFileSystem
from pyarrow.fs import FileSelector, S3FileSystem

from tests.run.running import by_day
from tests.run.trees import Rows
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


def rows_in_store(bucket: Bucket) -> Rows:
    """Read the tree where it lies, as its readers do: pyarrow from S3, DuckDB from Google Cloud Storage."""
    if isinstance(bucket, S3Bucket):
        key = bucket.server.account
        store = S3FileSystem(
            access_key=key.access_key,
            secret_key=key.secret_key,
            endpoint_override=bucket.server.endpoint_url,
        )
        found = store.get_file_info(FileSelector(f"{bucket.name}/{PREFIX}", recursive=True))
        parts = [one.path for one in found if one.path.endswith(".parquet")]
        rows = [tuple(row.values()) for row in ds.dataset(parts, filesystem=store).to_table().to_pylist()]
    else:
        with duckdb.connect() as connection:
            connection.register_filesystem(
                GCSFileSystem(endpoint_url=bucket.server.endpoint_url, token="anon", skip_instance_cache=True)
            )
            glob = f"gs://{bucket.name}/{PREFIX}*/*.parquet"
            rows = connection.execute(
                "SELECT * FROM read_parquet(?, hive_partitioning = false)", [glob]
            ).fetchall()
    return sorted(rows, key=repr)
