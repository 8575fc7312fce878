"""Adds new rows to partitions, in `strategy: append`: tells them from what stands, and extends its manifest.

Composition: rows are told apart in `rivet.export`, parts and manifests are read by the destination.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from functools import partial

from rivet.attempt.record import Record
from rivet.attempt.staging import shape_of
from rivet.config.settings import ExportSettings
from rivet.destination.protocol import Destination
from rivet.export.passing import RowTaker
from rivet.export.readable import ReadablePart
from rivet.export.scan import Shape
from rivet.export.sifting import MarkedShape, Sifted
from rivet.export.standing import Identity, Sieve
from rivet.manifest.extended import extended
from rivet.manifest.model import Manifest, PartitionEntry
from rivet.plan.cursor import CursorValue
from rivet.plan.cursor_range import read_range
from rivet.plan.layout import Partition
from rivet.preparing.described import Described
from rivet.preparing.prepared import Prepared
from rivet.publish.tree import Tree, listed_manifest
from rivet.publish.unread import unrepresentable_unread


class Addition:
    """What stands of the partitions that rows are added to.

    Args:
        since: The bound of the cursor, closed, past which rows are read.
        entries: The partitions that stand, by path, in a tree that is recovered and locked.

    Attributes:
        unrepresentable: Added rows with NULL for a value that cannot be represented, by path and column.
    """

    def __init__(
        self,
        export: ExportSettings,
        described: Described,
        destination: Destination,
        since: CursorValue,
        entries: Mapping[str, PartitionEntry],
    ) -> None:
        cursor = described.cursor
        if cursor is None:
            raise ValueError("rows are added by a cursor")
        cursors = [c.name for c in (cursor.column, cursor.fallback) if c is not None]
        key = described.unique_key
        columns = dict.fromkeys((*key, *cursors)) if key else [c.name for c in described.written]
        self._identity = Identity(
            tuple(columns),
            is_key=bool(key),
            cursor=cursor,
            since=since,
            is_hidden=cursor.fallback is not None and export.unrepresentable == "null",
        )
        self._where = f"{export.where}.unique_key"
        self._destination = destination
        self._layout = described.layout
        self._entries = entries
        self._manifests: dict[str, Manifest] = {}
        self._read: set[str] = set()
        self._extended: set[str] = set()
        self._shape = shape_of(described)
        self.unrepresentable: dict[str, Counter[str]] = {}

    @property
    def shape(self) -> Shape:
        """Give the shape of rows on their way to the sifting."""
        return MarkedShape(self._shape.columns, self._shape.nulled)

    def sifted(self, taker: RowTaker) -> RowTaker:
        """Hand on to a taker the rows that do not stand already; one for each thread."""
        sieve = Sieve(self._identity, self._parts, self._where)
        return Sifted(taker, sieve, self._shape, self.unrepresentable)

    def extended(self, partition: Partition, added: Manifest) -> Manifest:
        """Give the manifest of a partition with what stands in it, of which rows have been compared."""
        self._extended.add(partition.path)
        standing = self._manifests.get(partition.path)
        return added if standing is None else extended(standing, added)

    @property
    def unchanged(self) -> int:
        """Count the partitions of which no row was new."""
        return len(self._read - self._extended)

    def unrepresentable_rows(self, tree: Tree, failed: Collection[str]) -> Counter[str]:
        """Add up the values that cannot be represented, by column, of all live partitions.

        Args:
            failed: Paths of partitions that nothing was added to.
        """
        unread = [entry for entry in tree.entries.values() if entry.path not in self._manifests]
        total = unrepresentable_unread(self._destination, self._layout, tree, unread)
        for standing in self._manifests.values():
            total.update(standing.unrepresentable_rows)
        for path, added in self.unrepresentable.items():
            total.update({} if path in failed else added)
        return total

    def _parts(self, partition: Partition) -> list[ReadablePart]:
        """Give the parts that may hold rows past the bound; those that tell no range may."""
        self._read.add(partition.path)
        entry = self._entries.get(partition.path)
        if entry is None or not entry.manifest_sha256:
            return []
        standing = listed_manifest(self._destination, self._layout, entry)
        self._manifests[partition.path] = standing
        since, cursor = self._identity.since, self._identity.cursor
        is_hidden = self._identity.is_hidden and cursor.column.name in standing.unrepresentable_rows
        parts = []
        for part in standing.parts:
            told = read_range(part.extra, cursor.kind)
            if is_hidden or told is None or told.may_hold(since):
                path = partition.child(part.path)
                opener = partial(self._destination.open, path, part.size_bytes)
                parts.append(ReadablePart(self._destination.uri + path, opener))
        return parts


def addition_of(record: Record, prepared: Prepared, tree: Tree) -> Addition | None:
    """Give what stands where a run adds rows to it; None where partitions are written anew.

    Args:
        tree: Recovered and locked.
    """
    if prepared.adds_from is None:
        return None
    return Addition(record.export, record.described, record.destination, prepared.adds_from, tree.entries)
