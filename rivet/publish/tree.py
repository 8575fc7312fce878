"""Reads what stands at a root, and tells Rivet's own files from foreign ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from rivet.destination.bounded import one_large, read_bounded
from rivet.destination.protocol import Destination
from rivet.errors import IntegrityError, ObjectNotFound, PlanError
from rivet.manifest.claimed import partitioning_of
from rivet.manifest.codec import (
    MAX_BYTES,
    MAX_MANIFEST_BYTES,
    DecodeError,
    decode_export,
    decode_manifest,
    digest,
)
from rivet.manifest.model import ExportFile, ExportPartitionFacts, Manifest, PartitionEntry
from rivet.plan.layout import Layout
from rivet.plan.names import EXPORT_FILE, PART_SUFFIX, child, run_id_of_part
from rivet.plan.windows import told_label
from rivet.publish.side_by_side import side_by_side
from rivet.wording import counted

SPARED = "takes_over"
"""Key of what is pending: runs whose staged objects are taken over, and not swept until they are."""


@dataclass(frozen=True, slots=True)
class Tree:
    """What stands at a root before a run.

    Attributes:
        export: The export file, or None.
        export_bytes: Its bytes, to put it back as it was.
        export_version: What the destination tells it by from any other; None where there is none.
        entries: The live and kept partitions by their paths.
        sizes: Every object's size by its name from the root.
        versions: What a listing tells manifests by from those that replace them, where it does.
        run_ids: Runs whose files are Rivet's own here.
        spared: Runs whose staged objects are not to be swept, since they are taken over.
        strays: Directories with a manifest that are no partition: somebody copied or moved one there.
    """

    export: ExportFile | None = None
    export_bytes: bytes | None = None
    export_version: str | None = None
    entries: Mapping[str, PartitionEntry] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    run_ids: frozenset[str] = frozenset()
    strays: frozenset[str] = frozenset()
    spared: frozenset[str] = frozenset()

    def children(self) -> dict[str, list[str]]:
        """Give the names of the objects that lie directly in each directory."""
        grouped: dict[str, list[str]] = {}
        for name in self.sizes:
            directory, _, _ = name.rpartition("/")
            grouped.setdefault(directory, []).append(name)
        return grouped

    def warnings(self) -> list[str]:
        """Tell people of foreign files that readers would take for data."""
        parts = (n for n in self.sizes if n.endswith(PART_SUFFIX))
        foreign = [n for n in parts if not self.owns(n) or n.rpartition("/")[0] in self.strays]
        if not foreign:
            return []
        count = counted(len(foreign), "foreign Parquet file")
        return [
            f"{count} in the tree, such as {foreign[0]!r}: left alone, but readers that glob will read them"
        ]

    def owns(self, name: str) -> bool:
        """Tell whether an object is a part that one of this export's runs wrote."""
        return run_id_of_part(name.rpartition("/")[2]) in self.run_ids


def read_tree(destination: Destination, layout: Layout) -> Tree:
    """Read the state of a root for an export.

    Raises:
        PlanError: The root holds another export, key, column, granularity or manifest name.
        IntegrityError: The export file cannot be read.
    """
    sizes, versions = list_tree(destination, layout)
    if EXPORT_FILE not in sizes:
        return replace(_adopt(destination, layout, sizes), versions=versions)
    found = destination.inspect(EXPORT_FILE, MAX_BYTES + 1)
    data = found.data
    try:
        export = decode_export(data)
    except DecodeError as error:
        raise IntegrityError(
            f"{destination.uri}{EXPORT_FILE}: {error}",
            hint="restore the file; or remove it, and the next run rebuilds it from the manifests",
        ) from error
    require_same_export(destination.uri, layout, export.export_name, export.partition, export.manifest_name)
    run_ids = {export.run_id, *(r for e in export.partitions for r in e.runs), *export.killed_runs}
    if export.pending is not None:
        run_ids.add(export.pending.run_id)
    entries = {e.path: e for e in export.partitions}
    known = {*entries, *(p.path for p in export.pending.partitions)} if export.pending else entries
    strays = {directory for directory, _ in _manifests(layout, sizes)}.difference(known)
    return Tree(
        export,
        data,
        found.version,
        entries,
        sizes,
        versions=versions,
        run_ids=frozenset(run_ids),
        strays=frozenset(strays),
    )


def list_tree(destination: Destination, layout: Layout) -> tuple[dict[str, int], dict[str, str]]:
    """List the sizes of all objects, and the versions of manifests."""
    sizes: dict[str, int] = {}
    versions: dict[str, str] = {}
    for listed in destination.list():
        sizes[listed.name] = listed.size_bytes
        if listed.version is not None and listed.name.rpartition("/")[2] == layout.manifest_name:
            versions[listed.name] = listed.version
    return sizes, versions


def read_manifest(destination: Destination, path: str) -> tuple[Manifest, str] | None:
    """Read a partition's live manifest and its digest; None where there is none that can be read."""
    try:
        data = read_bounded(destination, path, MAX_MANIFEST_BYTES)
        with one_large(len(data)):
            return decode_manifest(data), digest(data)
    except (ObjectNotFound, DecodeError):
        return None


def listed_manifest(destination: Destination, layout: Layout, entry: PartitionEntry) -> Manifest:
    """Read the manifest of a live partition that the export file lists.

    Raises:
        IntegrityError: It cannot be read, or is another one.
    """
    name = child(entry.path, layout.manifest_name)
    found = read_manifest(destination, name)
    if found is None or found[1] != entry.manifest_sha256:
        told = "cannot be read" if found is None else "is not the one that the export file lists"
        raise damaged(entry, f"{destination.uri}{name} {told}")
    return found[0]


def damaged(entry: PartitionEntry, message: str) -> IntegrityError:
    """Make the error of a partition whose files are not what is said of them, with the mend."""
    asked = "" if entry.value is None else f" --partition {told_label(entry.value)}"
    return IntegrityError(message, hint=f"write the partition anew: rivet run{asked}")


def entry_of(manifest: Manifest, manifest_sha256: str, path: str) -> PartitionEntry:
    """Give a live partition's entry in the export file."""
    found = [run_id_of_part(part.path) for part in manifest.parts]
    others = {run_id for run_id in found if run_id is not None} - {manifest.run_id}
    return PartitionEntry(
        value=None if manifest.partition is None else manifest.partition.value,
        path=path,
        state="live",
        run_id=manifest.run_id,
        consistency=manifest.source.consistency,
        row_count=manifest.row_count,
        size_bytes=manifest.size_bytes,
        manifest_sha256=manifest_sha256,
        part_runs=tuple(sorted(others)),
    )


def partition_facts(layout: Layout) -> ExportPartitionFacts | None:
    """Give what the export file says of an export's partitioning."""
    p = layout.partitioning
    if p is None:
        return None
    return ExportPartitionFacts(p.column, p.key, p.axis.granularity.value, p.axis.timezone, p.template)


def _adopt(destination: Destination, layout: Layout, sizes: Mapping[str, int]) -> Tree:
    """Rebuild the entries of a tree whose export file was lost, from its manifests."""

    def read(found: tuple[str, str]) -> PartitionEntry | None:
        directory, name = found
        live = read_manifest(destination, name)
        if live is None:
            return None
        manifest, sha256 = live
        facts = partitioning_of(manifest.partition)
        require_same_export(destination.uri, layout, manifest.export_name, facts, layout.manifest_name)
        return entry_of(manifest, sha256, directory)

    entries: dict[str, PartitionEntry] = {}
    strays: set[str] = set()
    for entry in side_by_side(destination, read, list(_manifests(layout, sizes))):
        if entry is not None and entry.path == layout.directory(entry.value):
            entries[entry.path] = entry
        elif entry is not None:
            strays.add(entry.path)
    run_ids = frozenset(run_id for e in entries.values() for run_id in e.runs)
    return Tree(None, None, None, entries, sizes, run_ids=run_ids, strays=frozenset(strays))


def _manifests(layout: Layout, sizes: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Give the directory and the whole name of everything that is named as a manifest."""
    for name in sizes:
        directory, _, base = name.rpartition("/")
        if base == layout.manifest_name:
            yield directory, name


def require_same_export(
    uri: str,
    layout: Layout,
    export_name: str,
    facts: ExportPartitionFacts | None,
    manifest_name: str,
) -> None:
    """Require that what stands at a place is of this very export.

    Args:
        facts: How that is partitioned; an empty template is not known.

    Raises:
        PlanError: It is of another export, key, column, granularity, zone, template or manifest name.
    """
    mine = partition_facts(layout)
    template = facts.template if facts is not None else ""
    pairs: list[tuple[str, object, object]] = [
        ("export", export_name, layout.export_name),
        ("column", facts and facts.column, mine and mine.column),
        ("key", facts and facts.key, mine and mine.key),
        ("granularity", facts and facts.granularity, mine and mine.granularity),
        ("timezone", facts and facts.timezone, mine and mine.timezone),
        ("manifest_name", manifest_name, layout.manifest_name),
    ]
    if template:
        pairs.append(("template", template, mine and mine.template))
    for what, seen, wanted in pairs:
        if seen != wanted:
            found = f"no {what}" if seen is None else f"{what} {seen!r}"
            asked = "none" if wanted is None else repr(wanted)
            raise PlanError(
                f"{uri} holds an export with {found}, and this one has {asked}",
                hint="give the export a root of its own, or move the old tree away",
            )
