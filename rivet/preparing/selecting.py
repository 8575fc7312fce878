"""Decides which windows of an export a run reads: those that the user asks for, that have changed, or all.

Composition: the decisions are in `rivet.plan`, the questions go to the source's session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rivet.config.read_settings import IncrementalSettings
from rivet.config.settings import ExportSettings
from rivet.errors import PlanError
from rivet.manifest.model import PartitionEntry
from rivet.plan.asked import last_windows, selection_asked
from rivet.plan.changes import changed_columns
from rivet.plan.cursor import Cursor, CursorValue, Touched, lagging
from rivet.plan.scans import WindowCount
from rivet.plan.schema import Column, schema_json
from rivet.plan.selection import EVERYTHING, Selection, in_few_ranges, joined, selected
from rivet.plan.watermark import Watermark, read_watermark
from rivet.plan.windows import NULL_LABEL, NULL_VALUE, Axis
from rivet.preparing.described import Described
from rivet.publish.tree import Tree
from rivet.source.protocol import Session
from rivet.wording import counted

# SQLite allows an expression a depth of 1,000; what lies in narrow gaps is read and not written.
_MAX_RANGES = 200


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a run reads.

    Attributes:
        described: Its relation has the rows of the selected windows alone, where not everything is read.
        selection: The windows that are read and published.
        is_narrowed: Whether the relation has these windows' rows alone, or few others.
        holds_rows: Whether each of them is known to hold rows, or everything is read.
        adds_from: Bound of the cursor, closed, past which alone rows are read, and added to what stands; or
            None.
        watermark: Up to where the tree holds what has changed, once the run is complete; None: as it stands.
        why: What the selection comes from, for people; empty where everything is read as a matter of course.
        warnings: Lines for people.
    """

    described: Described
    selection: Selection = EVERYTHING
    is_narrowed: bool = False
    holds_rows: bool = True
    adds_from: CursorValue | None = None
    watermark: Watermark | None = None
    why: str = ""
    warnings: tuple[str, ...] = ()


def reads_all(export: ExportSettings) -> bool:
    """Tell whether an export reads everything, whatever stands in its tree."""
    return export.incremental is None and export.refresh_windows is None and not export.asked


def watermark_of(tree: Tree) -> Watermark | None:
    """Give the watermark of a tree, or None where it has none."""
    return None if tree.export is None else read_watermark(tree.export.extra)


def watermark_after(chosen: Chosen, tree: Tree) -> Watermark | None:
    """Give the watermark of a tree after a run that is complete.

    A run of another mode keeps it; what was added to the tree is no more once everything is written anew.
    """
    known = watermark_of(tree)
    if chosen.watermark is not None or known is None or not chosen.selection.is_everything:
        return chosen.watermark or known
    return replace(known, adds=False)


def choose(session: Session, export: ExportSettings, described: Described, tree: Tree) -> Chosen:
    """Choose the windows to read.

    Raises:
        PlanError: A name, a date or a label stands against the export, or the tree against what is asked.
    """
    column, axis = described.column, described.axis
    if reads_all(export):
        return Chosen(described)
    if column is None or axis is None:
        if export.asked:
            raise PlanError(
                f"{export.where}: --since, --until and --partition select windows, and without partition_by "
                "there is one partition",
                hint="leave them out, or name the exports with partition_by by --export",
            )
        return Chosen(described)
    chosen = _Choosing(session, export, described, tree, column=column, axis=axis).choose()
    if chosen.selection.is_everything:
        return chosen
    narrowed = chosen.described
    if not chosen.is_narrowed:
        narrowed = narrowed_to(session, export, described, column, chosen.selection)
    relation = session.weighed(narrowed.relation, export.max_sort_size_bytes)
    return replace(chosen, described=replace(narrowed, relation=relation), is_narrowed=True)


def asked_in_vain(export: ExportSettings, tree: Tree, counts: Sequence[WindowCount] | None) -> list[str]:
    """Warn of partitions that are asked for by label, of which there is nothing at the source or in the tree.

    Args:
        counts: Of the windows that hold rows; None where they were not counted.
    """
    if counts is None or not export.skip_empty:  # then an empty window becomes a partition
        return []
    known = {NULL_LABEL, NULL_VALUE, *(c.label for c in counts), *(e.value for e in tree.entries.values())}
    unknown = [label for label in export.asked.partitions if label not in known]
    return [f"--partition {label}: neither the source nor the tree has rows of it" for label in unknown]


def narrowed_to(
    session: Session, export: ExportSettings, described: Described, column: Column, selection: Selection
) -> Described:
    """Give an export of the rows of some windows alone, or few others."""
    relation = described.relation
    if export.unrepresentable == "null":  # such values are in the NULL partition
        relation = replace(relation, nulled=relation.nulled | {column.name})
    narrowed = session.narrowed(relation, column, in_few_ranges(selection, _MAX_RANGES))
    return replace(described, relation=replace(narrowed, nulled=described.relation.nulled))


class _Choosing:
    """The choice for one partitioned export."""

    def __init__(
        self,
        session: Session,
        export: ExportSettings,
        described: Described,
        tree: Tree,
        *,
        column: Column,
        axis: Axis,
    ) -> None:
        self._session = session
        self._export = export
        self._described = described
        self._tree = tree
        self._column = column
        self._axis = axis

    def choose(self) -> Chosen:
        incremental, cursor = self._export.incremental, self._described.cursor
        if self._export.asked:
            return self._asked()
        if incremental is not None and cursor is not None:
            return self._incremental(incremental, cursor, watermark_of(self._tree))
        stale = self._staleness()
        refreshed = None if stale else self._refreshed()
        if refreshed is None:
            return self._everything(None, stale)
        return Chosen(self._described, refreshed, holds_rows=False, why=self._refresh_told())

    def _asked(self) -> Chosen:
        words = self._export.asked
        selection = selection_asked(
            self._axis, since=words.since, until=words.until, partitions=words.partitions
        )
        stale = self._staleness()
        if stale and any(not self._is_selected(e, selection) for e in self._tree.entries.values()):
            raise PlanError(
                f"{stale}: partitions that are not read would not fit those that are",
                hint="run once without --since, --until and --partition, which reads everything",
            )
        told = [
            f"{option} {value}"
            for option, value in (("--since", words.since), ("--until", words.until))
            if value is not None
        ]
        told += [f"--partition {label}" for label in words.partitions]
        return Chosen(self._described, selection, holds_rows=False, why=" ".join(told))

    def _incremental(
        self, incremental: IncrementalSettings, cursor: Cursor, known: Watermark | None
    ) -> Chosen:
        stale = self._staleness()
        if known is None and self._tree.entries:
            is_lost = self._tree.export is None
            stale = stale or ("the export file is lost" if is_lost else "the tree has no watermark yet")
        elif known is not None and not known.is_of(cursor):
            stale = stale or f"the watermark of the tree is of column {known.column!r}"
        if known is None or stale:
            self._refuse_to_replace(known, stale)
            touched = self._touched(cursor, None)
            watermark = Watermark.of(cursor, None, touched.highest, adds=self._export.adds_rows)
            return self._everything(watermark, stale)
        bound = lagging(known.value, incremental.lag, cursor, f"{self._export.where}.lag")
        touched = self._touched(cursor, bound)
        parts = [selected((w.window for w in touched.windows), nulls=touched.null_rows > 0)]
        windows = counted(len(touched.windows) + (touched.null_rows > 0), "partition")
        since = f"{cursor.column.name!r} = {known.with_value(bound).text}"
        told = [f"{windows} with {counted(touched.rows, 'row')} from {since} on"]
        if self._export.adds_rows:
            relation = self._session.changed(self._described.relation, cursor, bound)
            return Chosen(
                replace(self._described, relation=relation),
                parts[0],
                is_narrowed=True,
                adds_from=bound,
                watermark=Watermark.of(cursor, known.value, touched.highest, adds=True),
                why=f"strategy: append, {told[0]}",
            )
        if incremental.verify_counts:
            parts.append(self._miscounted())
            more = sum(self._is_selected(e, parts[-1]) for e in self._tree.entries.values())
            told.append(f"{counted(more, 'partition')} of another count")
        if self._export.refresh_windows is not None and (refreshed := self._refreshed()) is not None:
            parts.append(refreshed)
            told.append(self._refresh_told())
        failed = [e for e in self._tree.entries.values() if e.state == "failed"]
        parts.append(self._of_entries(failed))
        selection = joined(parts)
        return Chosen(
            self._described,
            selection,
            holds_rows=selection == parts[0],
            watermark=Watermark.of(cursor, known.value, touched.highest, adds=known.adds),
            why="; ".join(told),
        )

    def _refuse_to_replace(self, known: Watermark | None, stale: str) -> None:
        """Refuse to read everything where rows that the source has no more, and versions, would go."""
        has_added = self._tree.export is None or (known is not None and known.adds)
        if self._export.adds_rows and has_added and self._tree.entries:
            raise PlanError(
                f"{self._export.where}.strategy: {stale}: nothing can be added to what stands",
                hint="run once with mode: full, which writes the tree anew as the source has it; or give the "
                "export a root of its own",
            )

    def _everything(self, watermark: Watermark | None, stale: str) -> Chosen:
        warnings = (f"{stale}: everything is read",) if stale else ()
        return Chosen(self._described, watermark=watermark, warnings=warnings)

    def _touched(self, cursor: Cursor, since: CursorValue | None) -> Touched:
        return self._session.touched(self._described.relation, self._column, self._axis, cursor, since)

    def _refreshed(self) -> Selection | None:
        labels = [e.value for e in self._tree.entries.values()]
        now = self._session.now(self._axis.kind)
        return last_windows(labels, self._export.refresh_windows or 0, self._axis, now)

    def _refresh_told(self) -> str:
        return f"refresh_windows: {self._export.refresh_windows}"

    def _miscounted(self) -> Selection:
        """Select the windows of which the source and the tree have another number of rows."""
        windows, others = self._session.census(self._described.relation, self._column, self._axis)
        live = {e.value: e.row_count for e in self._tree.entries.values() if e.state == "live"}
        differing = [w.window for w in windows if live.get(w.label) != w.rows]
        at_source = {w.label for w in windows}
        gone = [
            e
            for e in self._tree.entries.values()
            if e.state == "live" and e.value not in at_source and e.value != NULL_VALUE and e.row_count
        ]
        nulls = live.get(NULL_VALUE, 0) != others
        return joined([selected(differing, nulls=nulls), self._of_entries(gone)])

    def _of_entries(self, entries: Sequence[PartitionEntry]) -> Selection:
        windows = (self._axis.window_of_label(e.value) for e in entries if e.value is not None)
        return selected(
            (w for w in windows if w is not None), nulls=any(e.value == NULL_VALUE for e in entries)
        )

    def _is_selected(self, entry: PartitionEntry, selection: Selection) -> bool:
        return selection.holds_value(entry.value, self._axis)

    def _staleness(self) -> str:
        """Say why partitions that stand do not go with those that would be read now; empty where they do."""
        export = self._tree.export
        if export is None or not self._tree.entries:
            return ""
        changes = changed_columns(export.schema, schema_json(self._described.written))
        if changes:
            return f"the columns have changed since run {export.run_id!r}: {changes}"
        relation, before = self._described.relation, export.source
        if (before.table, before.query_sha256) != (relation.table, relation.query_sha256):
            return f"the tree is of another {'query' if before.table is None else f'table, {before.table!r}'}"
        return ""
