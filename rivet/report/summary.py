"""A run for people: a compact summary of each export, and what went wrong.

Pure.
"""

from __future__ import annotations

from rivet.errors import Problem
from rivet.outcome import ExportOutcome, Reading, RunOutcome
from rivet.plan.scans import Sorter
from rivet.report.errors import error_lines
from rivet.report.validation import findings_table, verdict_line
from rivet.report.wording import by_column, duration, one_line, rows_each, shared_by, size
from rivet.wording import counted


def run_lines(outcome: RunOutcome) -> list[str]:
    """Sum up each export that came to an end, in the order of the run."""
    return [line for export in outcome.exports for line in _export_lines(export)]


def run_error_lines(outcome: RunOutcome) -> list[str]:
    """Tell what went wrong in each export, findings of `--validate` included; empty where nothing did."""
    lines: list[str] = []
    for export in outcome.exports:
        if export.verdict is not None and not export.verdict.passed:
            lines += findings_table(export.verdict)
        if export.error is not None:
            lines += error_lines([Problem(export.name, export.error, export.hint)])
        elif export.exit_code and export.verdict is not None:
            lines += error_lines([Problem(export.name, f"validation {verdict_line(export.verdict)}")])
    return lines


def _export_lines(export: ExportOutcome) -> list[str]:
    name = one_line(export.name)
    if export.status == "skipped":
        return [f"{name}: skipped, since the run stopped before it"]
    if export.rows is None:
        return [f"{name}: failed after {duration(export.duration_seconds)}"]
    nulls = f" ({export.null_rows:,} with NULL)" if export.null_rows else ""
    facts = [
        f"{counted(export.rows, 'row')}{nulls} in {counted(export.partitions, 'partition')}",
        *_scans(export),
        *([f"consistency {export.consistency}"] if export.consistency else []),
        duration(export.duration_seconds),
    ]
    written = f"{export.partitions_written:,} written"
    changes = [f"{written} ({size(export.bytes_written)})" if export.partitions_written else written]
    for number, word in (
        (export.partitions_unchanged, "unchanged"),
        (export.partitions_removed, "removed"),
        (export.partitions_kept, "kept"),
        (export.partitions_unread, "not read"),
    ):
        if number:
            changes.append(f"{number:,} {word}")
    unrepresentable = export.unrepresentable_rows
    lines = [
        f"{name}: {', '.join(facts)}",
        *([f"  made NULL: {one_line(by_column(unrepresentable))}"] if unrepresentable else []),
        f"  {', '.join(changes)} under {one_line(export.destination)}",
    ]
    if export.reading is not None:
        lines.append(f"  {one_line(_reading(export.reading))}")
    if export.verdict is not None:
        lines.append(f"  validation {verdict_line(export.verdict)}")
    return lines


def _scans(export: ExportOutcome) -> list[str]:
    """Say in how many queries the source was read; nothing where it was not, as parts are merged."""
    if export.reading is None and not export.scans:
        return []
    each = rows_each(export.scan_rows, export.scans_at_once)
    return [counted(export.scans, "scan") + each + shared_by(export.block_ranges)]


def _reading(reading: Reading) -> str:
    """Say what was read, in what time, who sorted it, and why in these queries."""
    read = f"read {counted(reading.rows, 'row')}, {size(reading.bytes_read)}, in {duration(reading.seconds)}"
    if reading.sorter is Sorter.RIVET:
        held = reading.temporary_bytes
        where = f"in {size(held)} of temporary files" if held else "in memory"
        read += f", sorted by Rivet {where}"
    elif reading.sorter is Sorter.SOURCE:
        read += ", sorted at the source"
    return f"{read}; {reading.choice.why}" if reading.choice.why else read
