"""Where everything of one export lands below its root.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from rivet.plan.names import child, part_name, partition_directory
from rivet.plan.windows import NULL_VALUE, Axis, Window, told_label

PLACEHOLDER = "{partition}"

# What stands in a part's name for an export without partitions.
_WHOLE_LABEL = "all"


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition to be written.

    Attributes:
        value: Its label, `NULL_VALUE` for the NULL partition; None for an export without `partition_by`.
        window: Its window; None for the NULL partition and without `partition_by`.
        path: Its directory from the root, without a final slash; empty at the root itself.
    """

    value: str | None
    window: Window | None
    path: str

    def child(self, name: str) -> str:
        """Give the path of a file in this partition, from the root."""
        return child(self.path, name)


@dataclass(frozen=True, slots=True)
class Partitioning:
    """How rows fall into partitions: by which column, on which axis, under which key and path template.

    Attributes:
        in_files: Whether the column stands in the files too, not only in the path.
    """

    column: str
    key: str
    axis: Axis
    template: str
    in_files: bool = True


@dataclass(frozen=True, slots=True)
class Layout:
    """The names of one export; `partitioning` is None where the whole export is one partition at the root."""

    export_name: str
    manifest_name: str
    partitioning: Partitioning | None

    def partition(self, window: Window | None) -> Partition:
        """Give the partition of a window; None is the NULL partition, or the only one there is."""
        if self.partitioning is None:
            return Partition(None, None, "")
        value = NULL_VALUE if window is None else window.label
        return Partition(value, window, self.directory(value))

    def directory(self, value: str | None) -> str:
        """Give the directory of the partition with a label, from the root; None: of the only one there is."""
        if self.partitioning is None or value is None:
            return ""
        own = partition_directory(self.partitioning.key, value)
        return self.partitioning.template.replace(PLACEHOLDER, own)

    def part_name(self, partition: Partition, run_id: str, number: int) -> str:
        """Name a part of a partition."""
        label = _WHOLE_LABEL if partition.value is None else told_label(partition.value)
        return part_name(self.export_name, label, run_id, number)
