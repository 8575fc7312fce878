"""Tries requests again that failed in a way that may pass, ever more slowly, up to a deadline."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from rivet.errors import DestinationUnavailable, IntegrityError

Result = TypeVar("Result")

# An answer has more time for each byte that has come, so that a slow line is no silence. That of 16 answers
# of 8 MiB side by side may bring 64 KiB a second then; and one that trickles has an end, whatever its size.
LEAST_BYTES_PER_SECOND = 4 * 1024


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a store.

    Attributes:
        connect_timeout_seconds: For a connection to stand.
        read_timeout_seconds: Between two pieces of an answer.
        attempts: Of one request, the first included.
        first_attempts: Likewise, for as long as nothing has succeeded: more likely a setting is wrong.
        first_pause_seconds: The longest before the second attempt; it doubles with each, and a random
            share is taken off.
        longest_pause_seconds: Between two attempts.
        deadline_seconds: After the first attempt began, no other begins; and for one answer, to which each
            byte of it adds what `LEAST_BYTES_PER_SECOND` says.
        hurry_seconds: For what is under way, and what tidies up, once the process is asked to stop.
    """

    connect_timeout_seconds: float = 10.0
    read_timeout_seconds: float = 60.0
    attempts: int = 8
    first_attempts: int = 4
    first_pause_seconds: float = 0.25
    longest_pause_seconds: float = 15.0
    deadline_seconds: float = 300.0
    hurry_seconds: float = 3.0


PATIENCE = Patience()


class Retrying:
    """Runs requests for as long as patience has it; used by many threads at once."""

    def __init__(self, patience: Patience, *, now: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._now = now
        self._has_succeeded = False
        self._stopped = threading.Event()

    def run(self, work: Callable[[int], Result]) -> Result:
        """Do work until it succeeds, fails for good, or patience ends, then raise its last error.

        What may pass is `DestinationUnavailable`, and bytes that arrived otherwise than they were sent.

        Args:
            work: Takes how often it was tried before, with an unknown outcome each time: then it should look
                first.
        """
        patience = self._patience
        end = self._now() + patience.deadline_seconds
        tries = 0
        while True:
            try:
                result = work(tries)
            except (DestinationUnavailable, IntegrityError):
                most = patience.attempts if self._has_succeeded else patience.first_attempts
                longest = min(patience.first_pause_seconds * 2**tries, patience.longest_pause_seconds)
                pause = longest * random.uniform(0.5, 1)  # noqa: S311 - it only keeps threads apart
                tries += 1
                if tries >= most or self._now() + pause > end or self._stopped.wait(pause):
                    raise
            else:
                self._has_succeeded = True
                return result

    def stop(self) -> None:
        """Make no further attempts."""
        self._stopped.set()
