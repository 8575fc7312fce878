"""Probes and plans one described export, in one session, without writing anything.

Composition: the decisions are in `rivet.plan`, the questions go to the source's session.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rivet.chunked import Cutting
from rivet.config.settings import ExportSettings
from rivet.described import Described
from rivet.errors import IntegrityError, PlanError
from rivet.export.temporary import free_bytes
from rivet.manifest.model import PartitionEntry
from rivet.plan.scans import Reach, Scan, WindowCount, choose_sorter, hull_scans, plan_scans
from rivet.plan.schema import Column
from rivet.plan.selection import EVERYTHING, Selection
from rivet.plan.unrepresentable import nulled_columns
from rivet.plan.windows import Axis
from rivet.prepared import Prepared
from rivet.publish.vanished import decide_vanished, possibly_present
from rivet.source.protocol import Probe, Relation, Session
from rivet.wording import counted


def prepare(
    session: Session,
    export: ExportSettings,
    described: Described,
    *,
    count: bool,
    selection: Selection = EVERYTHING,
    is_narrowed: bool = False,
) -> Prepared:
    """Probe an export and plan its scans.

    The probe is of all rows of the relation, whatever is selected: its span tells a window that vanished from
    one that was purged (see `spanned` where the relation is narrowed).

    Args:
        count: Count every window, also where one scan would not need it.
        selection: The windows to read; everything without `partition_by`.
        is_narrowed: Whether the relation has the rows of these windows alone, or few others.

    Raises:
        PlanError: There are values that their type cannot represent, too many partitions, or a sort too
            large.
        IntegrityError: The query gives other rows each time it runs.
    """
    column, axis = described.column, described.axis
    probe = session.probe(_may_be_null(described.relation, column, export), column)
    nulled = nulled_columns(described.relation.columns, probe, export.unrepresentable)
    if nulled:
        described = replace(described, relation=replace(described.relation, nulled=nulled))
    expected = probe.rows if described.is_steady else None
    whole = Scan(Reach.EVERYTHING, expected_rows=expected)
    if export.chunks is not None:
        cutting = Cutting(session, export, export.chunks, described, probe)
        return _chunked(cutting, export, described, probe, selection)
    if column is None or axis is None:
        return Prepared(described, probe, None, (whole,), 0)
    preparation = _Preparation(
        session,
        export,
        described,
        probe,
        column=column,
        axis=axis,
        selection=selection,
        is_narrowed=is_narrowed,
    )
    return preparation.run(whole, count=count)


def _chunked(
    cutting: Cutting, export: ExportSettings, described: Described, probe: Probe, selection: Selection
) -> Prepared:
    counts = cutting.counts(selection)
    limit = export.max_partitions
    held = sum(selection.holds(c.window) for c in counts)
    if held > limit:
        raise PlanError(
            f"{export.where}.max_partitions: {held} windows that hold rows, and at most {limit} are allowed",
            hint="use a coarser partition_granularity, or raise max_partitions",
        )
    scans = cutting.scans()
    held_counts = None if described.axis is None else counts
    advice = tuple(cutting.advice(scans))
    return Prepared(described, probe, held_counts, scans, 0, selection, advice)


def _may_be_null(relation: Relation, column: Column | None, export: ExportSettings) -> Relation:
    """Tell the probe that the partition column's unrepresentable values are NULL, if there are any."""
    if column is None or export.unrepresentable == "error":
        return relation
    return replace(relation, nulled=frozenset({column.name}))


def spanned(
    session: Session,
    export: ExportSettings,
    whole: Described,
    prepared: Prepared,
    entries: Iterable[PartitionEntry],
) -> Prepared:
    """Say of a plan for some windows alone that it is one, and where the source ends if that may matter.

    It does where a selected partition has no rows any more, and where empty windows become partitions. Where
    windows were not counted, all that are selected are known to hold rows.

    Args:
        whole: With the relation of all rows.
        entries: The live partitions of the tree.
    """
    axis, column = whole.axis, whole.column
    chosen = [e for e in entries if prepared.is_selected(e)]
    present = {e.path for e in chosen}
    if prepared.counts is not None:
        present = possibly_present(chosen, axis, prepared.probe, prepared.counts)
    matters = not export.skip_empty or not whole.is_steady or any(e.path not in present for e in chosen)
    span = session.span(whole.relation, column) if matters and column is not None else None
    return replace(prepared, is_narrowed=True, source_span=span)


def refuse_vanished(export: ExportSettings, prepared: Prepared, entries: Iterable[PartitionEntry]) -> None:
    """Refuse, before anything is read, what the probe alone shows to have vanished from a tree.

    Raises:
        PlanError: With labels, counts and the choices.
    """
    described, probe = prepared.described, prepared.probe
    if described.is_steady:
        entries = [e for e in entries if prepared.is_selected(e)]
        present = possibly_present(entries, described.axis, probe, prepared.counts)
        span = prepared.source_span if prepared.is_narrowed else probe.span
        decide_vanished(entries, present, policy=export.vanished, axis=described.axis, span=span)


class _Preparation:
    """The planning of one partitioned export, which counts windows once where anything needs them."""

    def __init__(
        self,
        session: Session,
        export: ExportSettings,
        described: Described,
        probe: Probe,
        *,
        column: Column,
        axis: Axis,
        selection: Selection,
        is_narrowed: bool,
    ) -> None:
        self._session = session
        self._export = export
        self._described = described
        self._column = column
        self._axis = axis
        self._probe = probe
        self._selection = selection
        self._is_narrowed = is_narrowed
        self._counts: tuple[WindowCount, ...] | None = () if probe.minimum is None else None

    def run(self, whole: Scan, *, count: bool) -> Prepared:
        if count:
            self._window_counts()
        self._limit_partitions()
        scans, sort_bytes = self._limit_sort(self._choose_scans(whole))
        if len(scans) == 1 and scans[0].reach is Reach.EVERYTHING:
            sorter = choose_sorter(self._export.sort, self._session.advised_sorter, sort_bytes, free_bytes())
            scans = (replace(scans[0], sorter=sorter),)
        return Prepared(self._described, self._probe, self._counts, scans, sort_bytes, self._selection)

    def _window_counts(self) -> tuple[WindowCount, ...]:
        if self._counts is None:
            relation = self._described.relation
            counts = tuple(self._session.count_windows(relation, self._column, self._axis, self._probe.span))
            found = sum(c.rows for c in counts) + self._probe.null_partition_rows
            if self._described.is_steady and found != self._probe.rows:
                raise IntegrityError(
                    f"the query gave {counted(self._probe.rows, 'row')} at first and {found:,} when counted "
                    "by window",
                    hint="a query that gives other rows each time it runs (LIMIT without a total order, "
                    "random(), now()) cannot be exported by partition",
                )
            self._counts = counts
        return self._counts

    def _limit_partitions(self) -> None:
        minimum, maximum = self._probe.minimum, self._probe.maximum
        limit = self._export.max_partitions
        if minimum is None or maximum is None:
            return
        held = self._selection.window_count(self._axis, minimum, maximum)
        if held > limit and self._export.skip_empty:
            held = sum(self._selection.holds(c.window) for c in self._window_counts())
        if held > limit:
            kind = "windows that hold rows" if self._export.skip_empty else "windows, empty ones included,"
            raise PlanError(
                f"{self._export.where}.max_partitions: {held} {kind} from {self._axis.format(minimum)!r} to "
                f"{self._axis.format(maximum)!r}, and at most {limit} are allowed",
                hint="use a coarser partition_granularity, or raise max_partitions",
            )

    def _choose_scans(self, whole: Scan) -> tuple[Scan, ...]:
        steady, indexed = self._described.is_steady, self._described.is_indexed
        rows, limit = self._probe.rows, self._export.max_scan_rows
        if self._export.scan == "per_partition":
            if not steady:
                raise PlanError(
                    f"{self._export.where}.scan: several scans need a snapshot: "
                    f"{self._described.relation.consistency_reason}",
                    hint="set scan: single, or store the rows in a table of their own",
                )
            return self._several(1)
        # A relation of the selected windows alone is read as any other is.
        is_part = not self._selection.is_everything and not self._is_narrowed
        if self._export.scan == "auto" and steady and indexed and (is_part or rows > limit):
            return self._several(limit)
        return self._part_without_index(whole) if is_part and steady else (whole,)

    def _part_without_index(self, whole: Scan) -> tuple[Scan, ...]:
        """Read from the first selected window to the last, and the NULL rows; or everything, if most is read.

        Each scan passes over the whole table, but what it leaves out is neither sorted nor sent.
        """
        null_rows = self._probe.null_partition_rows
        scans = hull_scans(self._window_counts(), null_rows, self._selection)
        wanted = sum(s.expected_rows or 0 for s in scans)
        is_whole = wanted * 2 > self._probe.rows or (self._export.scan == "single" and len(scans) > 1)
        return (whole,) if is_whole else scans

    def _several(self, max_scan_rows: int) -> tuple[Scan, ...]:
        null_rows = self._probe.null_partition_rows
        return plan_scans(
            self._window_counts(), null_rows, max_scan_rows=max_scan_rows, selection=self._selection
        )

    def _limit_sort(self, scans: tuple[Scan, ...]) -> tuple[tuple[Scan, ...], int]:
        """Hold the largest sort within the limit, by smaller scans where an index serves them."""
        limit = self._export.max_sort_size_bytes
        size = self._largest_sort(scans)
        may_split = self._export.scan == "auto" and self._described.is_steady and self._described.is_indexed
        if size > limit and may_split:
            rows = max(s.expected_rows or 0 for s in scans)
            scans = self._several(max(1, rows * limit // (2 * size)))
            size = self._largest_sort(scans)
        if size > limit:
            raise PlanError(
                f"{self._export.where}.max_sort_size: about {size:,} bytes would have to be sorted, and at "
                f"most {limit:,} are allowed",
                hint="create an index that leads with the partition column, or raise max_sort_size",
            )
        return scans, size

    def _largest_sort(self, scans: Sequence[Scan]) -> int:
        ordered = [s for s in scans if s.reach is not Reach.NULLS]
        if not ordered:
            return 0
        largest = max(ordered, key=lambda s: s.expected_rows or 0)
        return self._session.sort_bytes(self._described.relation, self._column, largest)
