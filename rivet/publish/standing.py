"""What stands in a tree while a run is at work on it, as its export file tells it.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rivet.manifest.model import ExportFile, PartitionEntry, Pending, Status, UnfinishedRun
from rivet.plan.names import run_id_of_part
from rivet.plan.windows import NULL_VALUE
from rivet.publish.failing import Failures
from rivet.publish.tree import Tree


class Standing:
    """The partitions that stand, by path, and the runs that they are of.

    Args:
        blank: The export file of this run with nothing in it.

    Attributes:
        entries: The partitions that stand now.
        has_published: Whether this run has changed any.
    """

    def __init__(self, tree: Tree, blank: ExportFile) -> None:
        self.entries = dict(tree.entries)
        self.has_published = False
        self._export = tree.export
        self._blank = blank
        self._unfinished = () if tree.export is None else tree.export.unfinished_runs
        self._killed = _killed_runs(tree, blank.run_id)

    def begin(self) -> None:
        """Count this run among the unfinished, as it is about to publish."""
        own = tuple(u for u in self._blank.unfinished_runs if u not in self._unfinished)
        self._unfinished = (*self._unfinished, *own)

    def doubt(self) -> None:
        """Let no other run take for finished what this one has published."""
        self._unfinished = tuple(u for u in self._unfinished if u.run_id != self._blank.run_id)

    def confirm(self, path: str) -> None:
        """Say of a partition that holds this run's rows already."""
        self.entries[path] = replace(self.entries[path], state="live", confirmed_by=self._blank.run_id)

    def unfinished(self) -> ExportFile:
        """Give the export file while this run is not complete: with the facts of the run before, if any."""
        runs = self._runs()
        if self._export is None:
            status: Status = "partial" if self.entries else "publishing"
            return self._listing(replace(self._blank, status=status, unfinished_runs=runs))
        # A run that was killed before it published has left the tree as it was.
        pending = self._export.pending
        is_partial = self.has_published or (pending is not None and bool(pending.partitions))
        status = "partial" if is_partial else self._export.status
        return self._listing(replace(self._export, status=status, unfinished_runs=runs))

    def ended(self, finished: ExportFile, failures: Failures) -> ExportFile:
        """Give the export file of the run that has ended: complete, or partial where partitions failed.

        Args:
            finished: Its facts, without partitions.
        """
        if failures.errors:
            return self._partial(finished, failures)
        self.entries = {path: replace(e, confirmed_by=None) for path, e in self.entries.items()}
        # One that failed in an earlier run, and that this one was not to read, is still missing or old.
        is_partial = any(e.state == "failed" for e in self.entries.values())
        status: Status = "partial" if is_partial else "complete"
        return self._listing(replace(finished, status=status, unfinished_runs=()))

    def _partial(self, finished: ExportFile, failures: Failures) -> ExportFile:
        self.begin()  # it may have failed before it published anything
        source = finished.source
        for path, partition in failures.partitions.items():
            entry = self.entries.get(path) or PartitionEntry(
                partition.value, path, "failed", finished.run_id, source.consistency, 0, 0, ""
            )
            self.entries[path] = replace(entry, state="failed")
        unsettled = tuple(failures.unsettled)
        partial = self._listing(replace(finished, status="partial", unfinished_runs=self._runs()))
        return replace(partial, pending=Pending(finished.run_id, unsettled) if unsettled else None)

    def _runs(self) -> tuple[UnfinishedRun, ...]:
        of_standing = {self._blank.run_id}
        of_standing |= {run for e in self.entries.values() for run in (e.run_id, e.confirmed_by) if run}
        return tuple(u for u in self._unfinished if u.run_id in of_standing)

    def _listing(self, export: ExportFile) -> ExportFile:
        entries = in_order(self.entries.values())
        rows = sum(e.row_count for e in entries)
        return replace(export, partitions=entries, row_count=rows, pending=None, killed_runs=self._killed)


def _killed_runs(tree: Tree, run_id: str) -> tuple[str, ...]:
    """Give the runs that never ended and may have parts in the tree still, or staged ones.

    The listing after a run was killed may have left some out, and readers that glob would count their rows
    once it shows them: so what it tells of that run is not believed before another run's listing has.
    """
    export = tree.export
    if export is None:
        return ()
    shown = {run_id_of_part(name.rpartition("/")[2]) for name in tree.sizes} | tree.spared
    killed = [run_id for run_id in export.killed_runs if run_id in shown]
    last = [] if export.pending is None else [export.pending.run_id]
    return tuple(one for one in dict.fromkeys([*killed, *last]) if one != run_id)


def in_order(entries: Iterable[PartitionEntry]) -> tuple[PartitionEntry, ...]:
    """Sort entries, NULL last; labels sort by their windows, which for years 0 to 9999 is as text."""
    return tuple(sorted(entries, key=lambda e: (e.value == NULL_VALUE, e.value or "")))
