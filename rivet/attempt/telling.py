"""Tells what becomes of one export, as events for whoever listens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rivet.events import Event, Listener
from rivet.preparing.prepared import Prepared
from rivet.wording import counted


class Telling:
    """Tells the plan of one export, its progress and its end.

    Args:
        uploaded_bytes: Gives the bytes that have gone up to the destination so far.
    """

    def __init__(
        self, listener: Listener, name: str, prepared: Prepared, uploaded_bytes: Callable[[], int]
    ) -> None:
        self._listener = listener
        self._name = name
        self._prepared = prepared
        self._uploaded_bytes = uploaded_bytes
        self._rows = 0

    def plan(self, warnings: Sequence[str]) -> None:
        """Tell what there is to know beforehand, and what was planned."""
        for warning in warnings:
            self._listener(Event("warning", self._name, warning))
        described, probe, scans = self._prepared.described, self._prepared.probe, len(self._prepared.queries)
        facts: dict[str, object] = {
            "rows": probe.rows,
            "null_rows": probe.null_partition_rows,
            "unrepresentable_rows": dict(probe.unrepresentable),
            "scans": scans,
            "scans_at_once": self._prepared.at_once,
            "indexed": described.is_indexed,
            "sort_bytes": self._prepared.sort_bytes,
            "consistency": described.relation.consistency.value,
        }
        message = f"{counted(probe.rows, 'row')}, {counted(scans, 'scan')}"
        if self._prepared.at_once > 1:
            message += f", {self._prepared.at_once} at once"
        if self._prepared.block_ranges > 1:
            message += f" by {self._prepared.block_ranges} connections"
        if self._prepared.why:
            message += f", by {self._prepared.why}"
        self._listener(Event("planned", self._name, message, facts))

    def rows(self, rows: int) -> None:
        """Tell the rows that the source has sent; where they are sorted here they pass once more."""
        self._rows = max(self._rows, rows)
        self._progress({"rows": self._rows})

    def wave(self, published: int, of: int) -> None:
        """Tell how many partitions are published, and of how many."""
        self._progress({"rows": self._rows, "published": published, "to_publish": of})

    def published(self, *, written: int, unchanged: int, removed: int, bytes_written: int) -> None:
        """Tell what publishing has changed."""
        facts: dict[str, object] = {
            "written": written,
            "unchanged": unchanged,
            "removed": removed,
            "bytes_written": bytes_written,
        }
        self._listener(Event("published", self._name, f"{counted(written, 'partition')} published", facts))

    def _progress(self, facts: dict[str, object]) -> None:
        facts |= {"of": self._prepared.probe.rows, "uploaded_bytes": self._uploaded_bytes()}
        self._listener(Event("progress", self._name, "", facts))
