"""Opens the destination that a config names; nothing is touched before it is used."""

from __future__ import annotations

from rivet.config.settings import DestinationSettings
from rivet.destination.local import LocalDestination
from rivet.destination.protocol import Destination


def open_destination(settings: DestinationSettings) -> Destination:
    """Open a destination."""
    return LocalDestination(settings.root)
