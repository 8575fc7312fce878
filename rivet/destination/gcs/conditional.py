"""Requests on conditions, which are on generations: https://cloud.google.com/storage/docs/request-preconditions."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from rivet.destination.gcs.connection import OK, Answer, GcsConnection, Request
from rivet.destination.gcs.objects import CONDITION_FAILED
from rivet.destination.gcs.refusals import NO_GOOGLE
from rivet.destination.protocol import Inspected
from rivet.errors import DestinationUnavailable, ObjectNotFound

NO_OBJECT = "0"
_GENERATION = "X-Goog-Generation"
_NOT_SATISFIABLE = 416


class GcsConditional:
    """Looks at objects with their generations, and removes those of one."""

    def __init__(self, connection: GcsConnection) -> None:
        self._connection = connection

    def inspect(self, key: str, limit_bytes: int | None) -> Inspected:
        """Give an object and its generation."""
        headers = {"Accept-Encoding": "identity"}
        if limit_bytes is not None:
            headers["Range"] = f"bytes=0-{limit_bytes - 1}"
        path = self._connection.path("/download", key)
        request = Request("read", key, "GET", path, {"alt": "media"}, headers, finds=True)

        def work(_: int) -> Inspected:
            answer = self._connection.send(request, {200, 206, _NOT_SATISFIABLE})
            if answer.status == _NOT_SATISFIABLE:  # an empty object has no first byte
                return Inspected(b"", str(self._told(key).get("generation", "")))
            generation = answer.headers.get(_GENERATION)
            if generation is None:
                raise self._no_object(key)
            return Inspected(answer.body[:limit_bytes], generation)

        return self._connection.retrying.run(work)

    def age_seconds(self, key: str) -> float:
        """Compare when an object was written with the date of the answer, both from the store."""

        def work(_: int) -> float:
            answer = self._ask(key)
            try:
                written = datetime.fromisoformat(json.loads(answer.body)["updated"])
                present = parsedate_to_datetime(answer.headers["Date"])
                return max(0.0, (present - written.astimezone(UTC)).total_seconds())
            except (LookupError, TypeError, ValueError) as exc:
                raise self._no_object(key) from exc

        return self._connection.retrying.run(work)

    def delete(self, key: str, version: str) -> bool:
        """Remove an object of a generation, looked at first: not all servers take the condition."""
        params = {"ifGenerationMatch": version}
        request = Request("delete", key, "DELETE", self._connection.path("", key), params)

        def work(tries: int) -> bool:
            found = None
            with suppress(ObjectNotFound):
                found = self._told(key).get("generation")
            if found != version:
                return tries > 0 and found is None
            # 404 is for a request that the SDK's client has sent twice, unasked.
            return self._connection.send(request, OK | {404, CONDITION_FAILED}).status != CONDITION_FAILED

        return self._connection.retrying.run(work)

    def _told(self, key: str) -> dict[str, object]:
        try:
            told = json.loads(self._ask(key).body)
        except ValueError as exc:
            raise self._no_object(key) from exc
        if not isinstance(told, dict) or "generation" not in told:
            raise self._no_object(key)
        return told

    def _ask(self, key: str) -> Answer:
        params = {"fields": "generation,updated"}
        return self._connection.send(
            Request("look at", key, "GET", self._connection.path("", key), params, finds=True)
        )

    def _no_object(self, key: str) -> DestinationUnavailable:
        return DestinationUnavailable(
            f"{self._connection.failed('read', key)}: the answer tells of no object", hint=NO_GOOGLE
        )
