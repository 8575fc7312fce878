"""Writes to the ledger in a thread of its own, so that no ledger holds up a run."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rivet.config.settings import StateSettings
from rivet.errors import RivetError
from rivet.ledger.entries import ExportEntry, RunEntry

if TYPE_CHECKING:
    from rivet.ledger.store import Ledger

WAIT_SECONDS = 3.0  # for one lock or one answer
CLOSE_SECONDS = 5.0  # in all, at the end of a run


class Keeper:
    """Takes entries at once, and writes them when it can; after the first failure it writes no more."""

    def __init__(
        self,
        state: StateSettings,
        environ: Mapping[str, str],
        *,
        source: Path | None = None,
        wait_seconds: float = WAIT_SECONDS,
        close_seconds: float = CLOSE_SECONDS,
    ) -> None:
        """Take note of where the ledger is, without looking.

        Args:
            source: The file that the run reads, which must not be the ledger.
            wait_seconds: How long one lock or one answer is waited for.
            close_seconds: How long `close` waits at most.
        """
        self._state = state
        self._environ = environ
        self._source = source
        self._wait_seconds = wait_seconds
        self._close_seconds = close_seconds
        self._tasks: queue.SimpleQueue[Callable[[Ledger], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._failure: str | None = None

    def put(self, run: RunEntry, export: ExportEntry | None = None, *, make: bool) -> None:
        """Take a run, and one of its exports, to write in place of what is known; with its end, prune.

        Args:
            make: Whether the ledger is made where there is none.
        """
        self._do(lambda ledger: ledger.put(run, export, make=make, source=self._source))

    def close(self) -> str | None:
        """Wait for what was taken, for seconds at most, and give what went wrong as a warning."""
        if self._thread is None:
            return None
        self._tasks.put(None)
        self._thread.join(self._close_seconds)
        if self._thread.is_alive():
            return (
                "the history of this run is not, or not wholly, in the ledger: it did not answer within "
                f"{self._close_seconds:g} seconds"
            )
        return self._failure

    def _do(self, task: Callable[[Ledger], None]) -> None:
        if not self._state.kept:
            return
        self._tasks.put(task)
        if self._thread is None:
            # A daemon: a ledger that hangs must not keep the process from its end.
            self._thread = threading.Thread(target=self._work, name="rivet ledger", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        ledger: Ledger | None = None
        while (task := self._tasks.get()) is not None:
            if self._failure is not None:
                continue
            where = "the ledger"
            try:
                if ledger is None:
                    from rivet.ledger.store import Ledger

                    ledger = Ledger(self._state, self._environ, wait_seconds=self._wait_seconds)
                where = f"the ledger, {ledger.label}"
                task(ledger)
            except RivetError as error:
                hint = f" ({error.hint})" if error.hint else ""
                self._failure = f"the history of this run is not, or not wholly, in {where}: {error}{hint}"
            except Exception as error:  # noqa: BLE001 - a bug here must not end a run; its words may hold a secret
                self._failure = (
                    f"the history of this run is not, or not wholly, in {where}: {type(error).__name__}"
                )
