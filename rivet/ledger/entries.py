"""What the ledger holds, as values.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One run.

    Attributes:
        host: Name of the machine that it ran on.
        pid: Its process there.
        source: The database, for people.
        started_at: RFC 3339 in UTC, which sorts by time.
        finished_at: None while it is under way, and for ever where it was killed.
        exit_code: None likewise.
    """

    run_id: str
    tool: str
    host: str
    pid: int
    source: str
    started_at: str
    finished_at: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class ChangeEntry:
    """One partition that a run published or removed.

    Attributes:
        value: Its label; None for an export without `partition_by`.
        rows: How many it holds now; None where it was removed.
        size_bytes: Of its parts; None likewise.
    """

    value: str | None
    change: Literal["written", "removed"]
    rows: int | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ExportEntry:
    """One export of a run; what is not known, as of one that failed, is None or 0.

    Attributes:
        position: Its place among the exports of the run, from 0.
        status: `complete`, `failed`, `skipped`, or `unfinished`: begun, and not heard of since.
        exit_code: None where it is unfinished.
        changes: The partitions that it published or removed, in order.
    """

    position: int
    name: str
    destination: str
    status: str = "unfinished"
    exit_code: int | None = None
    rows: int | None = None
    null_rows: int | None = None
    partitions: int = 0
    partitions_written: int = 0
    partitions_unchanged: int = 0
    partitions_removed: int = 0
    partitions_kept: int = 0
    bytes_written: int = 0
    scans: int = 0
    consistency: str | None = None
    duration_seconds: float | None = None
    error: str | None = None
    hint: str | None = None
    changes: tuple[ChangeEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One export of one run, as history shows it."""

    run: RunEntry
    export: ExportEntry
