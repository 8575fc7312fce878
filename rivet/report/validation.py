"""Verdicts for people: a table of findings and a closing line.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rivet.errors import Problem
from rivet.manifest.verdict import Finding, Level, Verdict
from rivet.outcome import ValidateOutcome
from rivet.report.errors import error_lines
from rivet.report.table import cut, table
from rivet.report.wording import one_line, size
from rivet.wording import counted

MAX_FINDINGS = 200
# A killed run leaves a note for each partition that it had in hand, which may be a thousand.
MAX_NOTES_OF_A_KIND = 5


def findings_table(verdict: Verdict) -> list[str]:
    """List the findings, errors first, of each kind of note the first few; empty without findings.

    A very long list is cut in the middle.
    """
    if not verdict.findings:
        return []
    errors = [f for f in verdict.findings if f.level is Level.ERROR]
    notes = _summed_up([f for f in verdict.findings if f.level is not Level.ERROR])
    rows = [(f.level.value, f.code, f.path or ".", f.message) for f in (*errors, *notes)]
    return cut(table(("level", "code", "path", "finding"), rows), MAX_FINDINGS, "finding", header=1)


def verdict_line(verdict: Verdict) -> str:
    """Close a validation with `passed` or `failed`, and what was looked at and how deeply.

    >>> verdict_line(Verdict("out/", "full", partitions=2, parts=3, rows=10, size_bytes=2000))
    'passed at full depth: 2 partitions, 3 parts, 10 rows, 2.0 kB'
    """
    errors = sum(f.count for f in verdict.findings if f.level is Level.ERROR)
    notes = sum(f.count for f in verdict.findings) - errors
    seen = [
        *([counted(errors, "error")] if errors else []),
        *([counted(notes, "note")] if notes else []),
        counted(verdict.partitions, "partition"),
        counted(verdict.parts, "part"),
        counted(verdict.rows, "row"),
        size(verdict.size_bytes),
    ]
    return f"{'passed' if verdict.passed else 'failed'} at {verdict.depth} depth: {', '.join(seen)}"


def _summed_up(notes: Sequence[Finding]) -> Iterator[Finding]:
    """Give the first notes of each kind, kind after kind, and one that counts the others of it."""
    for code in dict.fromkeys(note.code for note in notes):
        alike = [note for note in notes if note.code == code]
        # One more line would say no less than the count of it.
        shown = len(alike) if len(alike) <= MAX_NOTES_OF_A_KIND + 1 else MAX_NOTES_OF_A_KIND
        yield from alike[:shown]
        if more := sum(note.count for note in alike[shown:]):
            yield Finding(Level.NOTE, code, "", f"{more:,} more of this kind, --json lists them")


def validate_lines(outcome: ValidateOutcome) -> list[str]:
    """Show one validated prefix: its findings, then the closing line."""
    if outcome.verdict is None:
        return []
    title = one_line(outcome.destination if outcome.name is None else outcome.name)
    return [*findings_table(outcome.verdict), f"{title}: {verdict_line(outcome.verdict)}"]


def validate_error_lines(outcomes: Sequence[ValidateOutcome]) -> list[str]:
    """Tell which prefixes could not be read at all; empty where each has a verdict."""
    return error_lines([Problem(o.name or "", o.error, o.hint) for o in outcomes if o.error is not None])
