"""What a run notes of each chunk that it has finished, beside the chunk's staged parts. Pure.

By its notes another run takes the chunks over, and reads the others alone (`resume: reuse`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from rivet.manifest import facts
from rivet.manifest.model import Part
from rivet.manifest.strict_json import (
    DecodeError,
    Fields,
    array_of,
    count,
    inner_path,
    mapping_of,
    nullable,
    parse,
    text,
    unexpected,
)

NOTE_SUFFIX = ".json"
MAX_NOTE_BYTES = 4 * 1024**2
_NOTE_VERSION = 1


@dataclass(frozen=True, slots=True)
class NotedPart:
    """A part of a chunk.

    Attributes:
        facts: As a manifest has them; number and path are of the run that read it.
        name: Among what the run has staged.
        checksum: The store's own of the staged object, or None.
        first: Smallest value of the partition column on its axis, or None.
        last: Largest, closed.
    """

    facts: Part
    name: str
    checksum: str | None
    first: int | None
    last: int | None


@dataclass(frozen=True, slots=True)
class ChunkNote:
    """A chunk whose parts are all durable.

    Attributes:
        settings_sha256: Digest of all that its rows and bytes depend on, and of how the export is cut.
        read_by: The run that read it,
        read_in_attempt: in which of its attempts, from 1: they make its moment.
        path: Of its partition.
        chunk: What tells it from the others of its partition.
        end: The key of its last row, of a page; else empty.
        unrepresentable_rows: By column, where there are any.
    """

    settings_sha256: str
    read_by: str
    read_in_attempt: int
    path: str
    chunk: tuple[str, ...]
    end: tuple[str, ...]
    row_count: int
    unrepresentable_rows: Mapping[str, int]
    parts: tuple[NotedPart, ...]

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        """Give what tells the chunk from all others of its export."""
        return self.path, self.chunk

    @property
    def span(self) -> tuple[int, int] | None:
        """Give the smallest and the largest value of the partition column, both closed, or None."""
        firsts = [p.first for p in self.parts if p.first is not None]
        lasts = [p.last for p in self.parts if p.last is not None]
        return (min(firsts), max(lasts)) if firsts and lasts else None


def encode_note(note: ChunkNote) -> bytes:
    """Write a note."""
    parts = [
        {
            **facts.part_json(p.facts),
            "staged": p.name,
            "checksum": p.checksum,
            "span": None if p.first is None or p.last is None else [str(p.first), str(p.last)],
        }
        for p in note.parts
    ]
    document = {
        "note_version": _NOTE_VERSION,
        "settings_sha256": note.settings_sha256,
        "read_by": note.read_by,
        "read_in_attempt": note.read_in_attempt,
        "path": note.path,
        "chunk": note.chunk,
        "end": note.end,
        "row_count": note.row_count,
        "unrepresentable_rows": dict(note.unrepresentable_rows),
        "parts": parts,
    }
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "surrogatepass")


def decode_note(data: bytes) -> ChunkNote | None:
    """Read a note; None where it is none, as one that a kill has cut off."""
    try:
        fields = Fields(parse(data, MAX_NOTE_BYTES), "$")
        if fields.take("note_version", count) != _NOTE_VERSION:
            return None
        return ChunkNote(
            settings_sha256=fields.take("settings_sha256", text),
            read_by=fields.take("read_by", text),
            read_in_attempt=fields.take("read_in_attempt", count),
            path=fields.take("path", text),
            chunk=fields.take("chunk", array_of(text)),
            end=fields.take("end", array_of(text)),
            row_count=fields.take("row_count", count),
            unrepresentable_rows=fields.take("unrepresentable_rows", mapping_of(count)),
            parts=fields.take("parts", array_of(_part)),
        )
    except DecodeError:
        return None


def _part(value: object, path: str) -> NotedPart:
    fields = Fields(value, path)
    name = fields.take("staged", inner_path)
    if "/" in name:
        unexpected(f"{path}.staged", name, "a name of one segment")
    checksum = fields.take("checksum", nullable(text))
    span = fields.take("span", nullable(array_of(_whole)))
    first, last = span if span is not None and len(span) == 2 else (None, None)
    return NotedPart(facts.part(fields.rest(), path), name, checksum, first, last)


def _whole(value: object, path: str) -> int:
    digits = text(value, path)
    try:
        return int(digits)
    except ValueError:
        unexpected(path, value, "a whole number as text")


@dataclass(frozen=True, slots=True)
class KeptChunk:
    """A chunk that a run has finished, and that another one need not read.

    Attributes:
        held_by: The run among whose staged objects note and parts are.
    """

    note: ChunkNote
    held_by: str
