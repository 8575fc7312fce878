"""Entries for tests."""

from __future__ import annotations

from rivet.ledger.entries import ChangeEntry, ExportEntry, RunEntry


def run(number: int, *, day: str = "2026-01-01", **more: object) -> RunEntry:
    """Make a run; a later number started later on the same day."""
    entry = {
        "run_id": f"{day.replace('-', '')}T{number:06}Z-0123abcd",
        "tool": "rivet-export 0",
        "host": "night",
        "pid": 7,
        "source": "PostgreSQL database 'shop'",
        "started_at": f"{day}T00:00:00.{number:06}Z",
    }
    return RunEntry(**(entry | more))  # type: ignore[arg-type]


def export(position: int = 0, name: str = "events", *, published: int = 0, **more: object) -> ExportEntry:
    """Make an export that has ended well, with so many partitions published."""
    made = tuple(ChangeEntry(f"day {n}", "written", n, 10 * n) for n in range(published))
    entry = {"status": "complete", "exit_code": 0, "rows": 12, "changes": made}
    return ExportEntry(position, name, f"/srv/{name}/", **(entry | more))  # type: ignore[arg-type]
