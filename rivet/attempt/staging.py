"""Says in what form the rows of an export are staged: what of them is written, and into which files."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rivet.attempt.record import Record
from rivet.export.parts import ParquetSettings
from rivet.export.scan import Shape
from rivet.export.stage import ENCODERS, Stager
from rivet.manifest.model import Manifest
from rivet.plan.layout import Partition
from rivet.plan.names import SUCCESS_FILE
from rivet.preparing.described import Described


def shape_of(described: Described) -> Shape:
    """Say what the batches of an export hold, and what of it is written."""
    names = tuple(c.name for c in described.relation.columns)
    nulled = tuple(name for name in names if name in described.relation.nulled)
    partitioning = described.layout.partitioning
    dropped = None if partitioning is None or partitioning.in_files else partitioning.column
    return Shape(names, nulled, dropped)


def stager_of(
    record: Record,
    unrepresentable: Mapping[str, Mapping[str, int]],
    at_once: int = 1,
    extend: Callable[[Partition, Manifest], Manifest] = lambda _, manifest: manifest,
    *,
    lasts: bool = False,
) -> Stager:
    """Make what stages the rows of an export, and describes them as the record does.

    Args:
        at_once: Scans that are read at once; each of several has one encoder.
        unrepresentable: Rows by path and column with NULL for a value that cannot be represented, as they are
            counted by the time a partition ends.
        lasts: Parts are staged so as to outlast the run, should it fail.
        extend: Adds to a partition's manifest what stands in it, where rows are added to that.
    """
    export, described, destination = record.export, record.described, record.destination
    column, layout = described.column, described.layout
    return Stager(
        ParquetSettings(
            export.compression,
            export.compression_level,
            export.max_file_size_bytes,
            sorted_by=column.name if column is not None and column in described.written else None,
            axis=described.axis,
            is_sorted=export.chunks is None,
            cursor=described.cursor if export.adds_rows else None,
        ),
        part_name=lambda partition, number: layout.part_name(partition, record.run_id, number),
        stage=lambda path: destination.stage(path, record.run_id),
        manifest_name=layout.manifest_name,
        success_name=SUCCESS_FILE,
        describe=lambda partition, parts, begun_at: extend(
            partition,
            record.manifest(partition, parts, begun_at, unrepresentable.get(partition.path, {})),
        ),
        clock=record.clock,
        encoders=max(ENCODERS, at_once),
        stage_part=(lambda path: destination.stage_lasting(path, record.run_id)) if lasts else None,
    )
