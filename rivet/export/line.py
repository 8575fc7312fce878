"""A line on which one partition follows the other, gathered into row groups and handed to an encoder."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import pyarrow as pa

from rivet.export.chunk_keeping import Noted, TakenChunk, TakenPart
from rivet.export.finishing import Budget, Finisher
from rivet.export.parts import ROW_GROUP_ROWS, ParquetSettings, PartitionWriter
from rivet.export.row_groups import RowGroup
from rivet.export.staged import StagedFile, StagedPart
from rivet.plan.layout import Partition


class Works(Protocol):
    """What all lines share: the stager."""

    @property
    def settings(self) -> ParquetSettings:
        """Say how parts are written."""

    @property
    def budget(self) -> Budget:
        """Give what bounds the rows that wait for encoders."""

    @property
    def finisher(self) -> Finisher:
        """Give what makes files durable."""

    def clock(self) -> str:
        """Give the present."""

    def begin_part(
        self, partition: Partition, number: int, files: list[StagedFile]
    ) -> tuple[str, StagedFile]:
        """Begin a part's file, and give its name too."""

    def take_part(self, partition: Partition, part: TakenPart, number: int) -> StagedPart:
        """Give a part that was staged before its number and name."""

    def close(self, ended: OpenPartition) -> None:
        """Have a partition's manifest and marker made, once its encoder is done."""

    def discard(self, files: list[StagedFile]) -> None:
        """Drop files, and forget them."""


@dataclass(slots=True)
class OpenPartition:
    """The partition under way, and the rows of it that wait for a whole row group."""

    partition: Partition
    writer: PartitionWriter
    begun_at: str
    gathered: RowGroup
    encoder: ThreadPoolExecutor
    files: list[StagedFile]


class Line:
    """Takes runs of rows, partition after partition; used from one thread.

    Args:
        encoders: Gives the encoder of each next partition.
    """

    def __init__(self, works: Works, encoders: Iterator[ThreadPoolExecutor]) -> None:
        self._works = works
        self._encoders = encoders
        self._encoding: deque[Future[object]] = deque()
        self._open: OpenPartition | None = None

    def write(self, partition: Partition, rows: pa.RecordBatch) -> None:
        """Take the next rows; a new partition ends the partition before it.

        Raises:
            RivetError: What the encoder or the destination ran into since the last call.
        """
        if self._open is None or self._open.partition.path != partition.path:
            self._begin(partition)
        opened = self._begun
        while (rows := opened.gathered.fill(rows)).num_rows:
            self._encode_gathered(opened)
            opened.gathered = self._row_group()

    def end_chunk(self, noted: Noted) -> None:
        """End the part under way with the rows so far, and have the parts of the chunk noted when durable."""
        opened, finisher = self._begun, self._works.finisher
        self._encode_gathered(opened)
        opened.gathered = self._row_group()

        def end() -> None:
            parts = opened.writer.end_chunk()
            finisher.then(lambda: noted(parts))

        self._encoding.append(opened.encoder.submit(end))

    def take_over(self, partition: Partition, chunk: TakenChunk) -> None:
        """Put the parts of a chunk that is not read behind those of its partition."""
        if self._open is None or self._open.partition.path != partition.path:
            self._begin(partition)
        opened, works = self._begun, self._works

        def take() -> None:
            for part in chunk.parts:
                opened.writer.add(partial(works.take_part, partition, part))

        self._encoding.append(opened.encoder.submit(take))

    def end_partition(self) -> None:
        """End the partition under way, if there is one; a later row of it would be a second partition."""
        ended, self._open = self._open, None
        if ended is not None:
            self._encode_gathered(ended)
            self._works.close(ended)

    def drop_partition(self) -> None:
        """Forget the partition under way, and discard what was staged of it."""
        dropped, self._open = self._open, None
        if dropped is None:
            return
        dropped.encoder.submit(dropped.writer.close).result()
        self._works.finisher.wait()
        self._works.discard(dropped.files)

    def wait(self) -> None:
        """Wait until all rows that were handed over are encoded; other threads may call it, too."""
        for encoded in tuple(self._encoding):
            encoded.result()

    @property
    def _begun(self) -> OpenPartition:
        assert self._open is not None  # noqa: S101 - for mypy: rows of it have come
        return self._open

    def _begin(self, partition: Partition) -> None:
        self.end_partition()
        files: list[StagedFile] = []
        works = self._works
        writer = PartitionWriter(
            works.settings,
            lambda number: works.begin_part(partition, number, files),
            works.finisher.submit,
        )
        self._open = OpenPartition(
            partition, writer, works.clock(), self._row_group(), next(self._encoders), files
        )

    def _row_group(self) -> RowGroup:
        return RowGroup(ROW_GROUP_ROWS, self._works.settings.row_group_bytes)

    def _encode_gathered(self, partition: OpenPartition) -> None:
        rows, writer, budget = partition.gathered, partition.writer, self._works.budget
        if rows.is_empty:
            return
        # Only the oldest: of many small partitions thousands may wait, and each new one would look at all.
        while self._encoding and _succeeded(self._encoding[0]):
            self._encoding.popleft()
        self._works.finisher.raise_failure()
        budget.take(rows.size_bytes)

        def encode() -> None:
            try:
                writer.write(rows)
            finally:
                budget.give(rows.size_bytes)

        self._encoding.append(partition.encoder.submit(encode))


def _succeeded(future: Future[object]) -> bool:
    """Tell whether a future is done, raising its error where it failed."""
    if not future.done():
        return False
    future.result()
    return True
