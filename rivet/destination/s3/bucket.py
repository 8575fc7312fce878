"""The requests on a bucket of S3."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any

from rivet.config.settings import S3DestinationSettings
from rivet.destination.protocol import Inspected, Listed
from rivet.destination.s3.client import md5
from rivet.destination.s3.conditional import S3Conditional
from rivet.destination.s3.connection import CHECKSUM_KIND, S3Connection, is_digest
from rivet.destination.s3.copying import copy
from rivet.destination.s3.deleting import Deleting
from rivet.destination.s3.errors import code_of
from rivet.destination.s3.upload import S3Upload
from rivet.destination.store.bucket import Tail
from rivet.destination.store.retrying import Patience
from rivet.errors import DestinationError, IntegrityError

_NO_END = frozenset({"InvalidRange", "416"})
_MAY_NOT = frozenset({"AccessDenied", "Forbidden", "403", "NotImplemented", "501", "MethodNotAllowed", "405"})
# Of a store that does not know what is asked: that its bucket is there is known by then.
_UNKNOWN = frozenset({"NoSuchKey", "404"})


class S3Bucket:
    """A bucket; used by many threads at once."""

    kind = "s3"

    def __init__(self, settings: S3DestinationSettings, patience: Patience) -> None:
        self.warnings: list[str] = []
        self._connection = S3Connection(settings, patience)
        self._run = self._connection.retrying.run
        self._deleting = Deleting(self._connection)
        self._conditional = S3Conditional(self._connection)
        self._lock = threading.Lock()

    @property
    def uri(self) -> str:
        """Give the bucket as a URI."""
        return self._connection.uri

    def get(self, key: str) -> bytes:
        """Give a whole object."""
        return self._run(lambda _: self._connection.body(key)[0])

    def tail(self, key: str, size_bytes: int) -> Tail:
        """Give the end of an object, by one request."""

        def fetch(_: int) -> Tail:
            try:
                data, answer = self._connection.body(key, Range=f"bytes=-{size_bytes}")
            except DestinationError as exc:
                if code_of(exc.__cause__) not in _NO_END:  # an empty object has none
                    raise
                return Tail(b"", 0, "")
            whole = answer.get("ContentRange", "").rpartition("/")[2]
            version = self._connection.told(answer, "ETag", "read", key)
            return Tail(data, int(whole) if whole.isdecimal() else len(data), version)

        return self._run(fetch)

    def range(self, key: str, start: int, end: int, version: str) -> bytes:
        """Give bytes of one version."""

        def fetch(_: int) -> bytes:
            data, _answer = self._connection.body(key, Range=f"bytes={start}-{end - 1}", IfMatch=version)
            if len(data) != end - start:
                text = f"{len(data)} bytes came instead of {end - start}"
                raise self._connection.translator.error(IntegrityError, "read", key, text)
            return data

        return self._run(fetch)

    def list(self, prefix: str) -> Iterator[Listed]:
        """List keys, a page of at most 1,000 at a time."""
        for page in self._pages("list_objects_v2", prefix, {"ContinuationToken": "NextContinuationToken"}):
            for found in page.get("Contents", []):
                checksum = self._connection.checksum(found.get("ETag", ""))
                key, size = (self._connection.told(found, name, "list", prefix) for name in ("Key", "Size"))
                yield Listed(key, size, checksum, found.get("ETag"))

    def checksum(self, data: bytes) -> str | None:
        """Give the digest that S3 tells of an object put by one request."""
        return self._connection.checksum(md5(data).hex()) if self._connection.has_digests else None

    def put(self, key: str, data: bytes, checksum: str | None = None) -> None:
        """Write an object by one request; where the outcome is unknown, look whether it stands."""
        digest = md5(data) if checksum is None else bytes.fromhex(checksum.removeprefix(CHECKSUM_KIND))

        def put(tries: int) -> None:
            if tries and self._stands(key, len(data), digest):
                return
            self._connection.put(key, data, digest)

        self._run(put)

    def copy(self, key: str, to: str, size_bytes: int) -> None:
        """Have S3 copy an object."""
        copy(self._connection, key, to, size_bytes)

    @property
    def is_known(self) -> bool:
        """Tell whether this is AWS."""
        return self._connection.is_aws

    no_version = '"00000000000000000000000000000000"'

    def inspect(self, key: str, limit_bytes: int | None) -> Inspected:
        """Give an object and its ETag."""
        return self._conditional.inspect(key, limit_bytes)

    def age_seconds(self, key: str) -> float:
        """Compare when an object was written with when the store answers."""
        return self._conditional.age_seconds(key)

    def put_if(self, key: str, data: bytes, version: str | None) -> str | None:
        """Write an object on a condition."""
        return self._conditional.put(key, data, version)

    def delete_if(self, key: str, version: str) -> bool:
        """Remove an object on a condition."""
        return self._conditional.delete(key, version)

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects, 1,000 by one request."""
        self._deleting.delete(keys)

    def upload(self, key: str) -> S3Upload:
        """Begin a multipart upload."""
        return S3Upload(self._connection, key)

    def abort_uploads(self, prefix: str, run_ids: Collection[str]) -> None:
        """Abort the uploads of runs; where that is not allowed, one warning says what does it instead."""
        follow = {"KeyMarker": "NextKeyMarker", "UploadIdMarker": "NextUploadIdMarker"}
        try:
            for page in self._pages("list_multipart_uploads", prefix, follow):
                for found in page.get("Uploads", []):
                    name = found["Key"].rpartition("/")[2]
                    if any(run_id in name for run_id in run_ids):
                        S3Upload(self._connection, found["Key"], found["UploadId"]).abort()
        except DestinationError as exc:
            if code_of(exc.__cause__) not in _MAY_NOT | _UNKNOWN:
                raise
            self._warn(
                f"what broken runs leave unfinished in {self.uri} cannot be listed or aborted: grant"
                " s3:ListBucketMultipartUploads and s3:AbortMultipartUpload, or give the bucket a lifecycle"
                " rule with AbortIncompleteMultipartUpload"
            )

    def close(self) -> None:
        """Let go of connections."""
        self._connection.close()

    def _pages(self, operation: str, prefix: str, follow: dict[str, str]) -> Iterator[Any]:
        """Ask for page after page; what each tells of the next one is handed on under another name."""
        more: dict[str, str] = {}

        def fetch(_: int) -> Any:
            page = self._connection.ask(operation, "list", prefix, Prefix=prefix, **more)
            if self._connection.told(page, "IsTruncated", "list", prefix):
                self._connection.told(page, next(iter(follow.values())), "list", prefix)
            return page

        while True:
            page = self._run(fetch)
            yield page
            if not page["IsTruncated"]:
                return
            before, more = more, {argument: page[name] for argument, name in follow.items() if name in page}
            if more == before:  # it would go on for ever
                raise self._connection.translator.garbled("list", prefix)

    def _stands(self, key: str, size_bytes: int, digest: bytes) -> bool:
        """Tell whether the very bytes surely stand under a key."""
        found = None
        with suppress(DestinationError):  # what is wrong is told best by the request that matters
            found = self._connection.head(key)
        if found is None or found.get("ContentLength") != size_bytes:
            return False
        etag = found.get("ETag", "").strip('"')
        return is_digest(found, etag) and etag == digest.hex()

    def _warn(self, text: str) -> None:
        with self._lock:
            if text not in self.warnings:
                self.warnings.append(text)
