"""Verdicts for people: a table of findings and a closing line.

Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rivet.errors import Problem
from rivet.manifest.verdict import Code, Finding, Level, Verdict
from rivet.manifest.verify_source import Comparison, Difference
from rivet.outcome import ValidateOutcome
from rivet.plan.windows import told_label
from rivet.report.errors import error_lines
from rivet.report.table import cut, table
from rivet.report.wording import one_line, size
from rivet.wording import counted

MAX_FINDINGS = 200
MAX_DIFFERENCES = 60
# A killed run leaves a note for each partition that it had in hand, and a lost directory an error for each
# part: either may be a thousand.
MAX_FINDINGS_OF_A_KIND = 5
_RUN_AGAIN = (
    "a table that was written to since the tree's run differs: run the export again, then compare again"
)
_OF_A_RUN = (Code.EXPORT_PARTIAL, Code.EXPORT_UNFINISHED, Code.PARTITION_FAILED, Code.PARTITION_UNFINISHED)
_FINISH = "run the export again: it finishes or undoes what was begun; what is found then is of no run"
_VANISHED = "; of partitions that are gone, vanished: remove or keep says what becomes"


def findings_table(verdict: Verdict) -> list[str]:
    """List the findings, errors first, of each kind the first few; empty without findings.

    A very long list is cut in the middle.
    """
    if not verdict.findings:
        return []
    errors = _summed_up([f for f in verdict.findings if f.level is Level.ERROR])
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


def differences_table(comparison: Comparison) -> list[str]:
    """List the partitions that have other rows than their windows at the source; empty where none has.

    Those that are as the config wants them are not among them. A very long list is cut in the middle.
    """
    rows = [
        (
            _label(d),
            "-" if d.tree_rows is None else f"{d.tree_rows:,}",
            f"{d.source_rows:,}",
            f"{d.rows_too_many:+,}",
            "-" if d.started_at is None else _second(d.started_at),
        )
        for d in comparison.differences
        if d.level is Level.ERROR
    ]
    if not rows:
        return []
    header = ("partition", "rows in tree", "at source", "difference", "written at")
    return cut(table(header, rows, numbers={1, 2, 3}), MAX_DIFFERENCES, "partition", header=1)


def comparison_line(comparison: Comparison) -> str:
    """Close a comparison with how many rows either side has.

    >>> comparison_line(Comparison("shop", "2023-01-02T03:04:05Z", "2023-01-02T09:00:00Z", 2, 10, 10))[:62]
    'as many rows as at the source: 2 partitions, 10 rows; counted '
    """
    found = Counter((d.level, d.code) for d in comparison.differences)
    wanted = [d for d in comparison.differences if d.level is Level.NOTE]
    partitions, kept = comparison.partitions, found[Level.NOTE, Code.SOURCE_VANISHED]
    notes = f"; none there any more of {counted(kept, 'kept partition')}" if kept else ""
    if more := found[Level.NOTE, Code.SOURCE_DIFFERS]:
        notes += f"; more in the tree in {counted(more, 'partition')}, as strategy: append lets them stand"
    moments = (
        f"{notes}; counted at {_second(comparison.counted_at)} in {one_line(comparison.source)}, "
        f"the tree is of {_second(comparison.started_at)}"
    )
    if comparison.passed:
        rows = comparison.source_rows - sum(d.source_rows for d in wanted)
        alike = f"{counted(partitions - len(wanted), 'partition')}, {counted(rows, 'row')}"
        return f"as many rows as at the source: {alike}{moments}"
    errors = len(comparison.differences) - len(wanted) - found[Level.ERROR, Code.SOURCE_UNREPRESENTABLE]
    return (
        f"not as many rows as at the source: {errors:,} of {counted(partitions, 'partition')} differ, "
        f"{counted(comparison.tree_rows, 'row')} in the tree and {comparison.source_rows:,} there{moments}"
    )


def _second(moment: str) -> str:
    """Cut an instant of a JSON file after the second; what is in a file may be anything."""
    return one_line(f"{moment[:19].replace('T', ' ')}Z")


def _label(difference: Difference) -> str:
    if difference.code == Code.SOURCE_UNREPRESENTABLE:
        return "fits no calendar"
    return "all rows" if difference.value is None else told_label(difference.value)


def _summed_up(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Give the first findings of each kind, kind after kind, and one that counts the others of it.

    Args:
        findings: Of one level.
    """
    for code in dict.fromkeys(finding.code for finding in findings):
        alike = [finding for finding in findings if finding.code == code]
        # One more line would say no less than the count of it.
        shown = len(alike) if len(alike) <= MAX_FINDINGS_OF_A_KIND + 1 else MAX_FINDINGS_OF_A_KIND
        yield from alike[:shown]
        if more := sum(finding.count for finding in alike[shown:]):
            yield Finding(alike[0].level, code, "", f"{more:,} more of this kind, --json lists them")


def validate_lines(outcome: ValidateOutcome) -> list[str]:
    """Show one validated prefix: its findings, then the closing line; and likewise how the source differs."""
    if outcome.verdict is None:
        return []
    title = one_line(outcome.destination if outcome.name is None else outcome.name)
    lines = [*findings_table(outcome.verdict), f"{title}: {verdict_line(outcome.verdict)}"]
    if outcome.comparison is not None:
        lines += [*differences_table(outcome.comparison), f"{title}: {comparison_line(outcome.comparison)}"]
    return lines


def _mend(comparison: Comparison) -> str:
    found = {(d.level, d.code) for d in comparison.differences}
    return _RUN_AGAIN + (_VANISHED if (Level.ERROR, Code.SOURCE_VANISHED) in found else "")


def validate_error_lines(outcomes: Sequence[ValidateOutcome]) -> list[str]:
    """Tell what could not be read, and what mends a run's leavings and counts that differ; else empty."""
    problems = [Problem(o.name or "", o.error, o.hint) for o in outcomes if o.error is not None]
    problems += [
        Problem(o.name or "", "a run has not ended, or has not published everything", _FINISH)
        for o in outcomes
        if o.verdict is not None
        and not o.verdict.passed
        and any(finding.code in _OF_A_RUN for finding in o.verdict.findings)
    ]
    problems += [
        Problem(o.name or "", "not as many rows as the source", _mend(o.comparison))
        for o in outcomes
        if o.comparison is not None and not o.comparison.passed
    ]
    return error_lines(problems)
