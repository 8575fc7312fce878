"""Makes outcomes of what was described and planned. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from rivet.outcome import PlannedPartition, PlanOutcome
from rivet.plan.advice import value_advice
from rivet.plan.readers import old_values
from rivet.preparing.described import Described
from rivet.preparing.prepared import Prepared


def outcome_of(described: Described, name: str, *, source: str, destination: str) -> PlanOutcome:
    """Tell what an export's columns and partitioning are.

    Args:
        name: Of the export.
        source: Its label.
        destination: Its URI.
    """
    partitioning = described.layout.partitioning
    return PlanOutcome(
        name=name,
        destination=destination,
        source=source,
        engine=described.engine,
        consistency=described.relation.consistency.value,
        columns=described.relation.columns,
        partition_column=None if partitioning is None else partitioning.column,
        partition_key=None if partitioning is None else partitioning.key,
        granularity=None if partitioning is None else partitioning.axis.granularity.value,
        timezone=None if partitioning is None else partitioning.axis.timezone,
        indexed=described.is_indexed,
        primary_key=described.relation.primary_key,
        warnings=tuple(described.advice),
    )


def with_plan(outcome: PlanOutcome, prepared: Prepared) -> PlanOutcome:
    """Tell of an export, too, which partitions and rows a run would write, by which scans."""
    layout, axis, probe = prepared.described.layout, prepared.described.axis, prepared.probe
    if axis is None:
        partitions = [(layout.partition(None), probe.rows)] if probe.rows else []
    else:
        partitions = [
            (layout.partition(c.window), c.rows)
            for c in prepared.counts or ()
            if prepared.selection.holds(c.window)
        ]
        if probe.null_partition_rows and prepared.selection.nulls:
            partitions.append((layout.partition(None), probe.null_partition_rows))
    chunks = {
        layout.partition(None if axis is None or start is None else axis.window_of(start)).path: count
        for start, count in Counter(s.start for s in prepared.queries if s.chunk is not None).items()
    }
    return replace(
        outcome,
        rows=probe.rows,
        null_rows=probe.null_partition_rows,
        unrepresentable_rows=dict(probe.unrepresentable),
        minimum=None if axis is None or probe.minimum is None else axis.format(probe.minimum),
        maximum=None if axis is None or probe.maximum is None else axis.format(probe.maximum),
        partitions=tuple(
            PlannedPartition(t.value, t.path, rows, chunks.get(t.path)) for t, rows in partitions
        ),
        consistency=prepared.described.relation.consistency.value,
        scans=prepared.queries,
        scans_at_once=prepared.at_once,
        block_ranges=prepared.block_ranges,
        sort_bytes=prepared.sort_bytes,
        choice=prepared.choice,
        warnings=(
            *outcome.warnings,
            *(line for line in prepared.described.run_advice if line not in outcome.warnings),
            *prepared.advice,
            *([] if axis is None else old_values(axis, probe.minimum)),
            *value_advice(outcome.columns, outcome.engine),
        ),
    )
