"""Verdicts for people: a table of findings and a closing line.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet.errors import Problem
from rivet.manifest.verdict import Level, Verdict
from rivet.outcome import ValidateOutcome
from rivet.report.errors import error_lines
from rivet.report.table import cut, table
from rivet.report.wording import one_line, size
from rivet.wording import counted

MAX_FINDINGS = 200


def findings_table(verdict: Verdict) -> list[str]:
    """List the findings, errors first; a very long list is cut in the middle. Empty without findings."""
    findings = sorted(verdict.findings, key=lambda f: f.level is not Level.ERROR)
    if not findings:
        return []
    rows = [(f.level.value, f.code, f.path or ".", f.message) for f in findings]
    return cut(table(("level", "code", "path", "finding"), rows), MAX_FINDINGS, "finding", header=1)


def verdict_line(verdict: Verdict) -> str:
    """Close a validation with `passed` or `failed`, and what was looked at and how deeply.

    >>> verdict_line(Verdict("out/", "full", partitions=2, parts=3, rows=10, size_bytes=2000))
    'passed at full depth: 2 partitions, 3 parts, 10 rows, 2.0 kB'
    """
    errors = sum(f.level is Level.ERROR for f in verdict.findings)
    notes = len(verdict.findings) - errors
    seen = [
        *([counted(errors, "error")] if errors else []),
        *([counted(notes, "note")] if notes else []),
        counted(verdict.partitions, "partition"),
        counted(verdict.parts, "part"),
        counted(verdict.rows, "row"),
        size(verdict.size_bytes),
    ]
    return f"{'passed' if verdict.passed else 'failed'} at {verdict.depth} depth: {', '.join(seen)}"


def validate_lines(outcome: ValidateOutcome) -> list[str]:
    """Show one validated prefix: its findings, then the closing line."""
    if outcome.verdict is None:
        return []
    title = one_line(outcome.destination if outcome.name is None else outcome.name)
    return [*findings_table(outcome.verdict), f"{title}: {verdict_line(outcome.verdict)}"]


def validate_error_lines(outcomes: Sequence[ValidateOutcome]) -> list[str]:
    """Tell which prefixes could not be read at all; empty where each has a verdict."""
    return error_lines([Problem(o.name or "", o.error, o.hint) for o in outcomes if o.error is not None])
