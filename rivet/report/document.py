"""The one JSON document of a command (docs/exit-codes.md lists its keys): same keys at every ending.

Pure: JSON types only; keys in the order in which they are printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TypeAlias, cast

from rivet.errors import Problem
from rivet.ledger.entries import HistoryEntry
from rivet.manifest.verdict import Verdict
from rivet.manifest.verify_source import Comparison
from rivet.outcome import ExportOutcome, PlanOutcome, Reading, ValidateOutcome
from rivet.plan.calendar import Granularity
from rivet.plan.chunks import Chunk, ChunkPage, ChunkRange
from rivet.plan.scans import Scan
from rivet.plan.schema import schema_json
from rivet.plan.ways import Choice
from rivet.plan.windows import Axis

Document: TypeAlias = dict[str, object]


def document(
    command: str | None,
    exit_code: int,
    exports: Sequence[Document] = (),
    *,
    tool: str,
    dry_run: bool = False,
    run_id: str | None = None,
    started_at: str | None = None,
    finished_at: str | None = None,
    problems: Sequence[Problem] = (),
    warnings: Sequence[str] = (),
) -> Document:
    """Build the document of a command; `problems` are what kept it from reaching its exports."""
    return {
        "tool": tool,
        "command": command,
        "dry_run": dry_run,
        "exit_code": exit_code,
        "run_id": run_id,
        "started_at": started_at,
        "finished_at": finished_at,
        "errors": _errors(problems),
        "warnings": list(warnings),
        "exports": list(exports),
    }


def failed_too(told: Document, exit_code: int, problems: Sequence[Problem]) -> Document:
    """Add to a document what went wrong while the outcome was delivered."""
    return {
        **told,
        "exit_code": exit_code,
        "errors": [*cast("list[Document]", told["errors"]), *_errors(problems)],
    }


def run_export(outcome: ExportOutcome) -> Document:
    """Turn the outcome of one export of a run into JSON types."""
    return {
        "name": outcome.name,
        "status": outcome.status,
        "exit_code": outcome.exit_code,
        "destination": outcome.destination,
        "rows": outcome.rows,
        "null_rows": outcome.null_rows,
        "unrepresentable_rows": _counts(outcome.unrepresentable_rows),
        "partitions": outcome.partitions,
        "partitions_written": outcome.partitions_written,
        "partitions_unchanged": outcome.partitions_unchanged,
        "partitions_removed": outcome.partitions_removed,
        "partitions_kept": outcome.partitions_kept,
        "partitions_unread": outcome.partitions_unread,
        "bytes_written": outcome.bytes_written,
        "scans": outcome.scans,
        "scans_at_once": outcome.scans_at_once,
        "block_ranges": outcome.block_ranges,
        "scan_rows": None if outcome.scan_rows is None else _ends(outcome.scan_rows),
        "consistency": outcome.consistency,
        "duration_seconds": round(outcome.duration_seconds, 3),
        "reading": None if outcome.reading is None else _reading(outcome.reading),
        "warnings": list(outcome.warnings),
        "error": outcome.error,
        "hint": outcome.hint,
        "verdict": verdict(outcome.verdict) if outcome.verdict else None,
    }


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
        "unrepresentable_rows": _counts(outcome.unrepresentable_rows),
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
        "choice": None if outcome.choice is None else _choice(outcome.choice),
        "estimate": None if outcome.estimate is None else asdict(outcome.estimate),
        "writable": outcome.writable,
        "readers": None
        if outcome.readers is None
        else {r: list(said) for r, said in outcome.readers.items()},
        "warnings": list(outcome.warnings),
        "error": outcome.error,
        "hint": outcome.hint,
    }


def validated_export(outcome: ValidateOutcome) -> Document:
    """Turn the validation of one prefix into JSON types."""
    return {
        "name": outcome.name,
        "exit_code": outcome.exit_code,
        "destination": outcome.destination,
        "verdict": verdict(outcome.verdict) if outcome.verdict else None,
        "comparison": comparison(outcome.comparison) if outcome.comparison else None,
        "error": outcome.error,
        "hint": outcome.hint,
    }


def history_entry(entry: HistoryEntry) -> Document:
    """Turn one export of a run that the ledger holds into JSON types."""
    run, export = asdict(entry.run), asdict(entry.export)
    run_exit_code = run.pop("exit_code")
    seconds = export["duration_seconds"]
    del export["position"]
    return {
        **run,
        "run_exit_code": run_exit_code,
        **export,
        "duration_seconds": None if seconds is None else round(seconds, 3),
        "changes": list(export["changes"]),
    }


def verdict(found: Verdict) -> Document:
    """Turn a verdict into JSON types."""
    return {
        "prefix": found.prefix,
        "passed": found.passed,
        "depth": found.depth,
        "partitions": found.partitions,
        "parts": found.parts,
        "rows": found.rows,
        "size_bytes": found.size_bytes,
        "findings": [
            {"level": f.level.value, "code": f.code, "path": f.path, "message": f.message}
            for f in found.findings
        ],
    }


def comparison(found: Comparison) -> Document:
    """Turn a comparison with the source into JSON types."""
    return {
        "source": found.source,
        "passed": found.passed,
        "started_at": found.started_at,
        "counted_at": found.counted_at,
        "partitions": found.partitions,
        "tree_rows": found.tree_rows,
        "source_rows": found.source_rows,
        "differences": [
            {
                "level": d.level.value,
                "code": d.code,
                "value": d.value,
                "path": d.path,
                "tree_rows": d.tree_rows,
                "source_rows": d.source_rows,
                "rows_too_many": d.rows_too_many,
                "started_at": d.started_at,
                "message": d.message,
            }
            for d in found.differences
        ],
    }


def _choice(choice: Choice) -> Document:
    return {"way": choice.way.value, "why": choice.why}


def _reading(reading: Reading) -> Document:
    return {
        "choice": _choice(reading.choice),
        "sorter": None if reading.sorter is None else reading.sorter.value,
        "rows": reading.rows,
        "seconds": round(reading.seconds, 3),
        "bytes_read": reading.bytes_read,
        "temporary_bytes": reading.temporary_bytes,
    }


def _counts(counts: Mapping[str, int] | None) -> Document | None:
    return None if counts is None else dict(counts)


def _ends(ends: tuple[int, int]) -> Document:
    return {"least": ends[0], "most": ends[1]}


def _errors(problems: Sequence[Problem]) -> list[Document]:
    return [{"path": p.path or None, "message": p.message, "hint": p.hint} for p in problems]


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
