"""Writes and removes markers so that a request that arrives too late changes nothing of another run's."""

from __future__ import annotations

from contextlib import suppress

from rivet.destination.protocol import Destination
from rivet.errors import NoConditionalWrites, ObjectNotFound


def version_of(destination: Destination, name: str) -> str | None:
    """Give the version of an object, or None where there is none."""
    with suppress(ObjectNotFound):
        return destination.inspect(name, 1).version
    return None


def set_marker(destination: Destination, marker: str, data: bytes | None, seen: str | None) -> bool:
    """Write a marker, or remove it, where it is as it was seen, and tell whether it was.

    On a disk it is not looked at again: the moment between look and change is no longer for that.

    Args:
        data: None to remove it.
        seen: Its version; None where there was none.
    """
    if destination.concurrency > 1:
        with suppress(NoConditionalWrites):
            if data is None:
                return seen is None or destination.remove(marker, seen)
            if seen is None:
                return destination.create(marker, data) is not None
            return destination.replace(marker, data, seen) is not None
    if data is None:
        destination.delete([marker])
    else:
        destination.put(marker, data)
    return True
