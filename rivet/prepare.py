"""Describes, probes and plans one export, in one session, without writing anything.

Composition: the decisions are in `rivet.plan`, the questions go to the source's session.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rivet.config.settings import ExportSettings
from rivet.errors import IntegrityError, PlanError, SourceError, SourceUnavailable
from rivet.manifest.model import PartitionEntry
from rivet.plan.advice import key_advice, reader_advice, source_advice
from rivet.plan.calendar import Granularity
from rivet.plan.layout import Layout, Partitioning
from rivet.plan.overrides import override
from rivet.plan.resolve import require_temporal, require_told_by_path, resolve_column, resolve_key
from rivet.plan.scans import Reach, Scan, WindowCount, plan_scans
from rivet.plan.schema import Column
from rivet.plan.unrepresentable import nulled_columns
from rivet.plan.windows import Axis
from rivet.publish.vanished import decide_vanished, possibly_present
from rivet.source.protocol import Consistency, Probe, Relation, Request, Session


@dataclass(frozen=True, slots=True)
class Described:
    """An export whose columns and layout are known; nothing has been counted."""

    relation: Relation
    engine: str
    column: Column | None
    layout: Layout

    @property
    def axis(self) -> Axis | None:
        """Give the axis of the partition column, or None without one."""
        return None if self.layout.partitioning is None else self.layout.partitioning.axis

    @property
    def written(self) -> tuple[Column, ...]:
        """Give the columns of the files: all, unless the partition column is dropped."""
        partitioning = self.layout.partitioning
        kept = partitioning is None or partitioning.in_files
        return self.relation.columns if kept else tuple(c for c in self.relation.columns if c != self.column)

    @property
    def run_advice(self) -> list[str]:
        """List what every run should say once."""
        lines = [*self.relation.warnings, *key_advice(self.layout)]
        if not self.is_steady:
            lines.append(
                f"consistency is {self.relation.consistency.value}: {self.relation.consistency_reason}"
            )
        return lines

    @property
    def advice(self) -> list[str]:
        """List all that a user should know before the first run."""
        relation = self.relation
        return [
            *self.run_advice,
            *reader_advice(self.written, self.layout),
            *source_advice(
                self.column, indexed=self.is_indexed, table=relation.table, primary_key=relation.primary_key
            ),
        ]

    @property
    def is_steady(self) -> bool:
        """Tell whether all queries of a session see one moment."""
        return self.relation.consistency is Consistency.SNAPSHOT

    @property
    def is_indexed(self) -> bool:
        """Tell whether an index leads with the partition column."""
        return self.column is not None and self.column.name in self.relation.indexed


@dataclass(frozen=True, slots=True)
class Prepared:
    """An export that is ready to be read.

    Attributes:
        described: With the columns in its relation whose unrepresentable values are to be NULL.
        counts: Rows of each window that holds any, where they were counted.
        sort_bytes: The planner's estimate of the largest sort that the scans ask of the server.
    """

    described: Described
    probe: Probe
    counts: tuple[WindowCount, ...] | None
    scans: tuple[Scan, ...]
    sort_bytes: int


def describe(session: Session, export: ExportSettings, consistency: str | None) -> Described:
    """Describe an export's query and resolve the config's names against it.

    Args:
        consistency: What the user insists on, or None.

    Raises:
        SourceError: The table or query cannot be described.
        PlanError: A name, a type or the consistency stands against the export.
    """
    relation = _describe(session, export)
    _require_consistency(relation, consistency)
    column, partitioning = None, None
    if export.partition_by is not None:
        where = f"{export.where}.partition_by"
        column = resolve_column(relation.columns, export.partition_by, where, left_out=export.exclude)
        require_temporal(column, session.engine, where)
        key = resolve_key(relation.columns, column, export.partition_key, export.where)
        granularity = Granularity(export.partition_granularity)
        axis = Axis(column.type.kind, granularity, export.partition_timezone)
        in_files = export.partition_column == "keep"
        if not in_files:
            where = f"{export.where}.partition_column"
            require_told_by_path(column, granularity, relation.columns, where)
        partitioning = Partitioning(column.name, key, axis, export.destination.template, in_files)
    layout = Layout(export.name, export.destination.manifest_name, partitioning)
    return Described(relation, session.engine, column, layout)


def prepare(session: Session, export: ExportSettings, described: Described, *, count: bool) -> Prepared:
    """Probe an export and plan its scans.

    Args:
        count: Count every window, also where one scan would not need it.

    Raises:
        PlanError: There are values that their type cannot represent, too many partitions, or a sort too
            large.
        IntegrityError: The query gives other rows each time it runs.
    """
    column, axis = described.column, described.axis
    probe = session.probe(described.relation, column)
    nulled = nulled_columns(described.relation.columns, probe, export.unrepresentable)
    if nulled:
        described = replace(described, relation=replace(described.relation, nulled=nulled))
    expected = probe.rows if described.is_steady else None
    whole = Scan(Reach.EVERYTHING, expected_rows=expected)
    if column is None or axis is None:
        return Prepared(described, probe, None, (whole,), 0)
    return _Preparation(session, export, described, probe, column=column, axis=axis).run(whole, count=count)


def refuse_vanished(export: ExportSettings, prepared: Prepared, entries: Iterable[PartitionEntry]) -> None:
    """Refuse, before anything is read, what the probe alone shows to have vanished from a tree.

    Raises:
        PlanError: With labels, counts and the choices.
    """
    described, probe = prepared.described, prepared.probe
    if described.is_steady:
        entries = list(entries)
        present = possibly_present(entries, described.axis, probe, prepared.counts)
        decide_vanished(entries, present, policy=export.vanished, axis=described.axis, span=probe.span)


def _describe(session: Session, export: ExportSettings) -> Relation:
    overrides = {
        name: override(c.type, precision=c.precision, scale=c.scale, unit=c.unit)
        for name, c in export.columns.items()
    }
    try:
        return session.describe(Request(export.table, export.query, export.exclude, overrides))
    except SourceError as error:
        if error.hint is None and export.query is not None and not isinstance(error, SourceUnavailable):
            error.hint = "try the query in the database's own client first"
        raise


def _require_consistency(relation: Relation, wanted: str | None) -> None:
    if wanted == "snapshot" and relation.consistency is not Consistency.SNAPSHOT:
        raise SourceError(
            f"$.source.consistency: a snapshot cannot be had: {relation.consistency_reason}",
            hint="convert the table to a transactional engine, or set consistency: statement",
        )


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
    ) -> None:
        self._session = session
        self._export = export
        self._described = described
        self._column = column
        self._axis = axis
        self._probe = probe
        self._counts: tuple[WindowCount, ...] | None = () if probe.minimum is None else None

    def run(self, whole: Scan, *, count: bool) -> Prepared:
        if count:
            self._window_counts()
        self._limit_partitions()
        scans = self._choose_scans(whole)
        scans, sort_bytes = self._limit_sort(scans)
        return Prepared(self._described, self._probe, self._counts, scans, sort_bytes)

    def _window_counts(self) -> tuple[WindowCount, ...]:
        if self._counts is None:
            relation = self._described.relation
            counts = tuple(self._session.count_windows(relation, self._column, self._axis, self._probe.span))
            counted = sum(c.rows for c in counts) + self._probe.null_partition_rows
            if self._described.is_steady and counted != self._probe.rows:
                raise IntegrityError(
                    f"the query gave {self._probe.rows} rows at first and {counted} when counted by window",
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
        held = self._axis.window_count(minimum, maximum)
        if held > limit and self._export.skip_empty:
            held = len(self._window_counts())
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
                    hint="set scan: single",
                )
            return self._several(1)
        if self._export.scan == "auto" and steady and indexed and rows > limit:
            return self._several(limit)
        return (whole,)

    def _several(self, max_scan_rows: int) -> tuple[Scan, ...]:
        null_rows = self._probe.null_partition_rows
        return plan_scans(self._window_counts(), null_rows, max_scan_rows=max_scan_rows)

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
                f"{self._export.where}.max_sort_size: the server would sort about {size:,} bytes, and at "
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
