"""A TCP proxy before a server, which cuts every connection once a number of bytes has come through."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal

_CHUNK_BYTES = 64 * 1024
_NO_LINGERING = struct.pack("ii", 1, 0)  # closing then sends RST

Cut = Literal["reset", "end"]
"""How connections are cut: by RST, as a crash or a firewall does, or by FIN, as an orderly end does."""


class Proxy:
    """Passes bytes on between clients and one server.

    Args:
        on_connect: Called for each connection, on a thread of its own, before the server hears of it.

    Attributes:
        port: Where clients connect, on 127.0.0.1.
        passed: Bytes that went from the server to all clients since `limit`.
    """

    def __init__(self, host: str, port: int, on_connect: Callable[[], None]) -> None:
        self._target = (host, port)
        self._on_connect = on_connect
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.passed = 0
        self._most: int | None = None
        self._cut: Cut = "end"
        self._has_cut = False
        self._servers: list[socket.socket] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def limit(self, most: int | None, cut: Cut = "end") -> None:
        """Count from zero again, and cut where the first byte after so many would pass; None: never.

        Connections that are open then count too; those made after the cut are cut at once.
        """
        with self._lock:
            self.passed, self._most, self._cut, self._has_cut = 0, most, cut, False

    def close(self) -> None:
        """Take no more connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._on_connect()
        with suppress(OSError), client, socket.create_connection(self._target) as server:
            with self._lock:
                self._servers.append(server)
            upward = threading.Thread(target=_pass_up, args=(client, server), daemon=True)
            upward.start()
            self._pass_down(server, client)
            if self._has_cut and self._cut == "reset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGERING)
                client.shutdown(socket.SHUT_RD)  # so that nobody waits for it any more, and closing it counts
            else:
                client.shutdown(socket.SHUT_WR)
            with self._lock:
                self._servers.remove(server)
                _shut(server)
            upward.join()

    def _pass_down(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(_CHUNK_BYTES):
                with self._lock:
                    room = len(data) if self._most is None else self._most - self.passed
                    passing = data[:room]
                    self.passed += len(passing)
                client.sendall(passing)
                if len(passing) < len(data):
                    with self._lock:
                        self._has_cut = True
                        for other in self._servers:
                            _shut(other)
                    return


def _pass_up(client: socket.socket, server: socket.socket) -> None:
    with suppress(OSError):
        while data := client.recv(_CHUNK_BYTES):
            # A client is heard to its end: closing before would reset what it has still to read.
            with suppress(OSError):
                server.sendall(data)
    _shut(server)


def _shut(server: socket.socket) -> None:
    with suppress(OSError):
        server.shutdown(socket.SHUT_RDWR)


@contextmanager
def run_proxy(host: str, port: int, on_connect: Callable[[], None] = lambda: None) -> Iterator[Proxy]:
    """Run a proxy for as long as the block lasts."""
    proxy = Proxy(host, port, on_connect)
    try:
        yield proxy
    finally:
        proxy.close()
