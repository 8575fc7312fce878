"""Has Google Cloud Storage copy an object, without its bytes passing here."""

from __future__ import annotations

import json
from urllib.parse import quote

from rivet.destination.gcs.connection import Answer, GcsConnection, Request
from rivet.destination.gcs.refusals import NO_GOOGLE
from rivet.destination.gcs.resource import Resource, metadata
from rivet.errors import DestinationUnavailable, IntegrityError


def copy(connection: GcsConnection, key: str, to: str, size_bytes: int) -> None:
    """Copy an object of that size, by as many requests as the store wants.

    Raises:
        ObjectNotFound: There is no such object.
        IntegrityError: The copy is of another size.
    """
    # https://cloud.google.com/storage/docs/json_api/v1/objects/rewrite
    path = (
        f"{connection.path('', key)}/rewriteTo/b/{quote(connection.bucket, safe='')}/o/{quote(to, safe='')}"
    )
    headers = {"Content-Type": "application/json; charset=UTF-8"}

    def step(token: str) -> Answer:
        params = {"rewriteToken": token} if token else {}
        request = Request("write", to, "POST", path, params, headers, metadata(to), finds=True)
        return connection.retrying.run(lambda _: connection.send(request))

    token = ""
    while True:
        answer = step(token)
        try:
            told = json.loads(answer.body)
            done, token = bool(told["done"]), str(told.get("rewriteToken", ""))
        except (ValueError, LookupError, TypeError, AttributeError):
            done, token, told = False, "", {}
        if not done and token:
            continue
        resource = Resource.of(json.dumps(told.get("resource")).encode()) if done else None
        if resource is None:
            raise DestinationUnavailable(
                f"{connection.failed('write', to)}: the answer tells of no copy", hint=NO_GOOGLE
            )
        if resource.size_bytes != size_bytes:
            raise IntegrityError(
                f"{connection.failed('write', to)}: the copy of {size_bytes} bytes has {resource.size_bytes}",
                hint="run again",
            )
        return
