"""Takes over the chunks that failed runs have finished, and notes those that this run finishes.

Composition: the attempt holds it, the export room asks it chunk by chunk.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from rivet.attempt.record import Record
from rivet.destination.protocol import Lasting, Left
from rivet.errors import DestinationUnavailable, ObjectNotFound
from rivet.export.chunk_keeping import Noted, TakenChunk, TakenPart
from rivet.export.pages import ChunkBatches
from rivet.export.staged import StagedPart
from rivet.manifest.chunk_note import NOTE_SUFFIX, ChunkNote, KeptChunk, NotedPart, encode_note
from rivet.plan.chunks import ChunkPage
from rivet.plan.layout import Partition
from rivet.plan.scans import Scan
from rivet.preparing.continuing import chunk_name, chunks_digest, keeps_chunks
from rivet.preparing.prepared import Prepared
from rivet.publish.side_by_side import side_by_side
from rivet.source.protocol import Batches


class ChunkNotes:
    """The chunks of one attempt: see `rivet.export.chunk_keeping.ChunkKeeper`.

    Args:
        settings_sha256: Digest of all that chunks depend on.
    """

    def __init__(self, record: Record, prepared: Prepared, settings_sha256: str) -> None:
        self._record = record
        self._destination = record.destination
        self._taken: dict[Scan, KeptChunk] = dict(prepared.taken)
        self._left_by = prepared.left_by
        self._settings_sha256 = settings_sha256
        self._numbers = itertools.count()
        self._has_noted = False

    @property
    def is_held(self) -> bool:
        """Tell whether anything is left for a next run, should this one fail now."""
        return self._has_noted or bool(self._left_by)

    def take_over(self) -> None:
        """Make what is taken over this run's own; then what the others have left is swept.

        Raises:
            DestinationUnavailable: Somebody has removed it since it was found.
        """
        scans = [scan for scan, kept in self._taken.items() if kept.held_by != self._record.run_id]
        try:
            taken = side_by_side(self._destination, lambda scan: self._take_over(self._taken[scan]), scans)
        except ObjectNotFound as error:
            raise DestinationUnavailable(
                f"{error}, since it was found finished", hint="run the same command again"
            ) from error
        self._taken.update(zip(scans, taken, strict=True))
        self._destination.sweep(self._left_by - {self._record.run_id})
        self._left_by = self._left_by & {self._record.run_id}

    def give_up(self) -> None:
        """Remove what others have left: it is in doubt."""
        self._destination.sweep(self._left_by)

    def taken(self, scan: Scan) -> TakenChunk | None:
        """Give a chunk that is not read again."""
        kept = self._taken.get(scan)
        if kept is None:
            return None
        note = kept.note
        parts = tuple(
            TakenPart(
                replace(part.facts, extra={**part.facts.extra, **self._moment(note)}),
                part.first,
                part.last,
                partial(self._destination.lasting, _left(kept, part)),
            )
            for part in note.parts
        )
        return TakenChunk(note.row_count, note.span, note.unrepresentable_rows, parts)

    def noted(
        self, scan: Scan, batches: Batches, partition: Partition, rows: int, marked: Mapping[str, int]
    ) -> Noted | None:
        """Give what notes a chunk that was read to its end."""
        if scan.chunk is None or not isinstance(batches, ChunkBatches):
            return None
        page = batches.scan.chunk
        after, end = (page.after, batches.end()) if isinstance(page, ChunkPage) else (None, ())
        note = ChunkNote(
            settings_sha256=self._settings_sha256,
            read_by=self._record.run_id,
            read_in_attempt=self._record.attempt,
            path=partition.path,
            chunk=chunk_name(scan, after),
            end=end,
            row_count=rows,
            unrepresentable_rows=dict(marked),
            parts=(),
        )
        return lambda parts: self._write(replace(note, parts=tuple(map(_noted_part, parts))))

    def _take_over(self, kept: KeptChunk) -> KeptChunk:
        lefts = [self._destination.take_over(_left(kept, p), self._record.run_id) for p in kept.note.parts]
        parts = [replace(part, name=left.name) for part, left in zip(kept.note.parts, lefts, strict=True)]
        note = replace(kept.note, parts=tuple(parts))
        self._write(note)
        return KeptChunk(note, self._record.run_id)

    def _write(self, note: ChunkNote) -> None:
        name = f"chunk-{self._record.attempt:03d}-{next(self._numbers):06d}{NOTE_SUFFIX}"
        self._has_noted = True
        self._destination.note(name, encode_note(note), self._record.run_id)

    def _moment(self, note: ChunkNote) -> dict[str, object]:
        return {"read_by": note.read_by, "read_in_attempt": note.read_in_attempt}


def notes_of(record: Record, prepared: Prepared) -> ChunkNotes | None:
    """Give what keeps the chunks of an attempt; None where no next run would take them over."""
    if not keeps_chunks(record.export):
        return None
    return ChunkNotes(record, prepared, chunks_digest(record.settings_sha256, record.export))


def _left(kept: KeptChunk, part: NotedPart) -> Left:
    return Left(kept.held_by, part.name, part.facts.size_bytes, part.checksum)


def _noted_part(part: StagedPart) -> NotedPart:
    file = part.file
    left = file.left if isinstance(file, Lasting) else None
    if left is None:
        raise TypeError(f"{file!r} does not last")
    return NotedPart(part.facts, left.name, left.checksum, part.first, part.last)
