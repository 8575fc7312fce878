"""Prints events as lines, for logs, mail from cron, and terminals without a cursor."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

from rivet.cli import streams
from rivet.clock import Clock, utc_now
from rivet.events import Event
from rivet.report.progress import event_document, event_line

PROGRESS_SECONDS = 30.0


class LineListener:
    """Prints each event as one line; progress of an export at most every `PROGRESS_SECONDS`."""

    def __init__(
        self,
        run_id: str,
        *,
        as_json: bool,
        clock: Clock = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._as_json = as_json
        self._clock = clock
        self._monotonic = monotonic
        self._run_id = run_id
        self._told: dict[str | None, float] = {}
        self._lock = Lock()  # scans may run in several threads

    def __call__(self, event: Event) -> None:
        """Print an event, unless it is progress that comes too soon after the last line of its export."""
        with self._lock:
            if self._is_too_soon(event):
                return
            if self._as_json:
                streams.say_json(event_document(event, time=self._clock(), run_id=self._run_id))
            else:
                streams.say(event_line(event, time=self._clock(), run_id=self._run_id))

    def _is_too_soon(self, event: Event) -> bool:
        now = self._monotonic()
        if event.kind == "progress" and now - self._told.setdefault(event.export, now) < PROGRESS_SECONDS:
            return True
        self._told[event.export] = now
        return False
