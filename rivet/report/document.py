"""The one JSON document of a command (docs/exit-codes.md lists its keys): same keys at every ending.

Pure: JSON types only; keys in the order in which they are printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeAlias, cast

from rivet.errors import Problem

if TYPE_CHECKING:  # each command ends with a document, and few of them plan, compare or look back
    from rivet.ledger.entries import HistoryEntry
    from rivet.manifest.verdict import Verdict
    from rivet.manifest.verify_source import Comparison
    from rivet.outcome import ExportOutcome, Reading, ValidateOutcome
    from rivet.plan.ways import Choice

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
        "unrepresentable_rows": counts(outcome.unrepresentable_rows),
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


def choice(made: Choice) -> Document:
    """Turn the choice of a way into JSON types."""
    return {"way": made.way.value, "why": made.why}


def _reading(reading: Reading) -> Document:
    return {
        "choice": choice(reading.choice),
        "sorter": None if reading.sorter is None else reading.sorter.value,
        "rows": reading.rows,
        "seconds": round(reading.seconds, 3),
        "bytes_read": reading.bytes_read,
        "temporary_bytes": reading.temporary_bytes,
    }


def counts(by_column: Mapping[str, int] | None) -> Document | None:
    """Turn counts into JSON types, None where nothing was counted."""
    return None if by_column is None else dict(by_column)


def _ends(ends: tuple[int, int]) -> Document:
    return {"least": ends[0], "most": ends[1]}


def _errors(problems: Sequence[Problem]) -> list[Document]:
    return [{"path": p.path or None, "message": p.message, "hint": p.hint} for p in problems]
