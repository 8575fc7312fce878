"""A large object on its way into Google Cloud Storage: a resumable upload, which only its last request ends.

https://cloud.google.com/storage/docs/performing-resumable-uploads. What of a piece has arrived already is
skipped by the server when it is sent again, so a piece whose outcome is unknown is sent again as it was. To
ask how far the upload has come is no way: a server that people test with takes that question for the end.
"""

from __future__ import annotations

import hashlib
import re
import threading
from functools import partial

from rivet.destination.gcs.connection import Answer, GcsConnection, Request
from rivet.destination.gcs.objects import delete, must_be_that, stands, told_by
from rivet.destination.gcs.refusals import NO_GOOGLE
from rivet.destination.gcs.resource import Resource, checksum_from, metadata
from rivet.destination.store.spool import Kept, Spool
from rivet.errors import DestinationUnavailable, IntegrityError

# All but the last piece of an upload are multiples of it.
_UNIT_BYTES = 256 * 1024
# PUT and POST are one here, but a PUT is sent again by the SDK's client, unasked, where a connection breaks.
_PIECE = "POST"
_DONE = frozenset({200, 201})
_MORE = 308
_GONE = frozenset({404, 410})
_CANCELLED = frozenset({200, 204, 499}) | _GONE


class GcsUpload:
    """Sends parts one after the other, whichever threads bring them."""

    def __init__(self, key: str, connection: GcsConnection, spool: Spool) -> None:
        self._key = key
        self._connection = connection
        self._spool = spool
        self._turn = threading.Condition()
        self._next_part = 1
        self._failure: BaseException | None = None
        self._session: str | None = None
        self._arrived_bytes = 0
        self._md5 = hashlib.md5(usedforsecurity=False)
        # What is over, at the end: a piece of any other size than a multiple ends the upload.
        self._rest: Kept | None = None

    @property
    def checksum(self) -> str:
        """Give what `list` will tell of the object, once every part was sent."""
        return checksum_from(self._md5.digest())

    def part(self, number: int, data: bytes) -> None:
        """Send a part when those before it have arrived."""
        with self._turn:
            self._turn.wait_for(lambda: self._failure is not None or self._next_part == number)
            if self._failure is not None:
                raise self._failure
        try:
            self._take(data)
        except BaseException as exc:
            with self._turn:
                self._failure = exc
                self._turn.notify_all()
            raise
        with self._turn:
            self._next_part += 1
            self._turn.notify_all()

    def complete(self) -> None:
        """Send what is over, which makes the object visible, and see to it that it is what was sent."""
        found = self._connection.retrying.run(self._finish)
        if found is not None:
            try:
                must_be_that(self._connection, self._key, found, self._size_bytes, self.checksum)
            except IntegrityError:
                delete(self._connection, self._key, found.generation)
                raise
        self._end()

    def abort(self) -> None:
        """Drop the upload, as the store does by itself after a week.

        A run that ends because the store is not reached does not wait again for each of its uploads.
        """
        session = self._end()
        if session is not None and self._connection.is_reached:
            self._connection.send(Request("drop", self._key, "DELETE", session), _CANCELLED)

    @property
    def _failed(self) -> str:
        return self._connection.failed("write", self._key)

    @property
    def _size_bytes(self) -> int:
        return self._arrived_bytes + (0 if self._rest is None else self._rest.size_bytes)

    def _take(self, data: bytes) -> None:
        if self._rest is not None:
            raise ValueError(f"a part of {self._key!r} but the last is no multiple of {_UNIT_BYTES} bytes")
        if self._session is None:
            self._session = self._connection.retrying.run(self._begin)
        whole = len(data) - len(data) % _UNIT_BYTES
        piece, rest = data[:whole], data[whole:]
        self._md5.update(piece)
        while piece:
            answer = self._connection.retrying.run(partial(self._send, self._session, piece))
            if answer.status in _GONE:
                raise self._is_gone()
            arrived = _arrived_bytes(answer)
            piece = piece[arrived - self._arrived_bytes :]
            self._arrived_bytes = arrived
            told = Resource.of(answer.body)  # the store's own answer is empty; others tell what they have
            if not piece and told is not None and told.checksum not in {None, self.checksum}:
                raise DestinationUnavailable(
                    f"{self._failed}: {self.checksum} was sent so far, the server has {told.checksum}",
                    hint="run again",
                )
        self._md5.update(rest)
        self._rest = self._spool.keep(rest) if rest else None

    def _begin(self, _: int) -> str:
        """Begin the upload, and give where its pieces go."""
        answer = self._connection.send(
            Request(
                "write",
                self._key,
                "POST",
                self._connection.path("/upload"),
                {"uploadType": "resumable", "name": self._key},
                {"Content-Type": "application/json; charset=UTF-8"},
                metadata(self._key),
            )
        )
        location = self._connection.path_of(answer.headers.get("Location", ""))
        if not location:
            raise DestinationUnavailable(f"{self._failed}: the answer tells of no upload", hint=NO_GOOGLE)
        return location

    def _send(self, session: str, piece: bytes, _: int) -> Answer:
        """Send a piece that does not end the upload."""
        start, end = self._arrived_bytes, self._arrived_bytes + len(piece)
        headers = {"Content-Range": f"bytes {start}-{end - 1}/*"}
        request = Request("write", self._key, _PIECE, session, headers=headers, data=piece)
        answer = self._connection.send(request, {_MORE} | _GONE)
        if answer.status == _MORE and not start < _arrived_bytes(answer) <= end:
            raise DestinationUnavailable(
                f"{self._failed}: bytes {start} to {end} were sent, {_arrived_bytes(answer)} in all arrived",
                hint="run again",
            )
        return answer

    def _finish(self, tries: int) -> Resource | None:
        """Send the last piece, and give what stands then; None where a look has shown that it is right."""
        if tries and self._stands():
            return None
        if self._session is None:
            raise ValueError(f"{self._key!r} is completed before a part of it was sent")
        rest = b"" if self._rest is None else self._spool.read(self._rest)
        size = self._size_bytes
        headers = {
            "Content-Range": f"bytes {self._arrived_bytes}-{size - 1}/{size}" if rest else f"bytes */{size}",
            "X-Goog-Hash": self.checksum.replace(":", "=", 1),
        }
        request = Request("write", self._key, _PIECE, self._session, headers=headers, data=rest)
        answer = self._connection.send(request, _DONE | {_MORE} | _GONE)
        if answer.status == _MORE:
            raise DestinationUnavailable(f"{self._failed}: it has not arrived as a whole", hint="run again")
        if answer.status in _GONE:
            if self._stands():
                return None
            raise self._is_gone()
        return told_by(self._connection, self._key, answer)

    def _stands(self) -> bool:
        """Look whether an upload whose outcome is unknown has been completed."""
        return stands(self._connection, self._key, self._size_bytes, self.checksum)

    def _is_gone(self) -> DestinationUnavailable:
        return DestinationUnavailable(
            f"{self._failed}: the server does not know the upload any more", hint="run again"
        )

    def _end(self) -> str | None:
        session, self._session = self._session, None
        rest, self._rest = self._rest, None
        if rest is not None:
            self._spool.drop(rest)
        return session


def _arrived_bytes(answer: Answer) -> int:
    """Tell how much of an upload the store has: none where it tells of no range."""
    found = re.fullmatch(r"bytes=0-(\d+)", answer.headers.get("Range", ""))
    return 0 if found is None else int(found[1]) + 1
