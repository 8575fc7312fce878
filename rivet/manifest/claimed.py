"""What a tree says it holds, as its manifests tell it: what can be compared with counts of the source.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from rivet.manifest.model import ExportPartitionFacts, Manifest, PartitionFacts


@dataclass(frozen=True, slots=True)
class ClaimedPartition:
    """One partition that has a manifest.

    Attributes:
        value: Its label, `__HIVE_DEFAULT_PARTITION__` for the NULL partition; None without `partition_by`.
        path: From the validated prefix.
        row_count: None where the manifest cannot be read.
        started_at: When its writing began; None likewise. Later runs may have found it unchanged.
        is_kept: Whether the export file lists it as kept, since its window holds no rows any more.
    """

    value: str | None
    path: str
    row_count: int | None
    started_at: str | None
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class Claimed:
    """A root that has an export file, or one partition.

    Attributes:
        partitioning: Its template is empty where one partition alone was looked at.
        manifest_name: As the export file has it; None where one partition alone was looked at.
        started_at: When the last run began; of one partition, when its writing began.
        is_root: Whether these are all the partitions of the export.
    """

    export_name: str
    partitioning: ExportPartitionFacts | None
    manifest_name: str | None
    started_at: str
    is_root: bool
    partitions: tuple[ClaimedPartition, ...]


def claimed_by(manifest: Manifest, path: str, *, is_kept: bool = False) -> ClaimedPartition:
    """Give what a manifest says of its partition."""
    value = None if manifest.partition is None else manifest.partition.value
    return ClaimedPartition(value, path, manifest.row_count, manifest.started_at, is_kept)


def partitioning_of(facts: PartitionFacts | None) -> ExportPartitionFacts | None:
    """Give how a tree is partitioned as far as a manifest says it: without a template."""
    if facts is None:
        return None
    return ExportPartitionFacts(facts.column, facts.key, facts.granularity, facts.timezone, "")
