"""Requests on conditions, which S3 tells by the ETag: https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-requests.html."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from rivet.destination.protocol import Inspected
from rivet.destination.s3.client import md5
from rivet.destination.s3.connection import S3Connection
from rivet.destination.s3.errors import code_of
from rivet.errors import DestinationError, NoConditionalWrites, ObjectNotFound

_NO_END = frozenset({"InvalidRange", "416"})
_NOT_OFFERED = frozenset({"NotImplemented", "501", "MethodNotAllowed", "405"})


class S3Conditional:
    """Looks at objects with their versions, and changes those of a version."""

    def __init__(self, connection: S3Connection) -> None:
        self._connection = connection
        self._run = connection.retrying.run

    def inspect(self, key: str, limit_bytes: int | None) -> Inspected:
        """Give an object and its ETag."""
        arguments = {} if limit_bytes is None else {"Range": f"bytes=0-{limit_bytes - 1}"}

        def fetch(_: int) -> Inspected:
            try:
                data, answer = self._connection.body(key, **arguments)
            except DestinationError as exc:
                if code_of(exc.__cause__) not in _NO_END:  # an empty object has no first byte
                    raise
                data, answer = b"", self._head(key)
            return Inspected(data[:limit_bytes], self._connection.told(answer, "ETag", "read", key))

        return self._run(fetch)

    def age_seconds(self, key: str) -> float:
        """Compare when an object was written with the date of the answer, both from the store."""

        def fetch(_: int) -> float:
            answer = self._head(key)
            written: datetime = self._connection.told(answer, "LastModified", "look at", key)
            try:
                headers = answer["ResponseMetadata"]["HTTPHeaders"]
                return max(0.0, (parsedate_to_datetime(headers["date"]) - written).total_seconds())
            except (LookupError, TypeError, ValueError) as exc:
                raise self._connection.translator.garbled("look at", key) from exc

        return self._run(fetch)

    def put(self, key: str, data: bytes, version: str | None) -> str | None:
        """Write an object; where a condition does not hold though it did, an answer was lost."""
        digest = md5(data)
        condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}

        def put(tries: int) -> str | None:
            try:
                answer = self._connection.put(key, data, digest, **condition)
            except ObjectNotFound:
                return self._written_before(key, data) if tries else None
            except DestinationError as exc:
                if code_of(exc.__cause__) not in _NOT_OFFERED:
                    raise
                raise NoConditionalWrites(str(exc), hint="the store takes no conditional writes") from exc
            return str(answer["ETag"])

        return self._run(put)

    def delete(self, key: str, version: str) -> bool:
        """Remove an object; the ETag is looked at first where a store takes no condition."""

        def delete(tries: int) -> bool:
            found = self._connection.head(key)
            if found is None or found.get("ETag") != version:
                return tries > 0 and found is None
            try:
                self._connection.request("delete_object", "delete", key, IfMatch=version)
            except ObjectNotFound:
                return False
            except DestinationError as exc:
                if code_of(exc.__cause__) not in _NOT_OFFERED:
                    raise
                self._connection.request("delete_object", "delete", key)
            return True

        return self._run(delete)

    def _head(self, key: str) -> Any:
        return self._connection.request("head_object", "look at", key)

    def _written_before(self, key: str, data: bytes) -> str | None:
        """Give the version of an object that an earlier attempt has written."""
        with suppress(ObjectNotFound):
            found, answer = self._connection.body(key)
            if found == data:
                return str(self._connection.told(answer, "ETag", "read", key))
        return None
