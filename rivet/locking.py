"""Opens the lock of an export: beside its tree, and in the ledger's database where the config names one."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable

from rivet.clock import Clock
from rivet.config.settings import DestinationSettings, ExportSettings, LocalDestinationSettings, Settings
from rivet.destination.protocol import Destination
from rivet.lock.opening import open_lock
from rivet.lock.protocol import Lock, Records
from rivet.plan.names import LOCK_FILE

WAIT_SECONDS = 3.0  # for one answer of the ledger's database


def lock_records(settings: Settings) -> Records | None:
    """Give what the ledger's database keeps for locks; None where the config names no database."""
    if settings.state.database is None:
        return None
    from rivet.ledger.records import LedgerRecords  # SQLAlchemy takes its time

    return LedgerRecords(settings.state, os.environ, source=settings.source.path, wait_seconds=WAIT_SECONDS)


def open_lock_of(
    export: ExportSettings,
    destination: Destination,
    run_id: str,
    *,
    ledger: Records | None,
    clock: Clock,
    wait_seconds: float,
    on_wait: Callable[[str], object],
) -> Lock:
    """Give the lock of an export's tree; nothing is asked or written yet."""
    return open_lock(
        destination,
        LOCK_FILE,
        run_id,
        kept=export.lock == "auto",
        clock=clock,
        shared=None if ledger is None else (ledger, name_of(export.destination, socket.gethostname())),
        wait_seconds=wait_seconds,
        on_wait=on_wait,
    )


def name_of(place: DestinationSettings, host: str) -> str:
    """Name the lock of a tree among those of all trees that share a ledger.

    Two trees never have one name: a directory is named with the host whose it is, since another may have one
    of the same path (where both share it, the lock beside the tree keeps them apart), and a bucket with the
    endpoint that it is reached by.
    """
    where = host if isinstance(place, LocalDestinationSettings) else place.endpoint_url or ""
    return hashlib.sha256(f"{where}\n{place.label}".encode(errors="surrogatepass")).hexdigest()[:32]
