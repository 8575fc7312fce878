"""A prefix of a bucket of S3 as a destination."""

from __future__ import annotations

from rivet.config.settings import S3DestinationSettings
from rivet.destination.s3.bucket import S3Bucket
from rivet.destination.store.destination import StoreDestination
from rivet.destination.store.retrying import PATIENCE, Patience


class S3Destination(StoreDestination):
    """Objects below a prefix; nothing is asked of the store before it is used."""

    def __init__(self, settings: S3DestinationSettings, patience: Patience = PATIENCE) -> None:
        super().__init__(S3Bucket(settings, patience), settings.prefix)
