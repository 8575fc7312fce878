"""Has S3 copy an object, without its bytes passing here."""

from __future__ import annotations

from contextlib import suppress

from rivet.destination.s3.connection import S3Connection
from rivet.errors import DestinationError, IntegrityError

# https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html: more goes in parts, as the SDK does it.
_MOST_BYTES = 5 * 1024**3


def copy(connection: S3Connection, key: str, to: str, size_bytes: int) -> None:
    """Copy an object of that size; where the outcome is unknown, look whether the copy stands.

    Raises:
        ObjectNotFound: There is no such object.
        IntegrityError: The copy is of another size.
    """
    source = {"Bucket": connection.bucket, "Key": key}

    def work(tries: int) -> None:
        with suppress(DestinationError):  # what is wrong is told best by the request that matters
            if tries and _size(connection, to) == size_bytes:
                return
        if size_bytes > _MOST_BYTES:
            connection.request("copy", "write", to, CopySource=source, ExtraArgs=connection.written_with)
        else:
            connection.request("copy_object", "write", to, CopySource=source, **connection.written_with)
        found = _size(connection, to)
        if found != size_bytes:
            text = f"the copy of {size_bytes} bytes has {found}"
            raise connection.translator.error(IntegrityError, "write", to, text)

    connection.retrying.run(work)


def _size(connection: S3Connection, key: str) -> int | None:
    found = connection.head(key)
    return None if found is None else int(connection.told(found, "ContentLength", "look at", key))
