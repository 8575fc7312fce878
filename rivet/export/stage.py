"""Stages partitions: gathers row groups, and encodes them on threads of their own while reading goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle
from typing import Self

import pyarrow as pa

from rivet.export.parts import ROW_GROUP_ROWS, ParquetSettings, PartitionWriter
from rivet.export.row_groups import RowGroup
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

# Arrow bytes that wait for the encoder before reading pauses.
_BYTES_IN_FLIGHT = 32 * 1024**2
# Files that wait for the disk: syncs run side by side, and their number bounds the files held open.
_FINISHING_THREADS = 4
_UNFINISHED_FILES = 32
# Two, since encoding takes as long as everything else; more would take memory, and cores from the database.
ENCODERS = 2


class Stager:
    """Takes runs of rows, partition after partition, and stages each as parts, manifest and marker.

    Used as a context: leaving it normally waits for all that was taken; leaving it with an error discards
    every staged file.

    Args:
        settings: How parts are written.
        part_name: Names a part of a partition by its number.
        stage: Begins a staged file under a path from the root.
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
    ) -> None:
        self._settings = settings
        self._part_name = part_name
        self._stage = stage
        self._manifest_name = manifest_name
        self._success_name = success_name
        self._describe = describe
        self._clock = clock
        # Each of one thread: the row groups of a partition stay in order, those of the next go beside them.
        self._all_encoders = [ThreadPoolExecutor(1, "rivet-encode") for _ in range(encoders)]
        self._encoders = cycle(self._all_encoders)
        self._finisher = _Finisher()
        self._budget = _Budget(_BYTES_IN_FLIGHT)
        self._files: dict[int, StagedFile] = {}
        self._encoding: list[Future[object]] = []
        self._closed: list[Future[StagedPartition]] = []
        self._open: _OpenPartition | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for encoder in self._all_encoders:
            encoder.shutdown(wait=True, cancel_futures=kind is not None)
        self._finisher.close()
        if kind is not None:
            for file in self._files.values():
                file.discard()

    def write(self, partition: Partition, rows: pa.RecordBatch) -> None:
        """Take the next rows; a new partition ends the partition before it.

        Raises:
            RivetError: What the encoder or the destination ran into since the last call.
        """
        if self._open is None or self._open.partition.path != partition.path:
            self.end_partition()
            files: list[StagedFile] = []
            writer = PartitionWriter(
                rows.schema,
                self._settings,
                lambda number: self._begin_part(partition, number, files),
                self._finisher.submit,
            )
            self._open = _OpenPartition(
                partition, writer, self._clock(), self._row_group(), next(self._encoders), files
            )
        while (rows := self._open.gathered.fill(rows)).num_rows:
            self._encode_gathered(self._open)
            self._open.gathered = self._row_group()

    def end_partition(self) -> None:
        """End the partition under way, if there is one; a later row of it would be a second partition."""
        ended, self._open = self._open, None
        if ended is not None:
            self._encode_gathered(ended)
            self._closed.append(
                ended.encoder.submit(self._close, ended.partition, ended.writer, ended.begun_at)
            )

    def drop_partition(self) -> None:
        """Forget the partition under way, and discard what was staged of it."""
        dropped, self._open = self._open, None
        if dropped is None:
            return
        dropped.encoder.submit(dropped.writer.close).result()
        self._finisher.wait()
        for file in dropped.files:
            self._files.pop(id(file)).discard()

    def add_empty(self, partition: Partition) -> None:
        """Stage a partition without rows: a manifest and a marker, no part."""
        encoder = next(self._encoders)
        self._closed.append(encoder.submit(self._close, partition, None, self._clock()))

    def take(self) -> list[StagedPartition]:
        """Wait for all partitions that have ended since the last call and give them, durable, in order."""
        for encoded in self._encoding:
            encoded.result()
        partitions = [closed.result() for closed in self._closed]
        self._finisher.wait()
        self._encoding.clear()
        self._closed.clear()
        return partitions

    def release(self, partitions: Iterable[StagedPartition]) -> None:
        """Forget partitions that have been published or discarded."""
        for partition in partitions:
            for file in partition.files():
                del self._files[id(file)]

    def _row_group(self) -> RowGroup:
        return RowGroup(ROW_GROUP_ROWS, self._settings.row_group_bytes)

    def _encode_gathered(self, partition: _OpenPartition) -> None:
        rows, writer = partition.gathered, partition.writer
        self._encoding = [f for f in self._encoding if not _succeeded(f)]
        self._finisher.raise_failure()
        self._budget.take(rows.size_bytes)

        def encode() -> None:
            try:
                writer.write(rows)
            finally:
                self._budget.give(rows.size_bytes)

        self._encoding.append(partition.encoder.submit(encode))

    def _begin_part(
        self, partition: Partition, number: int, files: list[StagedFile]
    ) -> tuple[str, StagedFile]:
        name = self._part_name(partition, number)
        files.append(self._begin(partition.child(name)))
        return name, files[-1]

    def _begin(self, path: str) -> StagedFile:
        file = self._stage(path)
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
        manifest_file = self._begin(partition.child(self._manifest_name))
        marker_file = self._begin(partition.child(self._success_name))
        manifest_file.write(encoded)
        marker_file.write(success_marker(encoded))
        self._finisher.submit(manifest_file)
        self._finisher.submit(marker_file)
        return StagedPartition(partition, manifest, digest(encoded), parts, manifest_file, marker_file)


@dataclass(slots=True)
class _OpenPartition:
    """The partition under way, and the rows of it that wait for a whole row group."""

    partition: Partition
    writer: PartitionWriter
    begun_at: str
    gathered: RowGroup
    encoder: ThreadPoolExecutor
    files: list[StagedFile]


class _Budget:
    """Bytes that may be in flight; one taker may go over it, so that a large row group is never stuck."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._changed = threading.Condition()

    def take(self, size: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._taken == 0 or self._taken + size <= self._limit)
            self._taken += size

    def give(self, size: int) -> None:
        with self._changed:
            self._taken -= size
            self._changed.notify_all()


class _Finisher:
    """Makes files durable on a few threads, a bounded number at a time, and keeps the first failure."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_FINISHING_THREADS, "rivet-finish")
        self._slots = threading.Semaphore(_UNFINISHED_FILES)
        self._failure: BaseException | None = None

    def submit(self, file: StagedFile) -> None:
        self._slots.acquire()
        self._pool.submit(self._run, file)

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def wait(self) -> None:
        for _ in range(_UNFINISHED_FILES):
            self._slots.acquire()
        self._slots.release(_UNFINISHED_FILES)
        self.raise_failure()

    def close(self) -> None:
        self._pool.shutdown(wait=True)

    def _run(self, file: StagedFile) -> None:
        try:
            file.finish()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._failure = self._failure or error
        finally:
            self._slots.release()


def _succeeded(future: Future[object]) -> bool:
    """Tell whether a future is done, raising its error where it failed."""
    if not future.done():
        return False
    future.result()
    return True
