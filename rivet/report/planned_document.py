"""What the JSON document of `plan` and `check` says of each export; `rivet.report.document` has the rest.

Pure: JSON types only; keys in the order in which they are printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from rivet.outcome import PlanOutcome
from rivet.plan.calendar import Granularity
from rivet.plan.chunks import Chunk, ChunkPage, ChunkRange
from rivet.plan.scans import Scan
from rivet.plan.schema import schema_json
from rivet.plan.windows import Axis
from rivet.report.document import Document, choice, counts


def planned_export(outcome: PlanOutcome) -> Document:
    """Turn what `plan` or `check` found out about one export into JSON types."""
    partitions = outcome.partitions
    return {
        "name": outcome.name,
        "exit_code": outcome.exit_code,
        "destination": outcome.destination,
        "source": outcome.source,
        "engine": outcome.engine,
        "consistency": outcome.consistency,
        "columns": [
            {**column, "fidelity": c.fidelity.value}
            for column, c in zip(schema_json(outcome.columns), outcome.columns, strict=True)
        ],
        "primary_key": list(outcome.primary_key),
        "partition": _partitioning(outcome),
        "indexed": outcome.indexed,
        "rows": outcome.rows,
        "null_rows": outcome.null_rows,
        "unrepresentable_rows": counts(outcome.unrepresentable_rows),
        "minimum": outcome.minimum,
        "maximum": outcome.maximum,
        "partition_count": None if partitions is None else len(partitions),
        "partitions": None
        if partitions is None
        else [
            {"value": p.value, "path": p.path, "expected_rows": p.expected_rows, "chunks": p.chunks}
            for p in partitions
        ],
        "partitions_unread": outcome.partitions_unread,
        "selected_by": outcome.selected_by,
        "scans": None if outcome.scans is None else [_scan(s, _axis(outcome)) for s in outcome.scans],
        "scans_at_once": outcome.scans_at_once,
        "block_ranges": outcome.block_ranges,
        "sort_bytes": outcome.sort_bytes,
        "choice": None if outcome.choice is None else choice(outcome.choice),
        "estimate": None if outcome.estimate is None else asdict(outcome.estimate),
        "writable": outcome.writable,
        "readers": None
        if outcome.readers is None
        else {r: list(said) for r, said in outcome.readers.items()},
        "warnings": list(outcome.warnings),
        "error": outcome.error,
        "hint": outcome.hint,
    }


def _partitioning(outcome: PlanOutcome) -> Mapping[str, object] | None:
    if outcome.partition_column is None:
        return None
    return {
        "column": outcome.partition_column,
        "key": outcome.partition_key,
        "granularity": outcome.granularity,
        "timezone": outcome.timezone,
    }


def _axis(outcome: PlanOutcome) -> Axis | None:
    kinds = [c.type.kind for c in outcome.columns if c.name == outcome.partition_column]
    return Axis(kinds[0], Granularity(outcome.granularity)) if kinds and outcome.granularity else None


def _scan(scan: Scan, axis: Axis | None) -> Document:
    def text(bound: int | None) -> str | None:
        return None if bound is None or axis is None else axis.format(bound)

    return {
        "reach": scan.reach.value,
        "start": text(scan.start),
        "end": text(scan.end),
        "expected_rows": scan.expected_rows,
        "sorter": scan.sorter.value,
        "chunk": None if scan.chunk is None else _chunk(scan.chunk),
    }


def _chunk(chunk: Chunk) -> Document:
    columns = chunk.key if isinstance(chunk, ChunkPage) else chunk.columns
    names = [column.name for column in columns]
    if not isinstance(chunk, ChunkRange):
        return {"kind": "page" if isinstance(chunk, ChunkPage) else "nulls", "columns": names}
    line = chunk.line
    # Behind the last value of a calendar or a type there is none that could be written.
    return {
        "kind": "range",
        "columns": names,
        "minimum": line.format(chunk.start),
        "maximum": line.format(chunk.end - 1),
    }
