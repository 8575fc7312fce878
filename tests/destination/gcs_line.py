"""A destination at Google Cloud Storage over a line that can be made to fail, and what is sent through it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rivet.destination.gcs.destination import GcsDestination
from rivet.destination.store.retrying import Patience
from tests.servers.faults import FaultProxy
from tests.servers.gcs import GcsBucket

PREFIX = "root #1/50%/"
SMALL_BYTES = 512 * 1024
"""From here on an object is large, so that tests need not send so much."""
LARGE = bytes(range(256)) * 5000
"""Two pieces, and what is over."""
PATIENCE = Patience(attempts=3, first_pause_seconds=0.01, longest_pause_seconds=0.02)
IMPATIENCE = replace(PATIENCE, read_timeout_seconds=0.5)
"""For requests that nobody answers; a busy machine may take longer for all others."""


def open_behind(proxy: FaultProxy, bucket: GcsBucket, patience: Patience = PATIENCE) -> GcsDestination:
    """Open a destination in a bucket whose requests all go through a proxy."""
    return GcsDestination(bucket.at(proxy.url).settings(PREFIX), patience)


def wait_for_answers(destination: Any, patience: Patience) -> None:
    """Let requests that are sent from now on be waited for as patiently as this."""
    destination._bucket._connection._patience = patience
