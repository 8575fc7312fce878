"""Tells the ledger how a run goes, and reads back what it holds.

Nothing is made before the first scan of a run has begun. A run that fails before it is written into a ledger
that is there already.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import replace

from rivet import TOOL
from rivet.config.settings import ExportSettings, Settings, StateSettings
from rivet.errors import ConfigError, LedgerError
from rivet.events import Event, Listener
from rivet.ledger.entries import ExportEntry, RunEntry
from rivet.ledger.keeper import Keeper
from rivet.outcome import ExportOutcome, HistoryOutcome

# What an export tells only once a scan of it has begun.
_SCANNING = ("progress", "published")


class History:
    """The history of one run, which is also told what the run tells."""

    def __init__(
        self,
        settings: Settings,
        exports: Sequence[ExportSettings],
        *,
        source: str,
        run_id: str,
        started_at: str,
        listener: Listener,
    ) -> None:
        """Take note of a run that begins.

        Args:
            source: The database, for people.
            listener: Hears what the run tells, and at last whether its history could be kept.
        """
        self._listener = listener
        self._run = RunEntry(run_id, TOOL, socket.gethostname(), os.getpid(), source, started_at)
        self._exports = {
            export.name: ExportEntry(position, export.name, export.destination.label)
            for position, export in enumerate(exports)
        }
        self._begun: set[str] = set()
        self._ended = 0
        self._last: ExportEntry | None = None
        self._keeper = Keeper(settings.state, os.environ, source=settings.source.path)

    def listen(self, event: Event) -> None:
        """Hear what the run tells, note an export whose first scan has begun, and pass it on."""
        if event.kind in _SCANNING and event.export is not None and event.export not in self._begun:
            self._begun.add(event.export)
            self._keeper.put(self._run, self._exports[event.export], make=True)
        self._listener(event)

    def ended(self, outcome: ExportOutcome) -> None:
        """Note how an export has ended; the last one is written with the end of the run."""
        entry = _entry(self._exports[outcome.name], outcome)
        self._ended += 1
        if self._ended == len(self._exports):
            self._last = entry
        else:
            self._keeper.put(self._run, entry, make=bool(self._begun))

    def close(self, finished_at: str, exit_code: int) -> tuple[str, ...]:
        """Note how the run has ended, prune, wait for seconds at most, and warn of what could not be kept."""
        ended = replace(self._run, finished_at=finished_at, exit_code=exit_code)
        self._keeper.put(ended, self._last, make=bool(self._begun))
        warning = self._keeper.close()
        if warning is None:
            return ()
        self._listener(Event("warning", None, warning))
        return (warning,)


def look_back(
    state: StateSettings,
    limit: int,
    *,
    names: Sequence[str] = (),
    exports: Sequence[ExportSettings] | None = None,
) -> HistoryOutcome:
    """Read the latest exports of runs, the latest first.

    Args:
        names: Only exports of these names; empty: all.
        exports: Only these, by name and destination.

    Raises:
        ConfigError: The config keeps no history.
        LedgerError: It cannot be read.
    """
    from rivet.ledger.store import Ledger  # SQLAlchemy takes its time, and other commands have none for it

    if not state.kept:
        raise ConfigError(
            "`state: off` in the config keeps no history", hint="leave `state` out, or name a database"
        )
    ledger = Ledger(state, os.environ)
    trees = None if exports is None else [(e.name, e.destination.label) for e in exports]
    try:
        return HistoryOutcome(ledger.label, ledger.recent(limit, names=names, trees=trees))
    except LedgerError as error:
        raise type(error)(f"the ledger, {ledger.label}: {error}", hint=error.hint) from error


def _entry(known: ExportEntry, outcome: ExportOutcome) -> ExportEntry:
    return replace(
        known,
        status=outcome.status,
        exit_code=outcome.exit_code,
        rows=outcome.rows,
        null_rows=outcome.null_rows,
        partitions=outcome.partitions,
        partitions_written=outcome.partitions_written,
        partitions_unchanged=outcome.partitions_unchanged,
        partitions_removed=outcome.partitions_removed,
        partitions_kept=outcome.partitions_kept,
        bytes_written=outcome.bytes_written,
        scans=outcome.scans,
        consistency=outcome.consistency,
        duration_seconds=outcome.duration_seconds,
        error=outcome.error,
        hint=outcome.hint,
        changes=outcome.changes,
    )
