"""What keeps chunks: what an earlier run has finished is taken over, what ends is noted. Protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from rivet.export.staged import StagedFile, StagedPart
from rivet.manifest.model import Part
from rivet.plan.layout import Partition
from rivet.plan.scans import Scan
from rivet.source.protocol import Batches

Noted = Callable[[tuple[StagedPart, ...]], None]
"""Takes the parts of a chunk once they are durable."""


@dataclass(frozen=True, slots=True)
class TakenPart:
    """A staged part of a chunk that is not read again.

    Attributes:
        facts: What its manifest will say; number and name are given when it is put among the others.
        staged: Gives the staged file, to be published under a path from the root.
    """

    facts: Part
    first: int | None
    last: int | None
    staged: Callable[[str], StagedFile]


@dataclass(frozen=True, slots=True)
class TakenChunk:
    """A chunk that is not read again.

    Attributes:
        span: Smallest and largest value of the partition column, both closed, or None.
        marked: Rows with NULL for a value that cannot be represented, by column.
    """

    rows: int
    span: tuple[int, int] | None
    marked: Mapping[str, int]
    parts: tuple[TakenPart, ...]


class ChunkKeeper(Protocol):
    """Tells which chunks are not read again, and notes those that are read."""

    def taken(self, scan: Scan) -> TakenChunk | None:
        """Give a chunk that is not read again; None: it is."""

    def noted(
        self, scan: Scan, batches: Batches, partition: Partition, rows: int, marked: Mapping[str, int]
    ) -> Noted | None:
        """Give what notes a chunk that was read to its end; None: it is not noted."""


class ChunkTaker(Protocol):
    """What stages chunks: a line of the stager."""

    def end_chunk(self, noted: Noted) -> None:
        """End the part under way, and have the chunk's parts noted once they are durable."""

    def take_over(self, partition: Partition, chunk: TakenChunk) -> None:
        """Put the parts of a chunk behind those of the partition that are there."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """The keeping of chunks, and the line on which they are staged."""

    keeper: ChunkKeeper
    line: ChunkTaker


class ChunkLine(ChunkTaker, Protocol):
    """A line that takes chunks as well as rows."""

    def write(self, partition: Partition, rows: pa.RecordBatch) -> None:
        """Take the next rows of a partition."""

    def end_partition(self) -> None:
        """End the partition under way."""

    def drop_partition(self) -> None:
        """Forget the partition under way."""
