"""A line to a real server that breaks after a given number of bytes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from types import TracebackType
from typing import Self


class CuttingProxy:
    """Forward connections to a server; cut one of them when the server has sent so many bytes over it.

    Attributes:
        port: Where to connect, on 127.0.0.1.
        received: Bytes that the server has sent over that connection so far.
    """

    def __init__(self, host: str, port: int, budget: int, *, number: int = 0) -> None:
        """Cut the connection of that number, counted from 0, after so many bytes."""
        self._server = (host, port)
        self._budget = budget
        self._number = number
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets = [self._listener]
        self._threads: list[threading.Thread] = []
        self.port: int = self._listener.getsockname()[1]
        self.received = 0

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for end in list(self._sockets):
            _shut(end)
        for thread in list(self._threads):
            thread.join()
        for end in self._sockets:
            end.close()

    def _start(self, target: Callable[..., None], *args: socket.socket) -> None:
        thread = threading.Thread(target=target, args=args)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            for number in count():
                client, _ = self._listener.accept()
                self._sockets.append(client)
                upstream = socket.create_connection(self._server)
                self._sockets.append(upstream)
                self._start(self._cut if number == self._number else self._forward, upstream, client)
                self._start(self._forward, client, upstream)

    def _cut(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while self.received < self._budget and (data := source.recv(65536)):
                allowed = data[: self._budget - self.received]
                self.received += len(allowed)
                target.sendall(allowed)
        _shut(source)
        _shut(target)

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        _shut(source)
        _shut(target)


def _shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
