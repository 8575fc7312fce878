"""What the export room hands to publishing: partitions that are complete and durable, but not visible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rivet.manifest.model import Manifest, Part
from rivet.plan.layout import Partition


class StagedFile(Protocol):
    """A file under no visible name; the destination's `Staged` is one."""

    @property
    def size_bytes(self) -> int:
        """Give the bytes written so far."""

    @property
    def checksum(self) -> str | None:
        """Give the store's own checksum of the finished file, or None."""

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append bytes and return their number."""

    def finish(self) -> None:
        """Make the bytes durable."""

    def discard(self) -> None:
        """Drop the file."""


@dataclass(frozen=True, slots=True)
class StagedPart:
    """One staged Parquet file and what the manifest will say of it.

    Attributes:
        first: Smallest value of the partition column on its axis, or None.
        last: Largest, closed.
    """

    facts: Part
    file: StagedFile
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class StagedPartition:
    """All parts of one partition, with its manifest and marker, staged."""

    partition: Partition
    manifest: Manifest
    manifest_sha256: str
    parts: tuple[StagedPart, ...]
    manifest_file: StagedFile
    marker_file: StagedFile

    def files(self) -> tuple[StagedFile, ...]:
        """Give every staged file of the partition."""
        return (*(p.file for p in self.parts), self.manifest_file, self.marker_file)
