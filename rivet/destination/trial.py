"""Tries whether a destination can be written to, as a run would write, and leaves nothing behind."""

from __future__ import annotations

from contextlib import suppress

from rivet.destination.protocol import Destination
from rivet.errors import DestinationError

_DATA = b"written by `rivet check --write`, which removes it again\n"


def try_writing(destination: Destination, run_id: str) -> None:
    """Write a small object below the root, read it back, find it in the listing and remove it.

    Raises:
        DestinationError: One of these was refused or failed.
    """
    name = f"_rivet_check_{run_id}"  # readers skip what begins with _
    try:
        destination.put(name, _DATA)
        data = destination.read(name)
        listed = next(destination.list(name), None)
        destination.delete([name])
    except BaseException:
        with suppress(DestinationError):
            destination.delete([name])
        raise
    finally:
        destination.remove_root_if_empty()
    if data != _DATA:
        raise DestinationError(
            f"{destination.uri}{name} does not read back as it was written",
            hint="look at what stands between here and the destination, such as a proxy or a gateway",
        )
    if listed is None:
        raise DestinationError(
            f"{destination.uri}{name} can be read, and is not listed",
            hint="the store takes the prefix for another: write it without backslashes and their like",
        )
