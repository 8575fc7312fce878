"""A multipart upload: parts that are no object until it is completed."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

from rivet.destination.s3.client import content_md5, md5
from rivet.destination.s3.connection import S3Connection
from rivet.errors import DestinationError, DestinationUnavailable, ObjectNotFound


class S3Upload:
    """One upload to a key, begun with its first part.

    Args:
        upload_id: Of one that another run has begun.
    """

    def __init__(self, connection: S3Connection, key: str, upload_id: str | None = None) -> None:
        self._connection = connection
        self._key = key
        self._id = upload_id
        self._parts: dict[int, tuple[str, bytes]] = {}
        self._size_bytes = 0
        self._lock = threading.Lock()

    @property
    def checksum(self) -> str | None:
        """Give the checksum that S3 makes of those of all parts."""
        return self._connection.checksum(self._etag())

    def part(self, number: int, data: bytes) -> None:
        """Send a part."""
        upload_id, digest = self._begun(), md5(data)

        def send(_: int) -> str:  # a part is replaced by itself
            answer = self._connection.request(
                "upload_part",
                "write",
                self._key,
                UploadId=upload_id,
                PartNumber=number,
                Body=data,
                ContentMD5=content_md5(digest),
            )
            self._connection.compare(answer, digest, self._key)
            return str(answer["ETag"])

        etag = self._connection.retrying.run(send)
        with self._lock:
            self._parts[number] = (etag, digest)
            self._size_bytes += len(data)

    def complete(self) -> None:
        """Make the object of its parts; where the outcome is unknown, look whether it stands."""
        parts = [{"PartNumber": number, "ETag": self._parts[number][0]} for number in sorted(self._parts)]

        def complete(tries: int) -> None:
            with suppress(DestinationError):  # what is wrong is told best by the request that matters
                if tries and self._stands():
                    return
            try:
                answer = self._connection.request(
                    "complete_multipart_upload",
                    "write",
                    self._key,
                    UploadId=self._id,
                    MultipartUpload={"Parts": parts},
                )
            except ObjectNotFound:
                if self._stands():
                    return
                raise
            if answer.get("ETag", "").strip('"') != self._etag() and not self._stands():
                raise self._connection.translator.error(
                    DestinationUnavailable, "write", self._key, "it is not there whole"
                )

        self._connection.retrying.run(complete)

    def abort(self) -> None:
        """Drop the parts; where they are gone that is no error."""
        if self._id is None:
            return
        with suppress(ObjectNotFound):
            self._connection.retrying.run(
                lambda _: self._connection.request(
                    "abort_multipart_upload", "abort", self._key, UploadId=self._id
                )
            )

    def _begun(self) -> str:
        """Begin the upload with whichever part comes first.

        Where the answer to that is lost, an upload is left that the next sweep of the run aborts.
        """
        with self._lock:
            if self._id is None:
                self._id = self._connection.retrying.run(self._begin)
            return self._id

    def _begin(self, _: int) -> str:
        answer = self._connection.request(
            "create_multipart_upload", "write", self._key, **self._connection.written_with
        )
        return str(self._connection.told(answer, "UploadId", "write", self._key))

    def _stands(self) -> bool:
        """Tell whether the whole object is there: no other run has its key, so that its size tells much.

        Its ETag tells the rest, where those of the parts were digests and it is spelt as S3 does.
        """
        found: dict[str, Any] | None = self._connection.head(self._key)
        if found is None or found.get("ContentLength") != self._size_bytes:
            return False
        etag = found.get("ETag", "").strip('"')
        are_digests = all(told.strip('"') == digest.hex() for told, digest in self._parts.values())
        return etag == self._etag() or not are_digests or not etag.endswith(f"-{len(self._parts)}")

    def _etag(self) -> str:
        digests = b"".join(self._parts[number][1] for number in sorted(self._parts))
        return f"{md5(digests).hex()}-{len(self._parts)}"
