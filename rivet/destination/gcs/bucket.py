"""The requests that Google Cloud Storage takes for a bucket."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from rivet.destination.gcs.conditional import NO_OBJECT, GcsConditional
from rivet.destination.gcs.connection import Answer, GcsConnection, Request
from rivet.destination.gcs.copying import copy
from rivet.destination.gcs.objects import delete, put
from rivet.destination.gcs.refusals import NO_GOOGLE
from rivet.destination.gcs.resource import checksum_of, checksum_told
from rivet.destination.gcs.upload import GcsUpload
from rivet.destination.protocol import Inspected, Listed
from rivet.destination.store.bucket import Tail
from rivet.destination.store.pool import finish_all
from rivet.destination.store.spool import Spool
from rivet.errors import DestinationUnavailable, IntegrityError

_DELETING_THREADS = 16
_GENERATION = "X-Goog-Generation"
_WHOLE, _PART, _NOT_SATISFIABLE = 200, 206, 416


class GcsBucket:
    """Requests on whole keys, each tried again and its errors translated."""

    kind = "gcs"
    warnings = ()

    def __init__(self, connection: GcsConnection) -> None:
        self._connection = connection
        self._conditional = GcsConditional(connection)
        self._spool = Spool(memory_bytes=0)  # the memory for what waits is that of small objects
        self._deleting = ThreadPoolExecutor(_DELETING_THREADS, "rivet-delete")

    @property
    def uri(self) -> str:
        """Give the bucket for people."""
        return f"gs://{self._connection.bucket}/"

    def get(self, key: str) -> bytes:
        """Give a whole object."""

        def work(_: int) -> bytes:
            answer = self._download(key, {}, {_WHOLE})
            told = re.search(r"md5=([A-Za-z0-9+/]{22}==)", ",".join(answer.headers.getall("X-Goog-Hash", [])))
            if told is not None and checksum_told(told[1]) != checksum_of(answer.body):
                raise IntegrityError(
                    f"{self._connection.failed('read', key)}: it has {checksum_told(told[1])}, "
                    f"{len(answer.body)} bytes of {checksum_of(answer.body)} arrived",
                    hint="run again",
                )
            return answer.body

        return self._connection.retrying.run(work)

    def tail(self, key: str, size_bytes: int) -> Tail:
        """Give the last bytes of an object."""

        def work(_: int) -> Tail:
            headers = {"Range": f"bytes=-{size_bytes}"}
            answer = self._download(key, headers, {_WHOLE, _PART, _NOT_SATISFIABLE})
            version: str = answer.headers.get(_GENERATION, "")
            if answer.status == _NOT_SATISFIABLE:  # only of nothing there is no end
                return Tail(b"", 0, version)
            found = re.search(r"/(\d+)$", answer.headers.get("Content-Range", ""))
            size = len(answer.body) if answer.status == _WHOLE or found is None else int(found[1])
            self._must_hold(key, answer, size if answer.status == _WHOLE else min(size, size_bytes))
            return Tail(answer.body[-size_bytes:], size, version)

        return self._connection.retrying.run(work)

    def range(self, key: str, start: int, end: int, version: str) -> bytes:
        """Give bytes of one generation."""

        def work(_: int) -> bytes:
            answer = self._download(key, {"Range": f"bytes={start}-{end - 1}"}, {_PART}, version)
            self._must_hold(key, answer, end - start)
            return answer.body

        return self._connection.retrying.run(work)

    def list(self, prefix: str) -> Iterator[Listed]:
        """List the keys that begin with prefix, page by page."""
        token: str | None = ""
        while token is not None:
            before = token
            page, token = self._connection.retrying.run(partial(self._page, prefix, token))
            yield from page
            if token == before:  # it would go on for ever
                raise DestinationUnavailable(
                    f"{self._connection.failed('list', prefix)}: a page names itself as the next",
                    hint=NO_GOOGLE,
                )

    def checksum(self, data: bytes) -> str:
        """Give what `list` would tell of an object that was put with these bytes."""
        return checksum_of(data)

    def put(self, key: str, data: bytes, checksum: str | None = None) -> None:
        """Write an object by one request."""
        put(self._connection, key, data, checksum or checksum_of(data))

    def copy(self, key: str, to: str, size_bytes: int) -> None:
        """Have the store copy an object."""
        copy(self._connection, key, to, size_bytes)

    @property
    def is_known(self) -> bool:
        """Tell whether this is Google."""
        return self._connection.is_google

    no_version = "1"

    def inspect(self, key: str, limit_bytes: int | None) -> Inspected:
        """Give an object and its generation."""
        return self._conditional.inspect(key, limit_bytes)

    def age_seconds(self, key: str) -> float:
        """Compare when an object was written with when the store answers."""
        return self._conditional.age_seconds(key)

    def put_if(self, key: str, data: bytes, version: str | None) -> str | None:
        """Write an object on a condition."""
        return put(self._connection, key, data, checksum_of(data), NO_OBJECT if version is None else version)

    def delete_if(self, key: str, version: str) -> bool:
        """Remove an object on a condition."""
        return self._conditional.delete(key, version)

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects, several at once: what is no Google takes no batches."""
        finish_all([self._deleting.submit(delete, self._connection, key) for key in keys])

    def upload(self, key: str) -> GcsUpload:
        """Begin a large object."""
        return GcsUpload(key, self._connection, self._spool)

    def abort_uploads(self, prefix: str, run_ids: Collection[str]) -> None:
        """Do nothing: uploads cannot be listed; what a killed run left of them is dropped after a week."""

    def close(self) -> None:
        """Let go of threads and connections."""
        self._connection.close()
        self._deleting.shutdown(cancel_futures=True)
        self._spool.close()

    def _download(
        self, key: str, headers: Mapping[str, str], expected: Collection[int], version: str | None = None
    ) -> Answer:
        params = {"alt": "media"} if version is None else {"alt": "media", "generation": version}
        headers = {**headers, "Accept-Encoding": "identity"}
        path = self._connection.path("/download", key)
        answer = self._connection.send(
            Request("read", key, "GET", path, params, headers, finds=True), expected
        )
        # Else it is an error in a 200, or a page of somebody on the way.
        if answer.status != _NOT_SATISFIABLE and _GENERATION not in answer.headers:
            raise DestinationUnavailable(
                f"{self._connection.failed('read', key)}: the answer is no object", hint=NO_GOOGLE
            )
        return answer

    def _must_hold(self, key: str, answer: Answer, size_bytes: int) -> None:
        if len(answer.body) != size_bytes:
            raise DestinationUnavailable(
                f"{self._connection.failed('read', key)}: "
                f"{len(answer.body)} bytes arrived, {size_bytes} expected",
                hint="run again",
            )

    def _page(self, prefix: str, token: str, _: int) -> tuple[Sequence[Listed], str | None]:
        """Ask for a page, and give what stands on it and where the next one begins."""
        params = {"prefix": prefix, "fields": "kind,nextPageToken,items(name,size,md5Hash,generation)"}
        if token:
            params["pageToken"] = token
        answer = self._connection.send(Request("list", prefix, "GET", self._connection.path(""), params))
        try:
            page = json.loads(answer.body)
            if page["kind"] == "storage#objects":
                return [
                    Listed(
                        item["name"],
                        int(item["size"]),
                        checksum_told(item.get("md5Hash")),
                        item.get("generation"),
                    )
                    for item in page.get("items", [])
                ], page.get("nextPageToken")
        except (ValueError, LookupError, TypeError, AttributeError):
            pass
        # An error in a 200, or another server: to take it for a listing would be to see nothing there.
        raise DestinationUnavailable(
            f"{self._connection.failed('list', prefix)}: the answer is no listing", hint=NO_GOOGLE
        )
