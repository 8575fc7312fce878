"""The history of runs for people: one line for each export of a run, the latest first.

Pure.
"""

from __future__ import annotations

from rivet.ledger.entries import HistoryEntry
from rivet.outcome import HistoryOutcome
from rivet.report.table import table
from rivet.report.wording import duration, one_line

_HEADER = ("started (UTC)", "export", "outcome", "rows", "written", "unchanged", "removed", "took", "run")
_NUMBERS = {3, 4, 5, 6, 7}


def history_lines(outcome: HistoryOutcome) -> list[str]:
    """Lay out what the ledger holds as a table, and below it the error of each export that failed."""
    if outcome.entries is None:
        return [f"no history yet: there is no ledger in {one_line(outcome.ledger)}"]
    if not outcome.entries:
        return [f"no such run in the ledger, {one_line(outcome.ledger)}"]
    failed = [e for e in outcome.entries if e.export.error is not None]
    return [
        f"history in {one_line(outcome.ledger)}:",
        *(f"  {line}" for line in table(_HEADER, [_row(e) for e in outcome.entries], numbers=_NUMBERS)),
        *(one_line(f"  {e.run.run_id} {e.export.name}: {e.export.error}") for e in failed),
    ]


def _row(entry: HistoryEntry) -> tuple[str, ...]:
    export = entry.export
    code = f" ({export.exit_code})" if export.exit_code else ""
    done = export.status == "complete"
    return (
        entry.run.started_at[:19].replace("T", " "),
        export.name,
        export.status + code,
        "" if export.rows is None else f"{export.rows:,}",
        f"{export.partitions_written:,}" if done else "",
        f"{export.partitions_unchanged:,}" if done else "",
        f"{export.partitions_removed:,}" if done else "",
        "" if export.duration_seconds is None else duration(export.duration_seconds),
        entry.run.run_id,
    )
