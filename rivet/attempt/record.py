"""Makes the manifests and the export file of one export in one run from what is known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rivet import TOOL
from rivet.clock import Clock
from rivet.config.settings import ExportSettings
from rivet.destination.protocol import Destination
from rivet.export.staged import StagedPart
from rivet.manifest.model import (
    ExportFile,
    Manifest,
    Part,
    PartitionFacts,
    SourceFacts,
    UnfinishedRun,
)
from rivet.plan.layout import Partition
from rivet.plan.schema import schema_fingerprint, schema_json
from rivet.plan.watermark import KEY, Watermark
from rivet.preparing.described import Described
from rivet.publish.tree import partition_facts
from rivet.source.relation import Consistency


@dataclass(frozen=True, slots=True)
class Record:
    """What every file that this export writes in this run has in common.

    Attributes:
        attempt: Which of the run's snapshots it is, from 1.
        settings_sha256: Digest by which another run may keep what this one publishes.
        watermark: Up to where the tree holds what has changed once the run is complete, or None.
    """

    export: ExportSettings
    described: Described
    destination: Destination
    run_id: str
    started_at: str
    clock: Clock
    settings_sha256: str
    attempt: int = 1
    watermark: Watermark | None = None

    def blank(self) -> ExportFile:
        """Give the export file of a run that has begun: no partitions, status `publishing`."""
        schema = tuple(schema_json(self.described.written))
        # What was published before it was held to any count is not kept by another run.
        is_proved = self.export.publish == "proved" or self.export.resume == "reuse"
        unfinished = (UnfinishedRun(self.run_id, self.started_at, self.settings_sha256),) if is_proved else ()
        return ExportFile(
            tool=TOOL,
            export_name=self.export.name,
            run_id=self.run_id,
            status="publishing",
            started_at=self.started_at,
            finished_at=None,
            mode=self.export.mode,
            source=self._source(),
            partition=partition_facts(self.described.layout),
            span={"minimum": None, "maximum": None},
            schema=schema,
            schema_fingerprint=schema_fingerprint(schema),
            source_rows=None,
            source_null_rows=None,
            unrepresentable_rows={},
            row_count=0,
            partitions=(),
            manifest_name=self.described.layout.manifest_name,
            unfinished_runs=unfinished,
        )

    def finished(
        self, span: tuple[int, int] | None, rows: int, null_rows: int, unrepresentable: Mapping[str, int]
    ) -> ExportFile:
        """Give the export file of a run that is complete, still without its partitions.

        Args:
            span: Smallest and largest value that the source has, both closed, or None.
            rows: All rows of the source.
            null_rows: Rows of the NULL partition; those whose value could not be represented are not NULL at
                the source.
            unrepresentable: Such values by column.
        """
        column = self.described.column
        return replace(
            self._ended(span, unrepresentable),
            source_rows=rows,
            source_null_rows=null_rows - (0 if column is None else unrepresentable.get(column.name, 0)),
        )

    def finished_in_part(
        self, span: tuple[int, int] | None, unrepresentable: Mapping[str, int], *, beside_others: bool
    ) -> ExportFile:
        """Give that of a run which has read some windows: the source's counts say nothing of the tree then.

        Args:
            unrepresentable: Of all live partitions, read or not.
            beside_others: Whether there are live partitions that were not read: together they are of no one
                moment.
        """
        ended = self._ended(span, unrepresentable)
        if not beside_others:
            return ended
        return replace(ended, source=replace(ended.source, consistency=Consistency.NONE.value))

    def _ended(self, span: tuple[int, int] | None, unrepresentable: Mapping[str, int]) -> ExportFile:
        axis = self.described.axis
        minimum, maximum = (None, None) if axis is None or span is None else map(axis.format, span)
        return replace(
            self.blank(),
            status="complete",
            finished_at=self.clock(),
            span={"minimum": minimum, "maximum": maximum},
            unrepresentable_rows=self._by_column(unrepresentable),
            extra={} if self.watermark is None else {KEY: self.watermark.to_json()},
        )

    def manifest(
        self,
        partition: Partition,
        parts: Sequence[StagedPart],
        begun_at: str,
        unrepresentable: Mapping[str, int],
    ) -> Manifest:
        """Give the manifest of a partition whose parts are all written."""
        schema = tuple(schema_json(self.described.written))
        facts = tuple(self._bounded(p.facts, partition) for p in parts)
        told = self.export.incremental is not None
        return Manifest(
            tool=TOOL,
            run_id=self.run_id,
            export_name=self.export.name,
            mode=self.export.mode,
            started_at=begun_at,
            finished_at=self.clock(),
            source=self._source_of(facts),
            partition=self._partition(partition),
            destination={"kind": self.destination.kind, "uri": self.destination.uri + partition.path},
            format="parquet",
            compression=self.export.compression,
            schema=schema,
            schema_fingerprint=schema_fingerprint(schema),
            row_count=sum(f.row_count for f in facts),
            size_bytes=sum(f.size_bytes for f in facts),
            parts=facts,
            unrepresentable_rows=self._by_column(unrepresentable),
            extra={} if not told or self.watermark is None else {KEY: self.watermark.to_json()},
        )

    def _by_column(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Put counts into the order of the columns."""
        return {c.name: counts[c.name] for c in self.described.relation.columns if counts.get(c.name)}

    def _bounded(self, part: Part, partition: Partition) -> Part:
        """Say of a part without the partition column what its one day is, as the path does."""
        partitioning, window = self.described.layout.partitioning, partition.window
        if partitioning is None or partitioning.in_files or window is None:
            return part
        day = partitioning.axis.format(window.start)
        return replace(part, minimum=day, maximum=day)

    def _source(self) -> SourceFacts:
        relation = self.described.relation
        return SourceFacts(
            self.described.engine,
            relation.consistency.value,
            relation.table,
            relation.query_sha256,
            {"attempt": self.attempt} if self.attempt > 1 else {},
        )

    def _source_of(self, parts: Sequence[Part]) -> SourceFacts:
        """Say of a partition of which moment it is: chunks may be of several, and one scan is of its own."""
        source = self._source()
        moments = {(part.extra.get("read_by"), part.extra.get("read_in_attempt")) for part in parts}
        if len(moments) > 1:
            return replace(source, consistency=Consistency.NONE.value)
        if source.consistency != Consistency.NONE.value:
            return source
        return replace(source, consistency=Consistency.STATEMENT.value)

    def _partition(self, partition: Partition) -> PartitionFacts | None:
        partitioning = self.described.layout.partitioning
        if partitioning is None or partition.value is None:
            return None
        axis, window = partitioning.axis, partition.window
        return PartitionFacts(
            column=partitioning.column,
            key=partitioning.key,
            value=partition.value,
            granularity=axis.granularity.value,
            timezone=axis.timezone,
            start=None if window is None else axis.format(window.start),
            end=None if window is None else axis.format(window.end),
            is_null=window is None,
            value_format=axis.value_format,
            reader_type=axis.reader_type,
        )
