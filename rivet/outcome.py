"""How a command ended, as values: one outcome per export or prefix, and the exit code of several.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loaded by whoever makes such a value: no command makes them all
    from rivet.ledger.entries import ChangeEntry, HistoryEntry
    from rivet.manifest.model import ExportFile, PartitionEntry
    from rivet.manifest.verdict import Verdict
    from rivet.manifest.verify_source import Comparison
    from rivet.plan.estimate import Estimate
    from rivet.plan.scans import Scan, Sorter
    from rivet.plan.schema import Column
    from rivet.plan.ways import Choice

# Interrupted wins, then the first of these that occurred.
_PRECEDENCE = (130, 4, 1, 2, 3, 5)


@dataclass(frozen=True, slots=True)
class Reading:
    """How the rows of an export were read.

    Attributes:
        choice: In what queries, and why.
        sorter: Who put the rows in order; None: they came so, or are in none.
        rows: All that came, those of windows that are not written too.
        seconds: From the first query to the last row; some of it passes in writing.
        bytes_read: Of the values as they are in memory.
        temporary_bytes: Of the files in which Rivet sorted.
    """

    choice: Choice
    sorter: Sorter | None
    rows: int
    seconds: float
    bytes_read: int
    temporary_bytes: int


@dataclass(frozen=True, slots=True)
class ExportOutcome:
    """How one export ended.

    Attributes:
        status: `complete`, `failed`, or `skipped` where `on_error: stop` kept it from running.
        exit_code: 0, or the code of its error.
        rows: Rows of all partitions that stand; None where the export failed as a whole.
        null_rows: Those of the NULL partition.
        partitions_written: Published by this run.
        partitions_unchanged: Left alone since their rows had not changed.
        partitions_removed: Vanished and removed.
        partitions_kept: Vanished and kept.
        partitions_unread: Left as they were, since their windows were not among those to be read.
        unrepresentable_rows: Values written as NULL since their type cannot hold them, by column; None where
            the export failed.
        changes: The partitions that this run published, and those that it removed.
        bytes_written: Size of the parts that this run published.
        scans: Scans that read the source.
        scans_at_once: How many of them at once.
        block_ranges: Connections that shared the blocks of the one scan.
        scan_rows: Rows of the smallest and of the largest, where they were counted.
        reading: How the rows were read; None where the export failed.
        warnings: Lines for people.
        error: Message of the error, or None.
        hint: The mend, or None.
        verdict: What `--validate` found, or None.
    """

    name: str
    status: str
    exit_code: int
    destination: str
    rows: int | None = None
    null_rows: int | None = None
    unrepresentable_rows: Mapping[str, int] | None = None
    partitions: int = 0
    partitions_written: int = 0
    partitions_unchanged: int = 0
    partitions_removed: int = 0
    partitions_kept: int = 0
    partitions_unread: int = 0
    changes: tuple[ChangeEntry, ...] = ()
    bytes_written: int = 0
    scans: int = 0
    scans_at_once: int = 1
    block_ranges: int = 1
    scan_rows: tuple[int, int] | None = None
    consistency: str | None = None
    duration_seconds: float = 0.0
    reading: Reading | None = None
    warnings: tuple[str, ...] = ()
    error: str | None = None
    hint: str | None = None
    verdict: Verdict | None = None


def changes_of(
    export: ExportFile, run_id: str, removed: Iterable[PartitionEntry] = ()
) -> tuple[ChangeEntry, ...]:
    """List the partitions that a run has published, and those that it has removed.

    Args:
        export: The export file as the run has left it.
    """
    from rivet.ledger.entries import ChangeEntry

    published = (p for p in export.partitions if p.run_id == run_id)
    return (
        *(ChangeEntry(p.value, "written", p.row_count, p.size_bytes) for p in published),
        *(ChangeEntry(p.value, "removed") for p in removed),
    )


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended.

    Attributes:
        cause: The interruption or the bug that ended it early, or None; the export that it struck has
            failed with 130 or 1, unless it had just ended, and those after it were skipped.
        warnings: Lines for people that are of no single export.
    """

    run_id: str
    started_at: str
    finished_at: str
    exports: tuple[ExportOutcome, ...]
    cause: BaseException | None = None
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """Give the process's exit code."""
        codes = [e.exit_code for e in self.exports]
        if self.cause is not None:
            codes.append(130 if isinstance(self.cause, KeyboardInterrupt) else 1)
        return worst_exit_code(codes)


def worst_exit_code(codes: Sequence[int]) -> int:
    """Give the exit code of several outcomes: 130, else the first of 4, 1, 2, 3, 5 that occurred, else 0.

    >>> worst_exit_code([0, 3, 2])
    2
    """
    return next((code for code in _PRECEDENCE if code in codes), 0)


@dataclass(frozen=True, slots=True)
class PlannedPartition:
    """One partition that a run would write.

    Attributes:
        value: Its label; None for an export without `partition_by`.
        chunks: The queries that read it in `mode: chunked`, else None.
    """

    value: str | None
    path: str
    expected_rows: int | None
    chunks: int | None = None


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """What `plan`, `check` and `run --dry-run` found out about one export; nothing was written.

    Attributes:
        exit_code: 0, or the code of `error`; the other fields then hold what was known before it.
        columns: The columns and what they become.
        partition_column: As the catalogue spells it, or None.
        indexed: Whether an index leads with the partition column.
        partitions: In order, NULL last; None from `check`, which probes no rows.
        partitions_unread: Live partitions that are left as they are; None from `check`.
        selected_by: What selects the partitions; None where all are read as a matter of course.
        scans: Queries that will read the source; None from `check`.
        scans_at_once: How many of them at once; None from `check`.
        block_ranges: Connections that will share the blocks of the one scan; None from `check`.
        sort_bytes: The source's estimate of the largest sort, whoever does it.
        choice: In what queries the source will be read, and why; None from `check`.
        estimate: Of the largest of them, by the source; None from `check`, and where nothing is read.
        null_rows: Rows of the NULL partition.
        unrepresentable_rows: Values that will be written as NULL, by column; None from `check`.
        minimum: Smallest value of the partition column, as JSON files hold it.
        maximum: Largest value, closed.
        writable: True where an object was written to the destination and removed; None where that was not
            asked for.
        readers: By reader, what would mislead it or needs an option; None but from `check`.
        warnings: Lines for people, such as where a reader would be misled.
    """

    name: str
    destination: str
    exit_code: int = 0
    source: str = ""
    engine: str = ""
    consistency: str = ""
    columns: tuple[Column, ...] = ()
    partition_column: str | None = None
    partition_key: str | None = None
    granularity: str | None = None
    timezone: str | None = None
    indexed: bool = False
    primary_key: tuple[str, ...] = ()
    rows: int | None = None
    null_rows: int | None = None
    unrepresentable_rows: Mapping[str, int] | None = None
    minimum: str | None = None
    maximum: str | None = None
    partitions: tuple[PlannedPartition, ...] | None = None
    partitions_unread: int | None = None
    selected_by: str | None = None
    scans: tuple[Scan, ...] | None = None
    scans_at_once: int | None = None
    block_ranges: int | None = None
    sort_bytes: int | None = None
    choice: Choice | None = None
    estimate: Estimate | None = None
    writable: bool | None = None
    readers: Mapping[str, Sequence[str]] | None = None
    warnings: tuple[str, ...] = ()
    error: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class ValidateOutcome:
    """How the validation of one prefix ended.

    Attributes:
        name: The export's name; None where the prefix was validated without a config.
        destination: What was validated, for people.
        verdict: None where the prefix could not be read.
        comparison: With the source; None where that was not asked for, or could not be had.
        error: What kept the prefix or the source from being read, or None.
    """

    name: str | None
    destination: str
    exit_code: int
    verdict: Verdict | None = None
    comparison: Comparison | None = None
    error: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class HistoryOutcome:
    """What a ledger holds.

    Attributes:
        ledger: Where it is, for people.
        entries: Exports of runs, the latest first; None where there is no ledger.
    """

    ledger: str
    entries: Sequence[HistoryEntry] | None
