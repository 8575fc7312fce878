"""Plans the scans of one export that has a partition column.

Composition: the decisions are in `rivet.plan`, the questions go to the source's session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rivet.config.settings import ExportSettings
from rivet.errors import IntegrityError, PlanError
from rivet.plan.pace import Pace, rows_within, too_long
from rivet.plan.scans import Reach, Scan, Sorter, WindowCount, hull_scans, largest_of, plan_scans
from rivet.plan.schema import Column
from rivet.plan.selection import Selection
from rivet.plan.sorting import cost_told
from rivet.plan.ways import (
    Choice,
    Circumstances,
    Way,
    choose_way,
    is_passing,
    passes_advice,
)
from rivet.plan.windows import Axis
from rivet.preparing.described import Described
from rivet.preparing.ordering import Ordering, ordering_of
from rivet.preparing.prepared import Prepared
from rivet.source.protocol import Probe, Session
from rivet.wording import counted


def may_split(export: ExportSettings, described: Described) -> bool:
    """Tell whether what one scan would read may be read by several, each by an index, in one snapshot."""
    return export.scan == "auto" and described.is_steady and described.is_indexed


class Windowing:
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
        pace: Pace | None,
    ) -> None:
        self._session = session
        self._export = export
        self._described = described
        self._column = column
        self._axis = axis
        self._probe = probe
        self._selection = selection
        self._is_narrowed = is_narrowed
        self._pace = pace
        self._counts: tuple[WindowCount, ...] | None = () if probe.minimum is None else None

    def run(self, whole: Scan, *, count: bool) -> Prepared:
        """Choose the scans, and who sorts each.

        Args:
            whole: The scan of everything.
            count: Count every window, also where nothing here needs it.

        Raises:
            PlanError: There are too many partitions, a sort is too large, or scans would pass over too much.
            IntegrityError: The query gives other rows each time it runs.
        """
        if count:
            self._window_counts()
        self._limit_partitions()
        choice, scans = self._choose_scans(whole)
        choice, scans, sort_bytes = self._order(choice, scans)
        advice = tuple(self._advice(choice, scans))
        return Prepared(
            self._described,
            self._probe,
            self._counts,
            scans,
            sort_bytes,
            self._selection,
            advice,
            choice=choice,
        )

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

    def _choose_scans(self, whole: Scan) -> tuple[Choice, tuple[Scan, ...]]:
        export, relation = self._export, self._described.relation
        if export.scan == "per_partition" and not self._described.is_steady:
            raise PlanError(
                f"{export.where}.scan: several scans need a snapshot: {relation.consistency_reason}",
                hint="set scan: single, or store the rows in a table of their own",
            )
        limit, bound = rows_within(export.max_scan_rows, export.max_scan_seconds, self._pace)
        given = Circumstances(
            column=self._column.name,
            unsteady="" if self._described.is_steady else relation.consistency_reason,
            is_indexed=self._described.is_indexed,
            # A relation of the selected windows alone is read as any other is.
            is_part=not self._selection.is_everything and not self._is_narrowed,
            rows=self._probe.rows,
            max_scan_rows=limit,
            bound=bound,
        )
        choice = choose_way(export.scan, given)
        if choice.way is Way.SINGLE:
            return choice, (whole,)
        if choice.way is Way.SPAN:
            return self._span(choice, whole)
        return choice, self._several(choice.max_scan_rows)

    def _span(self, choice: Choice, whole: Scan) -> tuple[Choice, tuple[Scan, ...]]:
        """Read from the first selected window to the last, and the NULL rows; or everything, if most is read.

        Each scan passes over the whole table, but what it leaves out is neither sorted nor sent.
        """
        null_rows = self._probe.null_partition_rows
        scans = hull_scans(self._window_counts(), null_rows, self._selection)
        wanted = sum(s.expected_rows or 0 for s in scans)
        if wanted * 2 > self._probe.rows or (self._export.scan == "single" and len(scans) > 1):
            return replace(choice, way=Way.SINGLE), (whole,)
        return choice, scans

    def _several(self, max_scan_rows: int) -> tuple[Scan, ...]:
        null_rows = self._probe.null_partition_rows
        return plan_scans(
            self._window_counts(), null_rows, max_scan_rows=max_scan_rows, selection=self._selection
        )

    def _order(self, choice: Choice, scans: tuple[Scan, ...]) -> tuple[Choice, tuple[Scan, ...], int]:
        """Say who sorts, and hold what the source sorts within the limit, if an index serves smaller scans.

        One pass whose rows Rivet sorts reads less than several scans, whose rows are to be sorted as well.

        Raises:
            PlanError: Nobody may sort, with the mend.
        """
        found = self._ordering(scans)
        limit, size = self._export.max_sort_size_bytes, found.source_bytes
        is_sorted_here = found.sorter is Sorter.RIVET and [s.reach for s in scans] == [Reach.EVERYTHING]
        if size > limit and not is_sorted_here and may_split(self._export, self._described):
            rows = max(1, (largest_of(scans).expected_rows or 0) * limit // (2 * size))
            why = f"in one, about {size:,} bytes would have to be sorted, more than max_sort_size allows"
            choice, scans = Choice(Way.BOUNDED, why, rows), self._several(rows)
            found = self._ordering(scans)
        sorter = found.sorter
        if isinstance(sorter, PlanError):
            raise sorter
        rows = (largest_of(scans).expected_rows or self._probe.rows) if scans else 0
        told = cost_told(sorter, rows, found.source_bytes, found.detour)
        if told:
            which = "" if len(scans) == 1 else "of the largest scan's rows: "
            choice = replace(choice, why=f"{choice.why}; {which}{told}")
        scans = tuple(s if s.reach is Reach.NULLS else replace(s, sorter=sorter) for s in scans)
        return choice, scans, found.sort_bytes

    def _ordering(self, scans: Sequence[Scan]) -> Ordering:
        """Decide by the largest scan; nobody sorts the NULL rows."""
        ordered = [s for s in scans if s.reach is not Reach.NULLS]
        if not ordered:
            return Ordering(Sorter.SOURCE, 0)
        relation, scan = self._described.relation, largest_of(ordered)
        return ordering_of(self._session, self._export, relation, self._column, scan)

    def _advice(self, choice: Choice, scans: tuple[Scan, ...]) -> list[str]:
        """Say which scans pass over the table once more for want of an index, and which take too long.

        Raises:
            PlanError: So many do that nobody can have meant it.
        """
        export, relation, name = self._export, self._described.relation, self._column.name
        lines = []
        if choice.way is Way.PER_PARTITION and not self._described.is_indexed and len(scans) > 1:
            rows = max(self._probe.rows, relation.estimated_rows or 0)
            part, whole = (
                self._session.estimate(relation, self._column, replace(scan, sorter=Sorter.RIVET))
                for scan in (largest_of(scans), Scan(Reach.EVERYTHING))
            )
            if is_passing(part, whole):
                lines.append(passes_advice(len(scans), rows, name, export.where))
        mend = (
            "a finer partition_granularity or `mode: chunked` makes it shorter"
            if self._described.is_indexed and self._described.is_steady and export.scan != "single"
            else f"several short ones need an index that leads with {name!r}, a snapshot and `scan: auto`"
        )
        rows = (largest_of(scans).expected_rows or self._probe.rows) if scans else 0
        line = too_long(rows, export.max_scan_seconds, self._pace, where=export.where, mend=mend)
        return [*lines, *([] if line is None else [line])]
