"""Decides what becomes of live partitions whose windows hold no rows any more.

Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from rivet.errors import PlanError
from rivet.manifest.model import PartitionEntry
from rivet.plan.probe import Probe
from rivet.plan.scans import WindowCount
from rivet.plan.windows import NULL_VALUE, Axis
from rivet.wording import counted

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Vanished:
    """Vanished partitions, by what becomes of them."""

    remove: tuple[PartitionEntry, ...] = ()
    keep: tuple[PartitionEntry, ...] = ()


def decide_vanished(
    entries: Iterable[PartitionEntry],
    present: Collection[str],
    *,
    policy: str | None,
    axis: Axis | None,
    span: tuple[int, int] | None,
) -> Vanished:
    """Sort the entries whose paths are not present by the policy `remove`, `keep`, `error` or None.

    Without a policy a vanished partition is removed where the source still has rows on both sides of it, or
    where it is the NULL partition beside others.

    Args:
        present: Paths of the partitions that hold rows now.
        span: Smallest and largest value that the source has, both closed; None where it has none.

    Raises:
        PlanError: If a partition vanished that the policy does not let go, with labels and counts.
    """
    gone = [e for e in entries if e.path not in present]
    if policy == "keep":
        return Vanished(keep=tuple(gone))
    refused = gone if policy == "error" else []
    if policy is None:
        refused = [e for e in gone if not _inside(e, axis, span)]
    if refused:
        labels = ", ".join(f"{_label(e)} ({counted(e.row_count, 'row')})" for e in refused[:_SHOWN])
        more = f" and {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else ""
        partitions = counted(len(refused), "live partition")
        rows = counted(sum(e.row_count for e in refused), "row")
        raise PlanError(
            f"the source holds no rows any more for {partitions} with {rows}: {labels}{more}",
            hint="if that is right, set vanished: remove to remove them, or vanished: keep to keep them",
        )
    return Vanished(remove=tuple(gone))


def possibly_present(
    entries: Iterable[PartitionEntry], axis: Axis | None, probe: Probe, counts: Sequence[WindowCount] | None
) -> set[str]:
    """Give the paths of the entries that may hold rows now, as far as the probe alone can tell."""
    labels = None if counts is None else {c.label for c in counts}

    def may_hold_rows(entry: PartitionEntry) -> bool:
        if entry.value is None:
            return probe.rows > 0
        if entry.value == NULL_VALUE:
            return probe.null_partition_rows > 0
        return _inside(entry, axis, probe.span) if labels is None else entry.value in labels

    return {e.path for e in entries if may_hold_rows(e)}


def _inside(entry: PartitionEntry, axis: Axis | None, span: tuple[int, int] | None) -> bool:
    if axis is None or span is None:
        return False
    if entry.value == NULL_VALUE:
        return True
    window = axis.window_of_label(entry.value or "")
    return window is not None and span[0] < window.end and window.start <= span[1]


def _label(entry: PartitionEntry) -> str:
    return "the whole export" if entry.value is None else entry.value
