"""Describes one export: its columns, what the config's names mean among them, and where it will lie.

Composition: the decisions are in `rivet.plan`, the questions go to the source's session.
"""

from __future__ import annotations

from dataclasses import dataclass

from rivet.config.read_settings import IncrementalSettings
from rivet.config.settings import ExportSettings
from rivet.errors import SourceError, SourceUnavailable
from rivet.plan.advice import cursor_advice, key_advice, reader_advice, source_advice, zone_advice
from rivet.plan.calendar import Granularity
from rivet.plan.cursor import Cursor, lagging, require_alike, require_ordered
from rivet.plan.layout import Layout, Partitioning
from rivet.plan.overrides import override
from rivet.plan.resolve import require_temporal, require_told_by_path, resolve_column, resolve_key
from rivet.plan.schema import Column
from rivet.plan.windows import Axis
from rivet.source.protocol import Session
from rivet.source.relation import Consistency, Relation, Request


@dataclass(frozen=True, slots=True)
class Described:
    """An export whose columns and layout are known; nothing has been counted.

    Attributes:
        column: The partition column, or None.
        cursor: What tells when a row was last changed, in `mode: incremental`; else None.
        unique_key: Names of the columns that no two rows share, where the config says so.
        in_chunks: Many queries read each partition, which follow something else than the partition column.
    """

    relation: Relation
    engine: str
    column: Column | None
    layout: Layout
    cursor: Cursor | None = None
    unique_key: tuple[str, ...] = ()
    in_chunks: bool = False

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
        lines = [*self.relation.warnings, *zone_advice(self.layout), *key_advice(self.layout)]
        if not self.is_steady:
            lines.append(
                f"consistency is {self.relation.consistency.value}: {self.relation.consistency_reason}"
            )
        return lines

    @property
    def advice(self) -> list[str]:
        """List all that a user should know before the first run."""
        relation = self.relation
        sorted_by = None if self.in_chunks else self.column
        return [
            *self.run_advice,
            *reader_advice(self.written, self.layout),
            *source_advice(
                sorted_by, indexed=self.is_indexed, table=relation.table, primary_key=relation.primary_key
            ),
            *cursor_advice(self.cursor, relation.indexed),
        ]

    @property
    def is_steady(self) -> bool:
        """Tell whether all queries of a session see one moment."""
        return self.relation.consistency is Consistency.SNAPSHOT

    @property
    def is_indexed(self) -> bool:
        """Tell whether an index leads with the partition column."""
        return self.column is not None and self.column.name in self.relation.indexed


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
    cursor = None if export.incremental is None else _cursor(session, export, relation, export.incremental)
    key_names = () if export.incremental is None else export.incremental.unique_key
    where = f"{export.where}.unique_key"
    unique_key = tuple(
        resolve_column(relation.columns, name, where, left_out=export.exclude).name for name in key_names
    )
    in_chunks = export.chunks is not None
    return Described(relation, session.engine, column, layout, cursor, unique_key, in_chunks)


def _cursor(
    session: Session, export: ExportSettings, relation: Relation, incremental: IncrementalSettings
) -> Cursor:
    def found(name: str, key: str) -> Column:
        where = f"{export.where}.{key}"
        column = resolve_column(relation.columns, name, where, left_out=export.exclude)
        require_ordered(column, session.engine, where)
        return column

    column = found(incremental.cursor_column, "cursor_column")
    fallback = incremental.fallback_column
    cursor = Cursor(column, None if fallback is None else found(fallback, "cursor_fallback_column"))
    require_alike(cursor, f"{export.where}.cursor_fallback_column")
    lagging(0, incremental.lag, cursor, f"{export.where}.lag")
    return cursor


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
            hint="mend that, store the rows in a table of their own, or set consistency: statement",
        )
