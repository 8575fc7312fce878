"""Merges the parts of partitions that runs have added to; no row changes, and the source is not asked.

Composition: parts are read and compared in `rivet.export`, and published as those of a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from rivet import TOOL
from rivet.config.settings import ExportSettings
from rivet.destination.bounded import read_bounded
from rivet.destination.digesting import sha256_of
from rivet.destination.protocol import Destination, Lasting, Staged
from rivet.errors import IntegrityError, ObjectNotFound, PlanError, RivetError
from rivet.events import Event
from rivet.export.merging import are_same, rows_of
from rivet.export.parts import ParquetSettings
from rivet.export.readable import ReadablePart
from rivet.export.stage import Stager
from rivet.export.staged import StagedPart, StagedPartition
from rivet.exporting import Context, in_turn
from rivet.lock.turn import Turn
from rivet.manifest.codec import MAX_BYTES, DecodeError, decode_export
from rivet.manifest.model import ExportFile, Manifest, PartitionEntry
from rivet.outcome import ExportOutcome, changes_of
from rivet.plan.calendar import Granularity
from rivet.plan.cursor import Cursor
from rivet.plan.layout import Layout, Partition, Partitioning
from rivet.plan.names import EXPORT_FILE, LOCK_FILE, PART_SUFFIX, SUCCESS_FILE
from rivet.plan.schema import Column, ColumnType, Kind
from rivet.plan.watermark import read_watermark
from rivet.plan.windows import NULL_VALUE, Axis
from rivet.publish.publisher import Publisher
from rivet.publish.recover import recover
from rivet.publish.tree import Tree, damaged, listed_manifest, read_tree
from rivet.wording import counted

COMPACTING = "compacting"
"""The key of an export file, while partitions are merged, that names the run which does it."""


def compact_export(context: Context, export: ExportSettings) -> ExportOutcome:
    """Merge the parts of each partition that has parts of several runs.

    Raises:
        PlanError: There is no tree, or its last run has not reached its end.
        IntegrityError: What stands is not what its manifest says.
        LockHeld: Another run is at work on it.
    """
    context.listener(Event("started", export.name, f"looking at {export.destination.label}"))
    return in_turn(
        context,
        export,
        lambda destination, turn: turn.take(lambda: _Compaction(context, export, destination, turn).run()),
    )


class _Compaction:
    """The merging of one export's partitions."""

    def __init__(
        self, context: Context, export: ExportSettings, destination: Destination, turn: Turn
    ) -> None:
        self._context = context
        self._export = export
        self._destination = destination
        self._turn = turn
        self._found = _read_export(destination)
        self._layout = _layout_of(export, self._found)
        self._manifests: dict[str, Manifest] = {}
        self._merged: dict[str, Lasting] = {}

    def run(self) -> ExportOutcome:
        """Merge, compare, publish."""
        tree = read_tree(self._destination, self._layout)
        _require_ended(self._found, self._destination)
        if self._found.pending is None and not _mergeable(tree):
            if LOCK_FILE in tree.sizes:  # of a run that was killed, or that is to be waited for
                self._turn.hold()
                recover(self._destination, self._layout, tree, self._turn)
            return self._outcome(self._found, 0, 0, tree.warnings())
        self._turn.hold()
        tree = recover(self._destination, self._layout, tree, self._turn)
        told = {**self._found.extra, COMPACTING: self._context.run_id}
        announced = replace(tree, export=replace(self._found, status="complete", extra=told))
        blank = replace(
            self._found, tool=TOOL, run_id=self._context.run_id, status="publishing", unfinished_runs=()
        )
        publisher = Publisher(self._destination, self._layout, announced, blank, fence=self._turn)
        publisher.begin()
        try:
            with self._stager() as stager:
                merged = self._merge(stager, _mergeable(tree))
                publisher.publish(merged)
                # The export file goes back to the run before: what is staged after that, nobody would know.
                self._destination.sweep([self._context.run_id])
                extra = {key: value for key, value in self._found.extra.items() if key != COMPACTING}
                finished = publisher.complete(replace(self._found, status="complete", extra=extra))
        except BaseException:
            with suppress(RivetError):
                publisher.abandon()
            raise
        published = publisher.published
        return self._outcome(finished, published.written, published.bytes_written, tree.warnings())

    def _merge(self, stager: Stager, entries: Sequence[PartitionEntry]) -> list[StagedPartition]:
        """Stage the rows of partitions anew, and read them again beside those that stand."""
        for entry in entries:
            partition = Partition(entry.value, None, entry.path)
            for rows in rows_of(self._standing(entry)):
                stager.write(partition, rows)
            stager.end_partition()
        merged = stager.take()
        for entry, staged in zip(entries, merged, strict=True):
            new = [self._readable(part, staged.partition) for part in staged.parts]
            is_whole = staged.manifest.row_count == entry.row_count
            if not (is_whole and are_same(rows_of(self._readables(entry)), rows_of(new))):
                raise IntegrityError(
                    f"partition {entry.path!r}: merged, its rows are not those that stand",
                    hint="nothing was changed; merge again, and if it fails again, report it",
                )
        return merged

    def _standing(self, entry: PartitionEntry) -> list[ReadablePart]:
        """Give the parts of a partition, each of which holds the very bytes that its manifest says."""
        manifest = listed_manifest(self._destination, self._layout, entry)
        self._manifests[entry.path] = manifest
        parts = self._readables(entry)
        for part, readable in zip(manifest.parts, parts, strict=True):
            try:
                with readable.open() as file:
                    digest = sha256_of(file)
            except ObjectNotFound as error:
                raise damaged(entry, f"{readable.name} is not there") from error
            if digest != part.sha256:
                raise damaged(entry, f"{readable.name} is not what its manifest says")
        return parts

    def _readables(self, entry: PartitionEntry) -> list[ReadablePart]:
        partition = Partition(entry.value, None, entry.path)
        paths = [(partition.child(p.path), p.size_bytes) for p in self._manifests[entry.path].parts]
        opened = self._destination.open
        return [
            ReadablePart(self._destination.uri + path, partial(opened, path, size)) for path, size in paths
        ]

    def _readable(self, part: StagedPart, partition: Partition) -> ReadablePart:
        lasting = self._merged[partition.child(part.facts.path)]
        return ReadablePart(part.facts.path, partial(self._destination.open_left, lasting.left))

    def _stager(self) -> Stager:
        layout, partitioning = self._layout, self._layout.partitioning
        told = partitioning is not None and partitioning.in_files
        return Stager(
            ParquetSettings(
                self._export.compression,
                self._export.compression_level,
                self._export.max_file_size_bytes,
                sorted_by=partitioning.column if told and partitioning is not None else None,
                axis=None if partitioning is None else partitioning.axis,
                is_sorted=False,
                cursor=self._cursor(),
            ),
            part_name=lambda partition, number: layout.part_name(partition, self._context.run_id, number),
            stage=self._stage,
            manifest_name=layout.manifest_name,
            success_name=SUCCESS_FILE,
            describe=self._manifest,
            clock=self._context.clock,
        )

    def _stage(self, path: str) -> Staged:
        """Begin a file; parts are such that they can be read before they are published."""
        if not path.endswith(PART_SUFFIX):
            return self._destination.stage(path, self._context.run_id)
        self._merged[path] = self._destination.stage_lasting(path, self._context.run_id)
        return self._merged[path]

    def _cursor(self) -> Cursor | None:
        """Give the cursor whose values parts tell, as far as the tree knows it."""
        mark = read_watermark(self._found.extra)
        names = {column["name"] for column in self._found.schema}
        if mark is None or not names.issuperset({mark.column, mark.fallback_column} - {None}):
            return None
        of = ColumnType(mark.kind)
        fallback = None if mark.fallback_column is None else Column(mark.fallback_column, of, "")
        return Cursor(Column(mark.column, of, ""), fallback)

    def _manifest(self, partition: Partition, parts: Sequence[StagedPart], begun_at: str) -> Manifest:
        standing, partitioning = self._manifests[partition.path], self._layout.partitioning
        facts = [part.facts for part in parts]
        if partitioning is not None and not partitioning.in_files:
            ends = standing.parts[0].minimum, standing.parts[-1].maximum
            facts = [replace(part, minimum=ends[0], maximum=ends[1]) for part in facts]
        return replace(
            standing,
            tool=TOOL,
            run_id=self._context.run_id,
            started_at=begun_at,
            finished_at=self._context.clock(),
            destination={"kind": self._destination.kind, "uri": self._destination.uri + partition.path},
            compression=self._export.compression,
            row_count=sum(part.row_count for part in facts),
            size_bytes=sum(part.size_bytes for part in facts),
            parts=tuple(facts),
        )

    def _outcome(
        self, export: ExportFile, written: int, bytes_written: int, warnings: Sequence[str]
    ) -> ExportOutcome:
        told = f"{counted(written, 'partition')} merged"
        self._context.listener(Event("published", self._export.name, told, {"written": written}))
        return ExportOutcome(
            self._export.name,
            "complete",
            0,
            self._destination.uri,
            rows=export.row_count,
            null_rows=sum(e.row_count for e in export.partitions if e.value == NULL_VALUE),
            partitions=len(export.partitions),
            partitions_written=written,
            partitions_unread=len(export.partitions) - written,
            changes=changes_of(export, self._context.run_id),
            bytes_written=bytes_written,
            consistency=export.source.consistency,
            warnings=tuple(warnings),
        )


def _mergeable(tree: Tree) -> list[PartitionEntry]:
    return [entry for entry in tree.entries.values() if entry.part_runs]


def _read_export(destination: Destination) -> ExportFile:
    name = f"{destination.uri}{EXPORT_FILE}"
    try:
        return decode_export(read_bounded(destination, EXPORT_FILE, MAX_BYTES))
    except ObjectNotFound as error:
        raise PlanError(f"{name} is not there", hint="run the export first") from error
    except DecodeError as error:
        raise IntegrityError(f"{name}: {error}", hint="restore the file") from error


def _require_ended(export: ExportFile, destination: Destination) -> None:
    """Refuse a tree that lacks rows, or may: merging must not call it complete."""
    pending = export.pending
    is_own = pending is not None and export.extra.get(COMPACTING) == pending.run_id
    if export.status != "complete" and not is_own:
        raise PlanError(
            f"{destination.uri}{EXPORT_FILE}: the last run has not reached its end",
            hint="run the export, and merge its parts then",
        )


def _layout_of(export: ExportSettings, found: ExportFile) -> Layout:
    """Give the layout of a tree by what its export file says of it."""
    manifest_name, facts = export.destination.manifest_name, found.partition
    if facts is None:
        return Layout(export.name, manifest_name, None)
    types = {str(column["name"]): column["type"] for column in found.schema}
    try:
        # What is left out of the files is a date by day.
        kind = Kind(str(types.get(facts.column, Kind.DATE)))
        axis = Axis(kind, Granularity(facts.granularity), facts.timezone or "UTC")
    except ValueError as error:
        raise IntegrityError(f"{EXPORT_FILE}: $.partition: {error}", hint="restore the file") from error
    template = export.destination.template
    partitioning = Partitioning(facts.column, facts.key, axis, template, facts.column in types)
    return Layout(export.name, manifest_name, partitioning)
