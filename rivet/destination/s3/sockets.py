"""The sockets of a client: requests under way can be cut from another thread, and end by themselves."""

from __future__ import annotations

import socket
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from urllib3.exceptions import HTTPError

from rivet.destination.s3.bounded import bounded_answer

PORTS = {"http": 80, "https": 443}

Place = tuple[str, str, int | None]
"""Scheme, host and port of a server."""


def place_of(url: str) -> Place:
    """Give the server of a URL."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or PORTS.get(parts.scheme)


class Sockets:
    """Learns of each connection that a client makes.

    Args:
        answer_seconds: For an answer once it is waited for, and more where it goes on arriving.
    """

    def __init__(self, answer_seconds: float) -> None:
        self._answer = bounded_answer(answer_seconds)
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._pools: weakref.WeakValueDictionary[Place, Any] = weakref.WeakValueDictionary()

    def watch(self, client: Any) -> None:
        """Watch a client that has made no connection yet.

        The SDK has no way to cut a request, nor to be given a pool, so its own are made to tell. Those names
        are private: where a later SDK has others nothing is watched, and what is under way when the process
        is asked to stop ends by its own timeouts, which are for each piece of an answer alone.
        """
        try:
            pools = client._endpoint.http_session._pool_classes_by_scheme  # noqa: SLF001
        except AttributeError:
            return
        for scheme, pool in list(pools.items()):
            pools[scheme] = self._watched_pool(pool)

    def cut(self) -> None:
        """Cut all connections: who waits for an answer has none."""
        with self._lock:
            sockets = list(self._open)
        for one in sockets:
            with suppress(OSError):  # it is closed
                # That of TLS would first forget its state, under the hands of the thread that uses it.
                socket.socket.shutdown(one, socket.SHUT_RDWR)

    @contextmanager
    def lent(self, place: Place) -> Iterator[Any | None]:
        """Lend a connection to a server that the client has opened and does not use now, if there is one.

        Who breaks off between a request and the end of its answer closes it.
        """
        with self._lock:
            pool = self._pools.get(place)
        connection = None
        with suppress(HTTPError, AttributeError):  # the pool is closed; its names for this are private, too
            connection = None if pool is None else pool._get_conn()  # noqa: SLF001
        try:
            yield None if connection is None or connection.sock is None else connection
        finally:
            if connection is not None and pool is not None:
                pool._put_conn(connection)  # noqa: SLF001

    def _watched_pool(self, pool: Any) -> Any:
        def begin(this: Any, *args: Any, **more: Any) -> None:
            pool.__init__(this, *args, **more)
            if this.proxy is None:
                with self._lock:
                    self._pools[this.scheme, this.host, this.port] = this

        changes = {"__init__": begin, "ConnectionCls": self._watched(pool.ConnectionCls)}
        return type(pool.__name__, (pool,), changes)

    def _watched(self, connection: Any) -> Any:
        def connect(this: Any) -> None:
            connection.connect(this)
            with self._lock:
                self._open.add(this.sock)

        changes = {"connect": connect, "response_class": self._answer}
        return type(connection.__name__, (connection,), changes)
