"""Tells whether a live partition holds what was staged for it, by its files and not by its claims."""

from __future__ import annotations

import os.path
from collections.abc import Mapping, Sequence
from contextlib import suppress

from rivet.destination.bounded import read_bounded
from rivet.destination.digesting import sha256_of
from rivet.destination.protocol import Destination, Listed
from rivet.errors import ObjectNotFound
from rivet.export.staged import StagedFile, StagedPartition
from rivet.manifest.codec import MAX_MARKER_BYTES, marker_of
from rivet.manifest.model import Manifest, Part, PartitionEntry
from rivet.plan.layout import Layout
from rivet.plan.names import SUCCESS_FILE
from rivet.publish.side_by_side import side_by_side
from rivet.publish.tree import Tree, read_manifest


def unchanged_of(
    destination: Destination,
    layout: Layout,
    tree: Tree,
    entries: Mapping[str, PartitionEntry],
    partitions: Sequence[StagedPartition],
) -> dict[str, StagedPartition]:
    """Give, by path, those of staged partitions whose live ones hold the same and can be left alone.

    Args:
        entries: What stands now, by path.
    """
    pending = None if tree.export is None else tree.export.pending
    announced = frozenset(() if pending is None else (p.path for p in pending.partitions))

    def is_as_large(staged: StagedPartition) -> bool:
        # In a store a request of the run before may still be under way to a partition that it had announced,
        # and fails only where the manifest was replaced.
        if staged.partition.path in announced and destination.concurrency > 1:
            return False
        entry, manifest = entries.get(staged.partition.path), staged.manifest
        size = manifest.row_count, manifest.size_bytes
        return entry is not None and (entry.row_count, entry.size_bytes) == size

    alike = [staged for staged in partitions if is_as_large(staged)]
    listed, children = list_live(destination, alike), tree.children() if alike else {}

    def look(staged: StagedPartition) -> bool:
        path = staged.partition.path
        own_parts = {name: tree.sizes[name] for name in children.get(path, []) if tree.owns(name)}
        return is_unchanged(destination, layout, entries[path], staged, own_parts=own_parts, listed=listed)

    looked = zip(alike, side_by_side(destination, look, alike), strict=True)
    return {staged.partition.path: staged for staged, is_same in looked if is_same}


def list_live(destination: Destination, partitions: Sequence[StagedPartition]) -> dict[str, Listed]:
    """List what lies in partitions now, and between them, where checksums may spare the reading of it.

    One listing of all costs a store less than one of each.
    """
    if all(part.file.checksum is None for staged in partitions for part in staged.parts):
        return {}
    together = os.path.commonprefix(  # noqa: RUF071 - a store lists by the first characters of names
        [staged.partition.child("") for staged in partitions]
    )
    return {listed.name: listed for listed in destination.list(together)}


def is_unchanged(
    destination: Destination,
    layout: Layout,
    entry: PartitionEntry,
    staged: StagedPartition,
    *,
    own_parts: Mapping[str, int],
    listed: Mapping[str, Listed],
) -> bool:
    """Tell whether a live partition can be left alone.

    Args:
        own_parts: The parts in the partition that Rivet wrote, in its manifest or not, with their sizes.
        listed: What `list_live` gave.
    """
    partition = staged.partition
    found = read_manifest(destination, partition.child(layout.manifest_name))
    if found is None or found[1] != entry.manifest_sha256 or _content(found[0]) != _content(staged.manifest):
        return False
    parts = {partition.child(p.path): p for p in found[0].parts}
    if own_parts.keys() != parts.keys():  # one is missing, or one is left over
        return False
    # What a manifest claims of a part was true once; one that was damaged since is written anew.
    if any(own_parts[n] != p.size_bytes for n, p in parts.items()):
        return False
    files = [p.file for p in staged.parts]
    for (name, part), file in zip(parts.items(), files, strict=True):
        if not _is_whole(destination, name, part, listed.get(name), file):
            return False
    with suppress(ObjectNotFound):
        marker = read_bounded(destination, partition.child(SUCCESS_FILE), MAX_MARKER_BYTES)
        return marker == marker_of(entry.manifest_sha256)
    return False


def _is_whole(
    destination: Destination, name: str, claimed: Part, live: Listed | None, staged: StagedFile
) -> bool:
    """Tell whether a live part still is what its manifest claims, given that the same was staged anew."""
    same = Listed(name, claimed.size_bytes, staged.checksum)
    if staged.checksum is not None and live == same:
        return True
    return _digest(destination, name) == claimed.sha256


def _digest(destination: Destination, name: str) -> str | None:
    """Digest a live part; None where it has gone meanwhile."""
    with suppress(ObjectNotFound), destination.open(name) as file:
        return sha256_of(file)
    return None


def _content(manifest: Manifest) -> tuple[object, ...]:
    """Give what must be equal for a partition to hold the same rows, written with the same settings."""
    parts = tuple((p.row_count, p.size_bytes, p.sha256) for p in manifest.parts)
    return (
        manifest.partition,
        manifest.mode,
        manifest.compression,
        manifest.schema_fingerprint,
        dict(manifest.unrepresentable_rows),
        parts,
    )
