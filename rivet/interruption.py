"""What waits for others, and is cut short when the process is asked to stop.

The main thread learns of it by an exception, which cannot pass before the threads that it waits for have
ended. So those are told here.
"""

from __future__ import annotations

import threading
import weakref
from typing import Protocol


class Hurried(Protocol):
    """What may wait long."""

    def hurry(self) -> None:
        """Come to an end soon: begin nothing that may wait long, and cut short what does."""


# Of the process, as signals are. Whoever is gone needs no hurry.
_waiting: weakref.WeakSet[Hurried] = weakref.WeakSet()
_lock = threading.Lock()


def hurry_on_interruption(waiting: Hurried) -> None:
    """Have something told when the process is asked to stop, from a thread of its own."""
    with _lock:
        _waiting.add(waiting)


def hurry_all() -> None:
    """Tell all at once; call it on a thread that nobody waits for."""
    with _lock:
        waiting = list(_waiting)
    for one in waiting:
        threading.Thread(target=one.hurry, name="rivet-hurry", daemon=True).start()
