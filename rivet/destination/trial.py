"""Tries whether a destination can be written to, as a run would write, and leaves nothing behind."""

from __future__ import annotations

from contextlib import suppress

from rivet.destination.protocol import Destination
from rivet.errors import DestinationError, ObjectNotFound

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
        is_listed = _is_listed(destination, name)
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
    if not is_listed:
        raise _unlisted(destination, name)


def must_be_listed(destination: Destination, name: str) -> None:
    """Raise where an object stands under a name that the listing does not show.

    Some stores make another key of one that they do not like, and list that: what a run writes into such a
    prefix is seen by nobody, nor by the next run.

    Raises:
        DestinationError: It can be read, and is not listed.
    """
    if _is_listed(destination, name):
        return
    with suppress(ObjectNotFound):
        destination.inspect(name, 1)
        raise _unlisted(destination, name)


def _is_listed(destination: Destination, name: str) -> bool:
    return any(listed.name == name for listed in destination.list(name))


def _unlisted(destination: Destination, name: str) -> DestinationError:
    return DestinationError(
        f"{destination.uri}{name} can be read, and is not listed",
        hint="write the prefix without backslashes and their like, of which the store makes something else;"
        " if it has none, look why the store's listings leave objects out",
    )
