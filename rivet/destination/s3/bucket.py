"""The requests on a bucket of S3."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from typing import Any

from rivet.config.settings import S3DestinationSettings
from rivet.destination.protocol import Listed
from rivet.destination.s3.client import content_md5, make_client, md5
from rivet.destination.s3.deleting import Deleting
from rivet.destination.s3.errors import Translator, code_of
from rivet.destination.s3.upload import S3Upload
from rivet.destination.store.bucket import Tail
from rivet.destination.store.retrying import Patience, Retrying
from rivet.errors import DestinationError, IntegrityError, ObjectNotFound

_KIND = "md5:"
_MD5_ETAG = re.compile("[0-9a-f]{32}")


class S3Bucket:
    """A bucket; used by many threads at once.

    Attributes:
        written_with: What the settings say of every object, as the SDK's arguments.
    """

    kind = "s3"

    def __init__(self, settings: S3DestinationSettings, patience: Patience) -> None:
        self.uri = f"s3://{settings.bucket}/"
        self.retrying = Retrying(patience)
        self.warnings: list[str] = []
        self.written_with = _arguments(settings)
        self._name = settings.bucket
        self._settings = settings
        self._patience = patience
        # With a key of KMS the ETag is no digest of what was sent.
        self._has_digests = not (settings.server_side_encryption or "").startswith("aws:kms")
        self._deleting = Deleting(self)
        self._lock = threading.Lock()
        self._made: Any = None
        secrets = (settings.access_key, settings.secret_key, settings.session_token)
        shown = tuple(secret.reveal() for secret in secrets if secret is not None and secret.value)
        self._translator = Translator(self.uri, self._endpoint, shown)
        self.translated = self._translator.translated
        self.error = self._translator.error
        self.garbled = self._translator.garbled

    def get(self, key: str) -> bytes:
        """Give a whole object."""
        return self.retrying.run(lambda _: self._body(key)[0])

    def tail(self, key: str, size_bytes: int) -> Tail:
        """Give the end of an object, by one request."""

        def fetch(_: bool) -> Tail:  # noqa: FBT001
            try:
                data, answer = self._body(key, Range=f"bytes=-{size_bytes}")
            except DestinationError as exc:
                if code_of(exc.__cause__) not in {"InvalidRange", "416"}:  # an empty object has no end
                    raise
                return Tail(b"", 0, "")
            whole = answer.get("ContentRange", "").rpartition("/")[2]
            version = self.told(answer, "ETag", "read", key)
            return Tail(data, int(whole) if whole.isdecimal() else len(data), version)

        return self.retrying.run(fetch)

    def range(self, key: str, start: int, end: int, version: str) -> bytes:
        """Give bytes of one version."""

        def fetch(_: bool) -> bytes:  # noqa: FBT001
            data, _answer = self._body(key, Range=f"bytes={start}-{end - 1}", IfMatch=version)
            if len(data) != end - start:
                text = f"{len(data)} bytes came instead of {end - start}"
                raise self.error(IntegrityError, "read", key, text)
            return data

        return self.retrying.run(fetch)

    def list(self, prefix: str) -> Iterator[Listed]:
        """List keys, a page of at most 1,000 at a time."""
        token: dict[str, str] = {}
        while True:
            page = self._page("list_objects_v2", prefix, token)
            for found in page.get("Contents", []):
                yield Listed(found["Key"], found["Size"], self.etag_checksum(found.get("ETag", "")))
            if not page.get("IsTruncated"):
                return
            token = {"ContinuationToken": page["NextContinuationToken"]}

    def checksum(self, data: bytes) -> str | None:
        """Give the digest that S3 tells of an object put by one request."""
        return self.etag_checksum(md5(data).hex()) if self._has_digests else None

    def put(self, key: str, data: bytes, checksum: str | None = None) -> None:
        """Write an object by one request; where the outcome is unknown, look whether it stands."""
        digest = md5(data) if checksum is None else bytes.fromhex(checksum.removeprefix(_KIND))

        def put(again: bool) -> None:  # noqa: FBT001 - what `run` gives
            if again and self._stands(key, len(data), digest):
                return
            more = {"Body": data, "ContentMD5": content_md5(digest), **self.written_with}
            self.compare(self.request("put_object", "write", key, **more), digest, key)

        self.retrying.run(put)

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects, 1,000 by one request."""
        self._deleting.delete(keys)

    def upload(self, key: str) -> S3Upload:
        """Begin a multipart upload."""
        return S3Upload(self, key)

    def abort_uploads(self, prefix: str, run_ids: Collection[str]) -> None:
        """Abort the uploads of runs; where that is not allowed, one warning says what does it instead."""
        markers: dict[str, str] = {}
        try:
            while True:
                page = self._page("list_multipart_uploads", prefix, markers)
                for found in page.get("Uploads", []):
                    name = found["Key"].rpartition("/")[2]
                    if any(run_id in name for run_id in run_ids):
                        self.abort(found["Key"], found["UploadId"])
                if not page.get("IsTruncated"):
                    return
                markers = {
                    "KeyMarker": page["NextKeyMarker"],
                    "UploadIdMarker": page.get("NextUploadIdMarker", ""),
                }
        except DestinationError as exc:
            if code_of(exc.__cause__) not in {"AccessDenied", "NotImplemented", "MethodNotAllowed"}:
                raise
        self._warn(
            f"what broken runs leave unfinished in {self.uri} cannot be listed or aborted: grant"
            " s3:ListBucketMultipartUploads and s3:AbortMultipartUpload, or give the bucket a lifecycle rule"
            " with AbortIncompleteMultipartUpload"
        )

    def close(self) -> None:
        """Let go of connections."""
        self.retrying.stop()
        with self._lock:
            if self._made is not None:
                self._made.close()
                self._made = None

    def ask(self, operation: str, action: str, key: str, **arguments: Any) -> Any:
        """Make one request of the bucket and give the answer.

        Args:
            action: With the key, what is being done, for messages.
        """
        with self.translated(action, key):
            return getattr(self._client(), operation)(Bucket=self._name, **arguments)

    def request(self, operation: str, action: str, key: str, **arguments: Any) -> Any:
        """Make one request about a key and give the answer."""
        return self.ask(operation, action, key, Key=key, **arguments)

    def head(self, key: str) -> Any | None:
        """Tell of an object without its bytes; None where there is none."""
        with suppress(ObjectNotFound):
            return self.request("head_object", "look at", key)
        return None

    def compare(self, answer: Any, digest: bytes, key: str) -> None:
        """See to it that what the store has taken is what was sent, where its answer tells.

        Raises:
            IntegrityError: It is not.
        """
        etag = self.told(answer, "ETag", "write", key).strip('"')
        if self._is_digest(answer, etag) and etag != digest.hex():
            text = f"the store has taken bytes with MD5 {etag!r}, and {digest.hex()!r} was sent"
            raise self.error(IntegrityError, "write", key, text)

    def told(self, answer: Any, name: str, action: str, key: str) -> Any:
        """Give what every answer of its kind has, and what passes for one with status 200 has not."""
        if name not in answer:
            raise self.garbled(action, key)
        return answer[name]

    def abort(self, key: str, upload_id: str) -> None:
        """Drop a multipart upload; one that is gone is no error."""
        with suppress(ObjectNotFound):
            self.retrying.run(
                lambda _: self.request("abort_multipart_upload", "abort", key, UploadId=upload_id)
            )

    def etag_checksum(self, etag: str) -> str | None:
        """Give the checksum that an ETag is; that of several parts holds those of the parts."""
        return _KIND + etag.strip('"') if etag and self._has_digests else None

    def _client(self) -> Any:
        with self._lock:
            if self._made is None:
                self._made = make_client(self._settings, self._patience)
            return self._made

    def _endpoint(self) -> str:
        if self._made is not None:
            return str(self._made.meta.endpoint_url)
        return self._settings.endpoint_url or "AWS"

    def _page(self, operation: str, prefix: str, more: dict[str, str]) -> Any:
        def fetch(_: bool) -> Any:  # noqa: FBT001
            page = self.ask(operation, "list", prefix, Prefix=prefix, **more)
            self.told(page, "IsTruncated", "list", prefix)
            return page

        return self.retrying.run(fetch)

    def _body(self, key: str, **arguments: Any) -> tuple[bytes, Any]:
        answer = self.request("get_object", "read", key, **arguments)
        with self.translated("read", key), closing(answer["Body"]) as body:
            return body.read(), answer

    def _stands(self, key: str, size_bytes: int, digest: bytes) -> bool:
        """Tell whether the very bytes surely stand under a key."""
        with suppress(DestinationError):  # what is wrong is told best by the request that matters
            return self._are_there(key, size_bytes, digest)
        return False

    def _are_there(self, key: str, size_bytes: int, digest: bytes) -> bool:
        found = self.head(key)
        if found is None or found["ContentLength"] != size_bytes:
            return False
        etag = found.get("ETag", "").strip('"')
        return self._is_digest(found, etag) and etag == digest.hex()

    def _is_digest(self, answer: Any, etag: str) -> bool:
        """Tell whether an ETag is the MD5 of the bytes, which it is not with a key of KMS."""
        return "kms" not in answer.get("ServerSideEncryption", "") and bool(_MD5_ETAG.fullmatch(etag))

    def _warn(self, text: str) -> None:
        with self._lock:
            if text not in self.warnings:
                self.warnings.append(text)


def _arguments(settings: S3DestinationSettings) -> dict[str, str]:
    stated = {
        "StorageClass": settings.storage_class,
        "ServerSideEncryption": settings.server_side_encryption,
        "SSEKMSKeyId": settings.kms_key_id,
        "ACL": settings.acl,
    }
    return {name: value for name, value in stated.items() if value is not None}
