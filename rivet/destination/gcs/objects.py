"""The requests on one object that both small and large ones need: look, put, delete, each tried again."""

from __future__ import annotations

import secrets
from contextlib import suppress

from rivet.destination.gcs.connection import OK, Answer, GcsConnection, Request
from rivet.destination.gcs.refusals import NO_GOOGLE
from rivet.destination.gcs.resource import Resource, metadata
from rivet.errors import DestinationError, DestinationUnavailable, IntegrityError

CONDITION_FAILED = 412


def stands(connection: GcsConnection, key: str, size_bytes: int, checksum: str) -> bool:
    """Tell whether these very bytes surely stand under a key, asking once."""
    found = resource_of(connection, key)
    return found is not None and found.is_that(size_bytes, checksum)


def resource_of(connection: GcsConnection, key: str) -> Resource | None:
    """Tell of an object, asking once; None where there is none, or no answer that can be relied on."""
    params = {"fields": "size,md5Hash,generation"}
    request = Request("read", key, "GET", connection.path("", key), params, finds=True)
    with suppress(DestinationError):  # what is wrong is told best by the request that matters
        return Resource.of(connection.send(request).body)
    return None


def put(
    connection: GcsConnection, key: str, data: bytes, checksum: str, version: str | None = None
) -> str | None:
    """Write an object by one request, and see to it that what stands is what was sent.

    Args:
        version: The generation that must stand for it, "0" for no object; None: whatever stands.

    Returns:
        The new generation, or None where another stands than was asked for.
    """

    def written_before() -> str | None:
        found = resource_of(connection, key)
        return found.generation if found is not None and found.is_that(len(data), checksum) else None

    condition = {} if version is None else {"ifGenerationMatch": version}

    def work(tries: int) -> str | None:
        if tries and (generation := written_before()):
            return generation
        # None that rows could hold by chance or on purpose.
        boundary = secrets.token_hex(16).encode()
        body = b"".join(
            (
                b"--%b\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n" % boundary,
                metadata(key, checksum),
                b"\r\n--%b\r\nContent-Type: application/octet-stream\r\n\r\n" % boundary,
                data,
                b"\r\n--%b--\r\n" % boundary,
            )
        )
        answer = connection.send(
            Request(
                "write",
                key,
                "POST",
                connection.path("/upload"),
                {"uploadType": "multipart", **condition},
                {"Content-Type": f"multipart/related; boundary={boundary.decode()}"},
                body,
            ),
            OK if version is None else OK | {CONDITION_FAILED},
        )
        if answer.status == CONDITION_FAILED:
            return written_before() if tries else None
        found = told_by(connection, key, answer)
        must_be_that(connection, key, found, len(data), checksum)
        return found.generation

    return connection.retrying.run(work)


def delete(connection: GcsConnection, key: str, generation: str = "") -> None:
    """Remove an object, of this generation alone where one is given; a missing one is no error."""
    params = {"generation": generation} if generation else {}
    request = Request("delete", key, "DELETE", connection.path("", key), params)

    def work(_: int) -> None:
        answer = connection.send(request, OK | {404})
        if answer.status != 404 and b'"error"' in answer.body:
            raise DestinationUnavailable(
                f"{connection.failed('delete', key)}: the answer tells of an error", hint="run again"
            )

    connection.retrying.run(work)


def told_by(connection: GcsConnection, key: str, answer: Answer) -> Resource:
    """Read an answer that should tell of an object.

    Raises:
        DestinationUnavailable: It does not: what became of the request is unknown.
    """
    resource = Resource.of(answer.body)
    if resource is None:
        raise DestinationUnavailable(
            f"{connection.failed('write', key)}: the answer tells of no object",
            hint=NO_GOOGLE,
        )
    return resource


def must_be_that(
    connection: GcsConnection, key: str, found: Resource, size_bytes: int, checksum: str
) -> None:
    """Raise `IntegrityError` unless an object holds the bytes that were sent."""
    if not found.is_that(size_bytes, checksum):
        raise IntegrityError(
            f"{connection.failed('write', key)}: {size_bytes} bytes of {checksum} were sent, "
            f"{found.size_bytes} of {found.checksum} arrived",
            hint="run again",
        )
