"""Finds the chunks that failed runs have finished (`resume: reuse`), and plans to read the others alone.

Composition: what is left behind is asked of the destination, what it must be held to of the source.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby

from rivet.config.settings import ExportSettings
from rivet.destination.digesting import sha256_of
from rivet.destination.protocol import Destination, Left
from rivet.errors import ObjectNotFound
from rivet.manifest.chunk_note import MAX_NOTE_BYTES, NOTE_SUFFIX, ChunkNote, KeptChunk, decode_note
from rivet.plan.chunks import ChunkNulls, ChunkPage, ChunkRange
from rivet.plan.cutting import PAGE_ROWS, page_sizes
from rivet.plan.measured import Rows
from rivet.plan.scans import Scan
from rivet.preparing.prepared import Prepared
from rivet.publish.side_by_side import side_by_side
from rivet.publish.tree import SPARED, Tree
from rivet.source.protocol import Session
from rivet.wording import counted

_SHOWN_RUNS = 3
_PAGE = "page"

Key = tuple[str, tuple[str, ...]]
"""A partition's path, and what tells a chunk from the others of the partition."""


def keeps_chunks(export: ExportSettings) -> bool:
    """Tell whether a run that fails leaves the chunks that it has finished to the next one."""
    return export.resume == "reuse" and export.chunks is not None


def chunks_digest(settings_sha256: str, export: ExportSettings) -> str:
    """Digest all that the rows and the bytes of chunks depend on, but for the rows of the source.

    Args:
        settings_sha256: Of all that those of partitions depend on.
    """
    facts = [settings_sha256, repr(export.chunks), repr(export.asked), export.partition_by]
    return "sha256:" + hashlib.sha256(json.dumps(facts, ensure_ascii=False).encode()).hexdigest()


def chunk_name(scan: Scan, after: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """Tell a chunk from the others of its partition.

    Args:
        after: Of a page, the key of the row before it, or None.
    """
    if isinstance(scan.chunk, ChunkRange):
        return ("range", str(scan.chunk.start), str(scan.chunk.end))
    if isinstance(scan.chunk, ChunkNulls):
        return ("nulls",)
    return (_PAGE, *(() if after is None else after))


def with_kept_chunks(
    session: Session,
    export: ExportSettings,
    prepared: Prepared,
    *,
    destination: Destination,
    tree: Tree,
    settings_sha256: str,
) -> Prepared:
    """Plan to take over what failed runs of the same settings have finished, where the counts still agree.

    A range, or the rows with NULL, are taken over where the source has as many rows there as were read. Pages
    are taken over from the first one on where as many rows lie behind the last of them as must.

    Args:
        settings_sha256: Digest of all that chunks depend on.
    """
    if not keeps_chunks(export) or tree.export is None:
        return prepared
    left = _Left(destination, _begun_runs(tree), settings_sha256)
    if not left.runs:
        return prepared
    scans: list[Scan] = []
    taken: dict[Scan, KeptChunk] = {}
    advice: list[str] = []
    for _, group in groupby(prepared.scans, key=lambda s: (s.reach, s.start)):
        chunks = list(group)
        path = _path(prepared, chunks[0])
        pages = [s for s in chunks if isinstance(s.chunk, ChunkPage)]
        others = [s for s in chunks if not isinstance(s.chunk, ChunkPage)]
        chain = list(left.chain(path)) if pages else []
        resumed, kept = _resumed_pages(session, export, prepared, pages, chain)
        if pages and not kept and left.has(path, (_PAGE,)):
            advice.append(f"the rows of {path or 'the export'!r} have changed, so all of it is read again")
        scans += [*resumed, *others]
        taken |= {**kept, **_unchanged(left, path, others)}
    return replace(
        prepared,
        scans=tuple(scans),
        taken=taken,
        left_by=left.runs,
        advice=(*prepared.advice, *advice, *_told(taken.values())),
    )


def _unchanged(left: _Left, path: str, scans: Iterable[Scan]) -> dict[Scan, KeptChunk]:
    """Give the chunks that are left, but for pages, of which the source has as many rows as were read."""
    found = {s: left.whole((path, chunk_name(s))) for s in scans if s.chunk is not None}
    return {
        scan: kept
        for scan, kept in found.items()
        if kept is not None and kept.note.row_count == scan.expected_rows
    }


def _begun_runs(tree: Tree) -> list[str]:
    """Give the runs that may have left chunks, the latest last; none after a complete run.

    Besides the last one there are those whose chunks it was about to take over.
    """
    pending = None if tree.export is None else tree.export.pending
    if pending is None:
        return []
    spared = pending.extra.get(SPARED)
    taken_over = [one for one in spared if isinstance(one, str)] if isinstance(spared, list) else []
    return [*taken_over, pending.run_id]


def _path(prepared: Prepared, scan: Scan) -> str:
    described = prepared.described
    axis, start = described.axis, scan.start
    window = None if axis is None or start is None else axis.window_of(start)
    return described.layout.partition(window).path


def _resumed_pages(
    session: Session,
    export: ExportSettings,
    prepared: Prepared,
    pages: list[Scan],
    chain: list[KeptChunk],
) -> tuple[list[Scan], dict[Scan, KeptChunk]]:
    """Give the pages of a partition, from the first one on those that are taken over.

    Args:
        chain: What is left of them, each behind the one before it.
    """
    rows = sum(scan.expected_rows or 0 for scan in pages)
    behind = rows - sum(kept.note.row_count for kept in chain)
    first = pages[0] if pages else None
    if first is None or not chain or behind < 0 or not isinstance(first.chunk, ChunkPage):
        return pages, {}
    relation, column, page = prepared.described.relation, prepared.described.column, first.chunk
    end = chain[-1].note.end
    rest = replace(first, chunk=replace(page, after=end))
    ((_, extent),) = session.chunking.extents(relation, Rows(column, rest), page.key, None)
    if extent.rows != behind:
        return pages, {}
    kept: dict[Scan, KeptChunk] = {}
    after: tuple[str, ...] | None = None
    for one in chain:
        count = one.note.row_count
        chunk = replace(page, rows=count, after=after, follows=False, is_last=False)
        kept[replace(first, expected_rows=count, chunk=chunk)] = one
        after = one.note.end
    size = export.chunks.size if export.chunks is not None else None
    sizes = page_sizes(behind, int(size) if isinstance(size, Decimal) else PAGE_ROWS)
    others = [
        replace(
            first,
            expected_rows=count,
            chunk=replace(
                page,
                rows=count,
                after=None if number else end,
                follows=number > 0,
                is_last=number == len(sizes) - 1,
            ),
        )
        for number, count in enumerate(sizes)
    ]
    return [*kept, *others], kept


@dataclass(frozen=True, slots=True)
class _Noted:
    kept: KeptChunk
    parts: tuple[Left, ...]


class _Left:
    """The chunks that runs have left behind, of one settings digest.

    Attributes:
        runs: Those that have left anything, of whatever settings.
    """

    def __init__(self, destination: Destination, run_ids: Iterable[str], settings_sha256: str) -> None:
        self._destination = destination
        self._chunks: dict[Key, _Noted] = {}
        self._looked: dict[Key, bool] = {}
        runs = set()
        for run_id in run_ids:
            left = {one.name: one for one in destination.left(run_id)}
            notes = [one for one in left.values() if one.name.endswith(NOTE_SUFFIX)]
            for note in side_by_side(destination, self._read, sorted(notes, key=lambda one: one.name)):
                if note is not None and note.settings_sha256 == settings_sha256:
                    self._add(KeptChunk(note, run_id), left)
                    runs.add(run_id)
        self.runs = frozenset(runs)

    def whole(self, key: Key) -> KeptChunk | None:
        """Give a chunk whose parts are all what they were when it was finished."""
        found = self._chunks.get(key)
        if found is None:
            return None
        if key not in self._looked:
            pairs = zip(found.kept.note.parts, found.parts, strict=True)
            self._looked[key] = all(self._is_whole(p.facts.sha256, p.checksum, one) for p, one in pairs)
        return found.kept if self._looked[key] else None

    def has(self, path: str, chunk: tuple[str, ...]) -> bool:
        """Tell whether a chunk was left, whole or not."""
        return (path, chunk) in self._chunks

    def chain(self, path: str) -> Iterator[KeptChunk]:
        """Give the pages of a partition from the first one on, each behind the one before it."""
        seen: set[Key] = set()
        key: Key = (path, (_PAGE,))
        while key not in seen and (kept := self.whole(key)) is not None:
            seen.add(key)
            yield kept
            key = (path, (_PAGE, *kept.note.end))

    def _read(self, one: Left) -> ChunkNote | None:
        if one.size_bytes > MAX_NOTE_BYTES:
            return None
        with suppress(ObjectNotFound), self._destination.open_left(one) as file:
            return decode_note(file.read())
        return None

    def _add(self, kept: KeptChunk, left: Mapping[str, Left]) -> None:
        parts = [left.get(part.name) for part in kept.note.parts]
        sizes = [part.facts.size_bytes for part in kept.note.parts]
        found = [one for one in parts if one is not None]
        if [one.size_bytes for one in found] == sizes:
            self._chunks[kept.note.key] = _Noted(kept, tuple(found))

    def _is_whole(self, sha256: str, checksum: str | None, one: Left) -> bool:
        if checksum is not None and one.checksum == checksum:
            return True
        with suppress(ObjectNotFound), self._destination.open_left(one) as file:
            return sha256_of(file) == sha256
        return False


def _told(taken: Iterable[KeptChunk]) -> list[str]:
    chunks = list(taken)
    if not chunks:
        return []
    runs = sorted({one.note.read_by for one in chunks})
    shown = ", ".join(map(repr, runs[:_SHOWN_RUNS])) + (", …" if len(runs) > _SHOWN_RUNS else "")
    rows = counted(sum(one.note.row_count for one in chunks), "row")
    whose = f"{'run' if len(runs) == 1 else 'runs'} {shown}"
    what = counted(len(chunks), "chunk")
    return [f"resume: reuse keeps {what} with {rows} of {whose}: the tree is of more than one moment"]
