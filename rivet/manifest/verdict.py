"""Findings of a validation, as values; nothing here is raised."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a finding is: an error changes what a reader gets, a note does not."""

    ERROR = "error"
    NOTE = "note"


class Code(StrEnum):
    """What a finding is, in stable words for machines; `docs/manifest.md` explains each."""

    NOTHING_FOUND = "nothing_found"

    EXPORT_UNREADABLE = "export_unreadable"
    EXPORT_VERSION = "export_version"
    EXPORT_INCONSISTENT = "export_inconsistent"
    EXPORT_PARTIAL = "export_partial"
    EXPORT_UNFINISHED = "export_unfinished"
    TOTALS_DIFFER = "totals_differ"

    PARTITION_MISSING = "partition_missing"
    PARTITION_UNLISTED = "partition_unlisted"
    PARTITION_RENAMED = "partition_renamed"
    PARTITION_CHANGED = "partition_changed"
    PARTITION_FOREIGN = "partition_foreign"
    PARTITION_FAILED = "partition_failed"
    PARTITION_UNFINISHED = "partition_unfinished"
    PARTITION_SCHEMA = "partition_schema"

    MANIFEST_MISSING = "manifest_missing"
    MANIFEST_UNREADABLE = "manifest_unreadable"
    MANIFEST_VERSION = "manifest_version"
    MANIFEST_INCONSISTENT = "manifest_inconsistent"
    ZONE_DIFFERS = "zone_differs"
    MARKER_MISSING = "marker_missing"
    MARKER_DIFFERS = "marker_differs"

    PART_MISSING = "part_missing"
    PART_UNREADABLE = "part_unreadable"
    PART_SIZE = "part_size"
    PART_DIGEST = "part_digest"
    PART_ROWS = "part_rows"
    PART_SCHEMA = "part_schema"
    PART_BOUNDS = "part_bounds"
    PART_OUTSIDE_WINDOW = "part_outside_window"

    UNLISTED_PARQUET = "unlisted_parquet"
    UNLISTED_FILE = "unlisted_file"

    SOURCE_DIFFERS = "source_differs"
    SOURCE_NOT_EXPORTED = "source_not_exported"
    SOURCE_VANISHED = "source_vanished"
    SOURCE_UNREPRESENTABLE = "source_unrepresentable"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a validation found.

    Attributes:
        level: ERROR or NOTE.
        code: A stable word for machines, one of `Code`.
        path: The object or partition, from the validated prefix; empty for the prefix itself.
        message: What was seen and what was expected.
        count: How many findings it stands for: those that were too many to be kept are told as one.
    """

    level: Level
    code: str
    path: str
    message: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a validation of one partition or one root.

    Attributes:
        prefix: What was validated, for people.
        depth: `quick` or `full`.
        partitions: How many manifests were read.
        parts: How many of the parts they list are there.
        rows: Rows of these parts by their own footers.
        size_bytes: Size of these parts.
        findings: The export file's first, then each partition's, then other files'.
    """

    prefix: str
    depth: str
    partitions: int
    parts: int
    rows: int
    size_bytes: int
    findings: tuple[Finding, ...] = ()

    @property
    def passed(self) -> bool:
        """Tell whether no finding is an error."""
        return all(f.level is not Level.ERROR for f in self.findings)
