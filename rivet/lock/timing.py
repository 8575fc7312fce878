"""How often a lock is renewed, and when it is nobody's any more."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """The intervals of a lock, which all runs on one tree must agree on.

    Attributes:
        heartbeat_seconds: Between two renewals by the holder.
        stale_seconds: Without a renewal for longer, by the store's clock, a lock may be taken over.
        poll_seconds: Between two looks of a run that waits, on average.
    """

    heartbeat_seconds: float = 15.0
    stale_seconds: float = 90.0
    poll_seconds: float = 5.0


TIMING = Timing()
