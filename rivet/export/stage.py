"""Stages partitions: their rows are encoded on threads of their own while reading goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import cycle
from typing import Self

import pyarrow as pa

from rivet.export.chunk_keeping import Noted, TakenChunk, TakenPart
from rivet.export.finishing import Budget, Finisher
from rivet.export.line import Line, OpenPartition
from rivet.export.parts import ParquetSettings, PartitionWriter
from rivet.export.staged import StagedFile, StagedPart, StagedPartition
from rivet.manifest.codec import (
    MAX_MANIFEST_BYTES,
    digest,
    encode_manifest,
    refuse_unreadable,
    success_marker,
)
from rivet.manifest.model import Manifest
from rivet.plan.layout import Partition
from rivet.wording import counted

# Arrow bytes that wait for the encoders before reading pauses, whatever the number of lines. Twice as many
# make nothing faster, measured, and take 20 MB more at the peak.
_BYTES_IN_FLIGHT = 16 * 1024**2
# Two, since encoding takes as long as everything else; more would take memory, and cores from the database.
ENCODERS = 2


class Stager:
    """Takes runs of rows, partition after partition, and stages each as parts, manifest and marker.

    Used as a context: leaving it normally waits for all that was taken; leaving it with an error discards
    every staged file. It is a line by itself; `lines` gives several, each for a thread of its own.

    Args:
        settings: How parts are written.
        part_name: Names a part of a partition by its number.
        stage: Begins a staged file under a path from the root.
        stage_part: Likewise for a part, where that is done otherwise: so that it outlasts a run that fails.
        describe: Makes a partition's manifest from its parts and the moment it was begun.
        clock: Gives the present as JSON files hold it.
        encoders: Partitions that are encoded side by side.
    """

    def __init__(
        self,
        settings: ParquetSettings,
        *,
        part_name: Callable[[Partition, int], str],
        stage: Callable[[str], StagedFile],
        manifest_name: str,
        success_name: str,
        describe: Callable[[Partition, tuple[StagedPart, ...], str], Manifest],
        clock: Callable[[], str],
        encoders: int = ENCODERS,
        stage_part: Callable[[str], StagedFile] | None = None,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.budget = Budget(_BYTES_IN_FLIGHT)
        self.finisher = Finisher()
        self._part_name = part_name
        self._stage = stage
        self._stage_part = stage_part or stage
        self._keeps_chunks = stage_part is not None
        self._manifest_name = manifest_name
        self._success_name = success_name
        self._describe = describe
        # Each of one thread: the row groups of a partition stay in order, those of the next go beside them.
        self._all_encoders = [ThreadPoolExecutor(1, "rivet-encode") for _ in range(encoders)]
        self._encoders = cycle(self._all_encoders)
        self._files: dict[int, StagedFile] = {}
        self._taking = threading.Lock()
        self._closed: list[Future[StagedPartition]] = []
        self._lines = [Line(self, self._encoders)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for encoder in self._all_encoders:
            # Of chunks that were read to their end, what is still to be encoded is not for nothing.
            encoder.shutdown(wait=True, cancel_futures=kind is not None and not self._keeps_chunks)
        self.finisher.close()
        if kind is not None:
            for file in self._files.values():
                file.discard()

    def lines(self, number: int) -> list[Line]:
        """Give lines to use side by side in place of the stager's own, each with an encoder."""
        self._lines = [Line(self, cycle([encoder])) for encoder in self._all_encoders[:number]]
        return self._lines

    def write(self, partition: Partition, rows: pa.RecordBatch) -> None:
        """Take the next rows; a new partition ends the partition before it.

        Raises:
            RivetError: What the encoder or the destination ran into since the last call.
        """
        self._lines[0].write(partition, rows)

    def end_partition(self) -> None:
        """End the partition under way, if there is one; a later row of it would be a second partition."""
        self._lines[0].end_partition()

    def drop_partition(self) -> None:
        """Forget the partition under way, and discard what was staged of it."""
        self._lines[0].drop_partition()

    def end_chunk(self, noted: Noted) -> None:
        """End the part under way, and have the chunk's parts noted once they are durable."""
        self._lines[0].end_chunk(noted)

    def take_over(self, partition: Partition, chunk: TakenChunk) -> None:
        """Put the parts of a chunk that is not read behind those of its partition."""
        self._lines[0].take_over(partition, chunk)

    def add_empty(self, partition: Partition) -> None:
        """Stage a partition without rows: a manifest and a marker, no part."""
        self._submit(next(self._encoders), partition, None, self.clock())

    def take(self) -> list[StagedPartition]:
        """Wait for all partitions that have ended since the last call and give them, durable, in order.

        Of several lines they come in the order of their windows, NULL last.
        """
        with self._taking:
            closed, self._closed = self._closed, []
        for line in self._lines:
            line.wait()
        partitions = [ended.result() for ended in closed]
        self.finisher.wait()
        return partitions if len(self._lines) == 1 else sorted(partitions, key=_place)

    def release(self, partitions: Iterable[StagedPartition]) -> None:
        """Forget partitions that have been published or discarded."""
        for partition in partitions:
            for file in partition.files():
                del self._files[id(file)]

    def begin_part(
        self, partition: Partition, number: int, files: list[StagedFile]
    ) -> tuple[str, StagedFile]:
        """Begin a part's file, and give its name too."""
        name = self._part_name(partition, number)
        files.append(self._begin(partition.child(name), self._stage_part))
        return name, files[-1]

    def take_part(self, partition: Partition, part: TakenPart, number: int) -> StagedPart:
        """Give a part that was staged before its number and name among the others."""
        name = self._part_name(partition, number)
        file = self._begin(partition.child(name), part.staged)
        return StagedPart(replace(part.facts, part_id=number, path=name), file, part.first, part.last)

    def close(self, ended: OpenPartition) -> None:
        """Have a partition's manifest and marker made, once its encoder is done."""
        self._submit(ended.encoder, ended.partition, ended.writer, ended.begun_at)

    def discard(self, files: list[StagedFile]) -> None:
        """Drop files, and forget them."""
        for file in files:
            self._files.pop(id(file)).discard()

    def _submit(
        self,
        encoder: ThreadPoolExecutor,
        partition: Partition,
        writer: PartitionWriter | None,
        begun_at: str,
    ) -> None:
        closed = encoder.submit(self._close, partition, writer, begun_at)
        with self._taking:
            self._closed.append(closed)

    def _begin(self, path: str, stage: Callable[[str], StagedFile]) -> StagedFile:
        file = stage(path)
        self._files[id(file)] = file
        return file

    def _close(self, partition: Partition, writer: PartitionWriter | None, begun_at: str) -> StagedPartition:
        parts = () if writer is None else writer.close()
        manifest = self._describe(partition, parts, begun_at)
        encoded = encode_manifest(manifest)
        refuse_unreadable(
            encoded,
            MAX_MANIFEST_BYTES,
            f"the manifest of {partition.path!r}, of {counted(len(parts), 'part')},",
            hint="raise max_file_size, or choose a finer partition_granularity",
        )
        manifest_file = self._begin(partition.child(self._manifest_name), self._stage)
        marker_file = self._begin(partition.child(self._success_name), self._stage)
        manifest_file.write(encoded)
        marker_file.write(success_marker(encoded))
        self.finisher.submit(manifest_file, marker_file)
        return StagedPartition(partition, manifest, digest(encoded), parts, manifest_file, marker_file)


def _place(staged: StagedPartition) -> tuple[bool, int]:
    window = staged.partition.window
    return window is None, 0 if window is None else window.start
