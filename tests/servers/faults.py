"""An HTTP proxy before a store, which counts requests and does to each what a test wants."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import urlsplit

_NO_LINGERING = struct.pack("ii", 1, 0)  # closing then sends RST
_OF_THE_LINE = {"connection", "keep-alive", "transfer-encoding", "content-length"}


@dataclass(frozen=True)
class Reply:
    """An answer; `is_cut` ends the connection in the middle of its body, pauses go before each byte of it."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    is_cut: bool = False
    pause_seconds: float = 0.0


Ending = Literal["reset", "hang"]
"""How a request ends without an answer: by RST, or not before the client gives up."""


class Asked:
    """A request; its body is read when it is wanted."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self._handler = handler
        self.method = handler.command
        self.path = handler.path
        self.headers = dict(handler.headers.items())

    @cached_property
    def body(self) -> bytes:
        """Give the whole body."""
        return self._handler.rfile.read(int(self.headers.get("Content-Length", 0)))

    def read_half(self) -> None:
        """Take half of the body, as a server does that goes down meanwhile."""
        self._handler.rfile.read(int(self.headers.get("Content-Length", 0)) // 2)


Forward = Callable[..., Reply]
"""Sends a request on and gives the answer: `forward()`, or with another `body` and `headers`."""
Fault = Callable[[Asked, Forward], Reply | Ending]


class FaultProxy:
    """Passes requests on, but for those that `fault` is given for.

    Attributes:
        url: Where clients send their requests.
        asked: Every request that came, in order, as method and path.
        choose: Gives the fault of a request, by its number from 0 and itself, or None.
    """

    def __init__(self, target_url: str) -> None:
        target = urlsplit(target_url)
        self._target = (target.hostname or "", target.port or 80)
        self._lock = threading.Lock()
        self.asked: list[tuple[str, str]] = []
        self.choose: Callable[[int, Asked], Fault | None] = lambda _, __: None
        self.server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": self}))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def spare(self) -> None:
        """Count from 0 again, and pass everything on."""
        with self._lock:
            self.asked.clear()
            self.choose = lambda _, __: None

    def answer(self, asked: Asked) -> Reply | Ending:
        """Give what the client shall get."""
        with self._lock:
            number = len(self.asked)
            self.asked.append((asked.method, asked.path))
            fault = self.choose(number, asked)

        def forward(body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Reply:
            return self._forward(asked, asked.body if body is None else body, headers or {})

        return forward() if fault is None else fault(asked, forward)

    def _forward(self, asked: Asked, body: bytes, headers: Mapping[str, str]) -> Reply:
        connection = HTTPConnection(*self._target, timeout=60)
        try:
            connection.putrequest(asked.method, asked.path, skip_host=True, skip_accept_encoding=True)
            for name, value in {**asked.headers, **headers}.items():
                if name.lower() not in _OF_THE_LINE:
                    connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return Reply(answer.status, answer.read(), dict(answer.getheaders()))
        finally:
            connection.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: object) -> None:
        """Let clients go without a word: that they do is what is tested."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or the body of each answer waits 40 ms for a word from the client
    proxy: FaultProxy

    def _serve(self) -> None:
        answer = self.proxy.answer(Asked(self))
        if answer == "reset":
            self._reset()
        elif answer == "hang":
            self.connection.recv(1)  # until the client closes, or sends what nobody waits for
            self._reset()
        elif isinstance(answer, Reply):
            self._send(answer)

    def _send(self, answer: Reply) -> None:
        self.send_response_only(answer.status)
        size = len(answer.body)
        for name, value in answer.headers.items():
            if name.lower() not in _OF_THE_LINE:
                self.send_header(name, value)
            elif name.lower() == "content-length" and self.command == "HEAD":
                size = int(value)
        self.send_header("Content-Length", str(size + (0 if size or not answer.is_cut else 1)))
        self.end_headers()
        body = answer.body[: size // 2] if answer.is_cut else answer.body
        if answer.pause_seconds:
            for byte in body:
                time.sleep(answer.pause_seconds)
                self.wfile.write(bytes([byte]))
        else:
            self.wfile.write(body)
        if answer.is_cut:
            self.close_connection = True

    def _reset(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGERING)
        self.connection.shutdown(socket.SHUT_RD)
        self.connection.close()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815 - as the standard library has it

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def s3_error(status: int, code: str, message: str = "it is so") -> Reply:
    """Give an error as S3 writes it."""
    text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return Reply(status, text.encode())


def unheard(reply: Reply) -> Fault:
    """Answer in the server's place."""

    def fault(asked: Asked, _: Forward) -> Reply:
        assert asked.body is not None  # a client that is not read to its end takes an answer for a cut
        return reply

    return fault


def reset(asked: Asked, _: Forward) -> Ending:
    """Cut the connection in the middle of the request."""
    asked.read_half()
    return "reset"


def hang(asked: Asked, _: Forward) -> Ending:
    """Take the request and never answer."""
    assert asked.body is not None
    return "hang"


def lost(_: Asked, forward: Forward) -> Ending:
    """Have it done, and cut the connection before the answer."""
    forward()
    return "reset"


def late(_: Asked, forward: Forward) -> Ending:
    """Have it done, and never answer."""
    forward()
    return "hang"


def cut(_: Asked, forward: Forward) -> Reply:
    """Have it done, and cut the connection in the middle of the answer."""
    return replace(forward(), is_cut=True)


@contextmanager
def run_fault_proxy(target_url: str) -> Iterator[FaultProxy]:
    """Run a proxy for as long as the block lasts."""
    proxy = FaultProxy(target_url)
    try:
        yield proxy
    finally:
        proxy.server.shutdown()
        proxy.server.server_close()
