"""The sockets of a client: requests under way can be cut from another thread, and end by themselves."""

from __future__ import annotations

import socket
import threading
import weakref
from contextlib import suppress
from typing import Any

from rivet.destination.s3.bounded import bounded_answer


class Sockets:
    """Learns of each connection that a client makes.

    Args:
        answer_seconds: In which an answer must have arrived as a whole once it is waited for.
    """

    def __init__(self, answer_seconds: float) -> None:
        self._answer = bounded_answer(answer_seconds)
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[socket.socket] = weakref.WeakSet()

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
            pools[scheme] = type(pool.__name__, (pool,), {"ConnectionCls": self._watched(pool.ConnectionCls)})

    def cut(self) -> None:
        """Cut all connections: who waits for an answer has none."""
        with self._lock:
            sockets = list(self._open)
        for one in sockets:
            with suppress(OSError):  # it is closed
                # That of TLS would first forget its state, under the hands of the thread that uses it.
                socket.socket.shutdown(one, socket.SHUT_RDWR)

    def _watched(self, connection: Any) -> Any:
        def connect(this: Any) -> None:
            connection.connect(this)
            with self._lock:
                self._open.add(this.sock)

        changes = {"connect": connect, "response_class": self._answer}
        return type(connection.__name__, (connection,), changes)
