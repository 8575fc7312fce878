"""Reads the answer to a request that was sent over a socket."""

from __future__ import annotations

import http.client
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from rivet.destination.s3.bounded import Pace, must_be_begun

if TYPE_CHECKING:
    import socket

    from _typeshed import WriteableBuffer

_READ_BYTES = 64 * 1024
# What stores send: the length is known and there is nothing before it.
_PLAIN = re.compile(rb"HTTP/1\.1 ([2-5][0-9][0-9])(?: [^\r\n]*)?\r\n((?:[!-9;-~]+:[^\r\n]*\r\n)+)\r\n")
_LENGTH = re.compile("[0-9]{1,15}")
# What they say of a length is of a body that does not come: RFC 9112, section 6.3.
_WITHOUT_BODY = frozenset({b"204", b"304"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        headers: By names in lower case.
        is_last: Whether the connection is of no more use.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_last: bool


def read_answer(sock: socket.socket, method: str, pace: Pace) -> Answer:
    """Read one answer, the only one that is under way.

    The standard library takes as long to read a header as the rest of a small request costs, so that it is
    asked only where an answer is anything but plain.

    Raises:
        OSError: The connection broke, or the answer does not keep pace.
        http.client.HTTPException: It is none.
    """
    begun = b""
    while b"\r\n\r\n" not in begun and len(begun) < _READ_BYTES:
        begun += _receive(sock, pace)
    plain = _plain(begun)
    if plain is None:
        return _any_answer(sock, begun, method, pace)
    status, headers, body = plain
    size_bytes = int(headers["content-length"])
    pieces, missing = [body], size_bytes - len(body)
    while missing > 0:
        pieces.append(_receive(sock, pace))
        missing -= len(pieces[-1])
    is_last = missing < 0 or headers.get("connection", "keep-alive").lower() != "keep-alive"
    return Answer(status, headers, b"".join(pieces)[:size_bytes], is_last)


def _plain(begun: bytes) -> tuple[int, dict[str, str], bytes] | None:
    """Take a plain answer apart: its status, its headers, and what has come of its body."""
    found = _PLAIN.match(begun)
    if found is None or found[1] in _WITHOUT_BODY:
        return None
    headers: dict[str, str] = {}
    for line in found[2].decode("latin-1").split("\r\n")[:-1]:
        name, _, value = line.partition(":")
        if headers.setdefault(name.lower(), value.strip(" \t")) != value.strip(" \t"):
            return None
    if "transfer-encoding" in headers or not _LENGTH.fullmatch(headers.get("content-length", "")):
        return None
    return int(found[1]), headers, begun[found.end() :]


def _receive(sock: socket.socket, pace: Pace) -> bytes:
    pace.keep()
    data = sock.recv(_READ_BYTES)
    if not data:
        raise http.client.RemoteDisconnected("the connection was closed before the answer had come")
    pace.took(len(data))
    return data


def _any_answer(sock: socket.socket, begun: bytes, method: str, pace: Pace) -> Answer:
    """Read an answer by the standard library, from its beginning."""
    stream = _Stream(begun, sock, pace)
    answer = http.client.HTTPResponse(cast("Any", _Begun(stream)), method=method)
    answer.begin()
    must_be_begun(answer.status, has_ended=stream.has_ended)
    if len(set(answer.headers.get_all("content-length", []))) > 1:
        raise http.client.HTTPException("two lengths of one answer")
    headers = {name.lower(): value for name, value in answer.getheaders()}
    return Answer(answer.status, headers, answer.read(), is_last=answer.will_close)


class _Begun:
    """A socket as the standard library takes one."""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    def makefile(self, _: str) -> io.BufferedReader:
        return io.BufferedReader(self._stream)


class _Stream(io.RawIOBase):
    """A socket from which some bytes were read already.

    Attributes:
        has_ended: Whether its end was seen.
    """

    def __init__(self, begun: bytes, sock: socket.socket, pace: Pace) -> None:
        super().__init__()
        self.has_ended = False
        self._begun = begun
        self._sock = sock
        self._pace = pace

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        if self._begun:
            size = min(len(view), len(self._begun))
            view[:size], self._begun = self._begun[:size], self._begun[size:]
            return size
        self._pace.keep()
        size = self._sock.recv_into(view)
        self._pace.took(size)
        self.has_ended = size == 0
        return size
