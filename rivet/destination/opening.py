"""Opens the destination that a config names; nothing is touched before it is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rivet.config.settings import DestinationSettings, LocalDestinationSettings, S3DestinationSettings
from rivet.destination.local import LocalDestination
from rivet.destination.protocol import Destination
from rivet.errors import DestinationError


def open_destination(settings: DestinationSettings) -> Destination:
    """Open a destination, which its opener closes.

    Raises:
        DestinationError: The packages of this kind of store are not installed.
    """
    if isinstance(settings, LocalDestinationSettings):
        return LocalDestination(settings.root)
    destination: Destination
    if isinstance(settings, S3DestinationSettings):
        with _needing("s3"):
            from rivet.destination.s3.destination import (  # type: ignore[import-not-found,unused-ignore]
                S3Destination,
            )
        destination = S3Destination(settings)
    else:
        with _needing("gcs"):
            from rivet.destination.gcs.destination import (  # type: ignore[import-not-found,unused-ignore]
                GcsDestination,
            )
        destination = GcsDestination(settings)
    return destination


@contextmanager
def _needing(extra: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as exc:
        raise DestinationError(
            f"a destination of type {extra} needs the package {exc.name!r}, which is not installed",
            hint=f"pip install 'rivet-export[{extra}]'",
        ) from exc
