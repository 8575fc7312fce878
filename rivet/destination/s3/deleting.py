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
            batch = together[start : start + _BATCH_KEYS]
            if not self._is_taken(batch):
                singly += batch
        if singly:
            with ThreadPoolExecutor(min(_THREADS, len(singly)), "rivet-delete") as pool:
                list(pool.map(self._delete_one, singly))

    def _is_taken(self, keys: list[str]) -> bool:
        """Delete a batch, and tell whether the store knows what that is."""
        if not self._has_batches or len(keys) == 1:
            return False
        try:
            self._delete_batch(keys)
        except DestinationError as exc:
            if code_of(exc.__cause__) not in _NO_BATCHES:
                raise
            self._has_batches = False
        return self._has_batches

    def _delete_batch(self, keys: list[str]) -> None:
        left = keys

        def delete(_: bool) -> None:  # noqa: FBT001 - what `run` gives
            nonlocal left
            objects = {"Objects": [{"Key": key} for key in left], "Quiet": True}
            answer = self._connection.ask("delete_objects", "delete", left[0], Delete=objects)
            errors = [error for error in answer.get("Errors", []) if error.get("Code") != "NoSuchKey"]
            if errors:
                named = [error["Key"] for error in errors if "Key" in error]
                left = named if len(named) == len(errors) else left  # some gateways name no key
                with self._connection.translator.translated("delete", left[0]):
                    raise ClientError({"Error": errors[0]}, "DeleteObjects")

        self._connection.retrying.run(delete)

    def _delete_one(self, key: str) -> None:
        with suppress(ObjectNotFound):
            self._connection.retrying.run(lambda _: self._connection.request("delete_object", "delete", key))
