"""The manifest of a partition and the export file of a root, version 1.

Field names are those of the JSON files (`docs/manifest.md`). Instants and values are text as the files hold
them; `extra` keeps keys that this version does not know, so that a rewrite loses none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

MANIFEST_VERSION = 1
EXPORT_VERSION = 1

JsonObject = Mapping[str, object]
Status = Literal["publishing", "complete", "partial"]


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Where rows came from: engine, table or digest of the query, and how consistent the reads were."""

    engine: str
    consistency: str
    table: str | None = None
    query_sha256: str | None = None
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """Which partition this is; start is closed, end open, both None for the NULL partition.

    The NULL partition's value is `__HIVE_DEFAULT_PARTITION__`, as in its path.
    """

    column: str
    key: str
    value: str
    granularity: str
    timezone: str | None
    start: str | None
    end: str | None
    is_null: bool
    value_format: str
    reader_type: str
    calendar: str = "proleptic-gregorian"
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Part:
    """One Parquet file; path is relative to the partition, sha256 bare hex, minimum and maximum closed."""

    part_id: int
    path: str
    row_count: int
    size_bytes: int
    sha256: str
    minimum: str | None
    maximum: str | None
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The list of a partition's live parts; `partition` is None for an export without `partition_by`."""

    tool: str
    run_id: str
    export_name: str
    mode: str
    started_at: str
    finished_at: str
    source: SourceFacts
    partition: PartitionFacts | None
    destination: Mapping[str, str]
    format: str
    compression: str
    schema: tuple[JsonObject, ...]
    schema_fingerprint: str
    row_count: int
    size_bytes: int
    parts: tuple[Part, ...]
    unrepresentable_rows: Mapping[str, int]
    status: str = "complete"
    extra: JsonObject = field(default_factory=dict)

    @property
    def part_count(self) -> int:
        """Count the parts."""
        return len(self.parts)


@dataclass(frozen=True, slots=True)
class ExportPartitionFacts:
    """How the tree is partitioned; template is the path of a partition below the root, with `{partition}`."""

    column: str
    key: str
    granularity: str
    timezone: str | None
    template: str
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class PartitionEntry:
    """One partition as the export file lists it.

    Attributes:
        value: The label, `__HIVE_DEFAULT_PARTITION__` for the NULL partition; None without `partition_by`.
        path: The partition's directory from the root, without a final slash; empty at the root itself.
        state: `live`; `kept` where its window holds no rows any more; `failed` where its run could not do it.
        run_id: The run that wrote it.
        confirmed_by: An unfinished run that has read the very rows again, and left it alone; else None.
        part_runs: Other runs of which parts stand in it, to which that run has added.
    """

    value: str | None
    path: str
    state: Literal["live", "kept", "failed"]
    run_id: str
    consistency: str
    row_count: int
    size_bytes: int
    manifest_sha256: str
    confirmed_by: str | None = None
    part_runs: tuple[str, ...] = ()
    extra: JsonObject = field(default_factory=dict, hash=False)

    @property
    def runs(self) -> frozenset[str]:
        """Give all runs of which parts stand in it."""
        return frozenset({self.run_id, *self.part_runs})


@dataclass(frozen=True, slots=True)
class PendingPartition:
    """What a publish is about to change: manifest digests before and after; None where there is none."""

    value: str | None
    path: str
    old_sha256: str | None
    new_sha256: str | None
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Pending:
    """The run that has begun, and the partitions it is about to publish (none while it only stages)."""

    run_id: str
    partitions: tuple[PendingPartition, ...] = ()
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class UnfinishedRun:
    """A run that has published partitions and did not reach its end.

    Attributes:
        settings_sha256: Digest of all that its rows and bytes depend on; another run with the same may keep
            what it published.
    """

    run_id: str
    started_at: str
    settings_sha256: str
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class ExportFile:
    """The export as a whole: `_rivet_export.json` at the root.

    Attributes:
        unfinished_runs: Those since the last complete run of which a partition stands.
        killed_runs: Those that never ended, until a listing of a later run has shown no part of them.
    """

    tool: str
    export_name: str
    run_id: str
    status: Status
    started_at: str
    finished_at: str | None
    mode: str
    source: SourceFacts
    partition: ExportPartitionFacts | None
    span: Mapping[str, str | None]
    schema: tuple[JsonObject, ...]
    schema_fingerprint: str
    source_rows: int | None
    source_null_rows: int | None
    unrepresentable_rows: Mapping[str, int]
    row_count: int
    partitions: tuple[PartitionEntry, ...]
    manifest_name: str = "manifest.json"
    pending: Pending | None = None
    unfinished_runs: tuple[UnfinishedRun, ...] = ()
    killed_runs: tuple[str, ...] = ()
    extra: JsonObject = field(default_factory=dict)
