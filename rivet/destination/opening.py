"""Opens the destination that a config names, and looks whether a bucket is there and lets us in.

Nothing is written before the destination is used. The SDK of a store is imported only where one is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rivet.config.settings import (
    DestinationSettings,
    GcsDestinationSettings,
    LocalDestinationSettings,
    S3DestinationSettings,
)
from rivet.destination.local import LocalDestination
from rivet.destination.protocol import Destination
from rivet.errors import DestinationError


def open_destination(settings: DestinationSettings) -> Destination:
    """Open a destination, which its opener closes.

    What is wrong with a bucket and our rights in it shows here, by one listing, before anything costs more.

    Raises:
        DestinationError: The packages of this kind of store are not installed, or the store refuses or fails.
    """
    if isinstance(settings, LocalDestinationSettings):
        return LocalDestination(settings.root)
    destination = _open_store(settings)
    try:
        next(destination.list("_rivet"), None)
    except BaseException:
        destination.close()
        raise
    return destination


def _open_store(settings: S3DestinationSettings | GcsDestinationSettings) -> Destination:
    if isinstance(settings, S3DestinationSettings):
        with _needing("s3"):
            from rivet.destination.s3.destination import S3Destination
        return S3Destination(settings)
    with _needing("gcs"):
        from rivet.destination.gcs.destination import GcsDestination
    return GcsDestination(settings)


@contextmanager
def _needing(extra: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as exc:
        raise DestinationError(
            f"a destination of type {extra} needs the extra rivet-export[{extra}], which is not installed",
            hint=f"in the checkout: pip install '.[{extra}]'",
        ) from exc
