"""Says how a run over one export has ended: the span of its source, windows without rows, the export file.

Composition: a view of what was planned and what came through.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from rivet.attempt.adding import Addition
from rivet.attempt.record import Record
from rivet.export.scan import Account
from rivet.manifest.model import ExportFile
from rivet.plan.layout import Partition
from rivet.preparing.prepared import Prepared
from rivet.preparing.selecting import watermark_of
from rivet.publish.tree import Tree
from rivet.publish.unread import unrepresentable_unread
from rivet.source.relation import Consistency


@dataclass(frozen=True, slots=True)
class Ending:
    """What is known of an export once all of it was read.

    Attributes:
        tree: As it stood before.
        adding: What stands where rows are added, or None.
    """

    record: Record
    prepared: Prepared
    account: Account
    tree: Tree
    adding: Addition | None

    @property
    def consistency(self) -> Consistency:
        """Give that of all rows: those of chunks that were taken over are of another moment."""
        return Consistency.NONE if self.prepared.taken else self.record.described.relation.consistency

    @property
    def span(self) -> tuple[int, int] | None:
        """Give the smallest and the largest value of the source, both closed, or None."""
        seen = self.prepared.probe.span if self.account.failed else self.account.span
        return self.prepared.span_of_source(seen)

    def empty_partitions(self) -> list[Partition]:
        """Give the windows between the first and the last that hold no rows."""
        account, described = self.account, self.record.described
        empty: list[Partition] = []
        if described.axis is None or self.span is None:
            return empty
        minimum, maximum = self.span
        window = described.axis.window_of(minimum)
        while window.start <= maximum:
            partition = described.layout.partition(window)
            is_known = partition.path in account.by_path or partition.path in account.failed
            if not is_known and self.prepared.selection.holds(window):
                empty.append(partition)
            window = described.axis.window_of(window.end)
        return empty

    def export_file(self, failed: Collection[str]) -> ExportFile:
        """Give the export file of the run, still without its partitions.

        Args:
            failed: Paths of the partitions that could not be read or published.
        """
        account, prepared, record = self.account, self.prepared, self.record
        layout, axis = record.described.layout, record.described.axis
        if failed and record.export.adds_rows:  # what they lack is found again from the same bound
            record = replace(record, watermark=watermark_of(self.tree))
        if self.adding is not None:
            rows = self.adding.unrepresentable_rows(self.tree, failed)
            return record.finished_in_part(self.span, rows, beside_others=True)
        if account.failed:
            probe, rows = prepared.probe, account.unrepresentable_rows_written
            return record.finished(self.span, probe.rows, probe.null_partition_rows, rows)
        if prepared.selection.is_everything:
            null_rows = 0 if axis is None else account.by_path.get(layout.partition(None).path, 0)
            ended = record.finished(account.span, account.rows, null_rows, account.unrepresentable_rows)
            return replace(ended, source=replace(ended.source, consistency=self.consistency.value))
        unread = [entry for entry in self.tree.entries.values() if not prepared.is_selected(entry)]
        rows = account.unrepresentable_rows_written + unrepresentable_unread(
            record.destination, layout, self.tree, unread
        )
        return record.finished_in_part(self.span, rows, beside_others=bool(unread or prepared.taken))
