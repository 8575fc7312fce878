"""Keeps what a failed run has published (`resume: reuse`), so that the next one reads the rest alone.

Composition: what is whole is found in `rivet.publish`, what is left to read is said in `rivet.plan`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from rivet import TOOL
from rivet.config.settings import ExportSettings
from rivet.destination.protocol import Destination
from rivet.errors import DestinationUnavailable
from rivet.manifest.model import PartitionEntry
from rivet.plan.schema import schema_json
from rivet.plan.selection import Selection
from rivet.plan.windows import NULL_VALUE, Axis
from rivet.preparing.described import Described
from rivet.publish.left_behind import left_behind
from rivet.publish.tree import Tree
from rivet.wording import counted

_SHOWN_RUNS = 3


def settings_digest(export: ExportSettings, described: Described, source: str) -> str:
    """Digest all that an export's rows and bytes depend on, but for the rows of the source.

    Args:
        source: Names the database.
    """
    relation, partitioning = described.relation, described.layout.partitioning
    axis = described.axis
    facts = [
        TOOL,
        [described.engine, source, relation.table, relation.query_sha256, export.exclude],
        schema_json(described.written),
        None
        if partitioning is None or axis is None
        else [partitioning.column, partitioning.key, partitioning.template, partitioning.in_files],
        None if axis is None else [axis.kind, axis.granularity, axis.timezone],
        [export.mode, export.unrepresentable, described.layout.manifest_name],
        [export.compression, export.compression_level, export.max_file_size_bytes],
    ]
    return "sha256:" + hashlib.sha256(json.dumps(facts, ensure_ascii=False).encode()).hexdigest()


def finished_partitions(
    export: ExportSettings, described: Described, destination: Destination, tree: Tree, source: str
) -> Mapping[str, PartitionEntry]:
    """Give by path the partitions that are not to be read again; none with `resume: redo`.

    Nor are there any where the user names the windows, or where changes are looked for: the watermark would
    say of what is not read again that it holds changes that came since.

    Args:
        source: Names the database.
    """
    if export.resume == "redo" or export.incremental is not None or export.asked:
        return {}
    digest = settings_digest(export, described, source)
    return left_behind(destination, described.layout, tree, digest)


def without_finished(
    selection: Selection, entries: Mapping[str, PartitionEntry], axis: Axis | None
) -> Selection:
    """Leave out the windows of partitions that are finished."""
    if axis is None:
        return selection
    labels = [e.value for e in entries.values() if e.value is not None]
    windows = [window for label in labels if (window := axis.window_of_label(label)) is not None]
    return selection.without(windows, nulls=NULL_VALUE in labels)


def require_finished(finished: Mapping[str, PartitionEntry], entries: Mapping[str, PartitionEntry]) -> None:
    """Hold a recovered tree to what was found in it before the lock was taken.

    Raises:
        DestinationUnavailable: A partition that is not read again was changed by somebody else since.
    """
    for path, entry in finished.items():
        found = entries.get(path)
        if found is None or found.manifest_sha256 != entry.manifest_sha256:
            raise DestinationUnavailable(
                f"partition {path!r} has changed since it was found finished by run {entry.run_id!r}",
                hint="run the same command again",
            )


def finished_told(entries: Mapping[str, PartitionEntry]) -> list[str]:
    """Tell people what is not read again, and whose it is."""
    if not entries:
        return []
    runs = sorted({e.run_id for e in entries.values()})
    shown = ", ".join(map(repr, runs[:_SHOWN_RUNS])) + (", …" if len(runs) > _SHOWN_RUNS else "")
    rows = counted(sum(e.row_count for e in entries.values()), "row")
    whose = f"{'run' if len(runs) == 1 else 'runs'} {shown}"
    partitions = counted(len(entries), "partition")
    return [f"resume: reuse keeps {partitions} with {rows} of {whose}: the tree is of more than one moment"]
