"""A prefix of a bucket of Google Cloud Storage as a destination."""

from __future__ import annotations

from rivet.config.settings import GcsDestinationSettings
from rivet.destination.gcs.bucket import GcsBucket
from rivet.destination.gcs.connection import GcsConnection
from rivet.destination.store.destination import StoreDestination
from rivet.destination.store.retrying import PATIENCE, Patience


class GcsDestination(StoreDestination):
    """Objects below a prefix; nothing is asked of the store before the first of them.

    Raises:
        DestinationDenied: There are no credentials where some are needed.
    """

    def __init__(self, settings: GcsDestinationSettings, patience: Patience = PATIENCE) -> None:
        super().__init__(GcsBucket(GcsConnection(settings, patience)), settings.prefix)
