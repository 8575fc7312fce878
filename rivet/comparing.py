"""Compares a tree with its source: counts the rows of each window there, in one snapshot.

Composition: the questions go to the source's session, the judgement is in `rivet.manifest`.
"""

from __future__ import annotations

from rivet.clock import Clock
from rivet.config.hiding import hiding
from rivet.config.settings import ExportSettings
from rivet.errors import PlanError
from rivet.manifest.claimed import Claimed
from rivet.manifest.verify_source import Comparison, SourceCounts, compare_counts
from rivet.plan.schema import Column
from rivet.plan.selection import Selection, selected
from rivet.plan.windows import NULL_VALUE, Axis
from rivet.preparing.described import Described, describe
from rivet.preparing.selecting import narrowed_to
from rivet.publish.tree import require_same_export
from rivet.source.protocol import Session, Source

_NULL_ROWS = Selection((), nulls=True)


def compare(
    source: Source,
    export: ExportSettings,
    claimed: Claimed,
    place: str,
    *,
    consistency: str | None,
    clock: Clock,
) -> Comparison:
    """Compare what a root or a partition of an export claims with counts of the source.

    Of one partition, the rows of its window alone are counted.

    Args:
        place: Where it lies, for messages.
        consistency: What the user insists on, or None.

    Raises:
        SourceError: The source cannot be reached, described or counted.
        PlanError: What lies there is of another export or partitioning than the config's.
    """
    with hiding(export.variables), source.session() as session:
        counted_at = clock()
        described = describe(session, export, consistency)
        layout = described.layout
        name = claimed.manifest_name or layout.manifest_name
        require_same_export(place, layout, claimed.export_name, claimed.partitioning, name)
        rows, unrepresentable = _counts(session, export, described, claimed)
    return compare_counts(
        claimed,
        SourceCounts(counted_at, rows, unrepresentable),
        source=source.label,
        null_value=NULL_VALUE,
        keeps_vanished=export.vanished == "keep",
        adds_rows=export.adds_rows,
        path_of=layout.directory,
    )


def _counts(
    session: Session, export: ExportSettings, described: Described, claimed: Claimed
) -> tuple[dict[str | None, int], int]:
    """Count the rows of each partition that would hold any, and those that may be in none."""
    column, axis = described.column, described.axis
    if column is None or axis is None:
        rows = session.probe(described.relation, None).rows
        return {None: rows} if rows else {}, 0
    if not claimed.is_root:
        (partition,) = claimed.partitions
        described = narrowed_to(session, export, described, column, _window(partition.value, axis))
    windows, others = session.census(described.relation, column, axis)
    counts: dict[str | None, int] = {w.label: w.rows for w in windows}
    nulls = others
    if others and claimed.is_root and export.unrepresentable == "error":
        nulls = _null_rows(session, export, described, column, axis)
    if nulls:
        counts[NULL_VALUE] = nulls
    return counts, max(0, others - nulls)


def _null_rows(
    session: Session, export: ExportSettings, described: Described, column: Column, axis: Axis
) -> int:
    """Count the rows without a value, as apart from those whose value fits no calendar."""
    nulls = narrowed_to(session, export, described, column, _NULL_ROWS)
    return session.census(nulls.relation, column, axis)[1]


def _window(value: str | None, axis: Axis) -> Selection:
    if value == NULL_VALUE:
        return _NULL_ROWS
    window = axis.window_of_label(value or "")
    if window is None:
        raise PlanError(
            f"the manifest is of the partition {value!r}, which is no {axis.granularity.value}",
            hint="the findings say what is wrong with it",
        )
    return selected([window])
