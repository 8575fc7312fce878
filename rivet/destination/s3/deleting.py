"""Deletes many keys: in batches, and one by one what a batch cannot name or a store has no batches for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from botocore.exceptions import ClientError

from rivet.destination.s3.connection import S3Connection
from rivet.destination.s3.errors import code_of
from rivet.errors import DestinationError, ObjectNotFound

# https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
_BATCH_KEYS = 1_000
# XML 1.0 has no way to write these.
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_NO_BATCHES = frozenset({"NotImplemented", "MethodNotAllowed", "405", "501"})
_THREADS = 8


class Deleting:
    """Deletes from one bucket, and remembers whether it takes batches."""

    def __init__(self, connection: S3Connection) -> None:
        self._connection = connection
        self._has_batches = True

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects; missing ones are no error."""
        singly = [key for key in keys if _NOT_IN_XML.search(key)]
        together = [key for key in keys if not _NOT_IN_XML.search(key)]
        for start in range(0, len(together), _BATCH_KEYS):
            singly += self._left_over(together[start : start + _BATCH_KEYS])
        if singly:
            with ThreadPoolExecutor(min(_THREADS, len(singly)), "rivet-delete") as pool:
                list(pool.map(self._delete_one, singly))

    def _left_over(self, keys: list[str]) -> list[str]:
        """Delete a batch, and give what the store has not answered for: all where it knows no batches."""
        if not self._has_batches or len(keys) == 1:
            return keys
        try:
            gone = self._delete_batch(keys)
        except DestinationError as exc:
            if code_of(exc.__cause__) not in _NO_BATCHES:
                raise
            self._has_batches = False
            return keys
        return [key for key in keys if key not in gone]

    def _delete_batch(self, keys: list[str]) -> set[str]:
        """Delete a batch, and give what the store says is gone, which of a gateway may be nothing."""
        left, gone = keys, set[str]()

        def delete(_: int) -> None:
            nonlocal left
            objects = {"Objects": [{"Key": key} for key in left]}
            answer = self._connection.ask("delete_objects", "delete", left[0], Delete=objects)
            errors = [error for error in answer.get("Errors", []) if error.get("Code") != "NoSuchKey"]
            gone.update(deleted.get("Key", "") for deleted in answer.get("Deleted", []))
            if errors:
                named = [error["Key"] for error in errors if "Key" in error]
                left = named if len(named) == len(errors) else left  # some gateways name no key
                with self._connection.translator.translated("delete", left[0]):
                    raise ClientError({"Error": errors[0]}, "DeleteObjects")

        self._connection.retrying.run(delete)
        return gone

    def _delete_one(self, key: str) -> None:
        with suppress(ObjectNotFound):
            self._connection.retrying.run(lambda _: self._connection.request("delete_object", "delete", key))
