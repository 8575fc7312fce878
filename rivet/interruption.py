"""What an interruption must hurry, and what it must let finish.

The main thread learns of it by an exception, which cannot pass before the threads that it waits for have
ended. So those are told here. And the exception could come between two steps that readers must see as one.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
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


class _Postponed:
    """Of the main thread: how deep it is in what an interruption lets finish, and whether one came."""

    depth = 0
    is_asked = False


@contextmanager
def finishing() -> Iterator[None]:
    """Let what is done here come to its end before an interruption gets through, as KeyboardInterrupt.

    What is hurried meanwhile may end it by an error. Nothing here may take long.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _Postponed.depth += 1
    try:
        yield
    finally:
        _Postponed.depth -= 1
        if _Postponed.is_asked and not _Postponed.depth:
            _Postponed.is_asked = False
            raise KeyboardInterrupt


def postpone() -> bool:
    """Take an interruption of the main thread for later, and tell whether it was; it calls this itself."""
    _Postponed.is_asked = _Postponed.is_asked or _Postponed.depth > 0
    return _Postponed.depth > 0
