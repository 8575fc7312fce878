"""Finishes or undoes what a killed run left half published, by the manifests alone."""

from __future__ import annotations

from dataclasses import replace

from rivet.destination.protocol import Destination
from rivet.errors import DestinationUnavailable
from rivet.manifest.codec import marker_of
from rivet.manifest.model import PartitionEntry, PendingPartition
from rivet.plan.layout import Layout
from rivet.plan.names import SUCCESS_FILE, child, run_id_of_part
from rivet.publish.fence import Fence, fenced
from rivet.publish.marking import set_marker, version_of
from rivet.publish.side_by_side import side_by_side
from rivet.publish.tree import Tree, entry_of, list_tree, read_manifest

_ATTEMPTS = 3


def recover(destination: Destination, layout: Layout, tree: Tree, fence: Fence) -> Tree:
    """Bring every partition to the state that its manifest says, and remove what earlier runs left behind.

    A partition whose manifest is the new one is finished, one whose manifest is the old one is undone; one
    with any other manifest is left for this run to publish anew. Only files that Rivet owns are removed.
    """
    pending = None if tree.export is None else tree.export.pending
    entries = dict(tree.entries)
    if pending is not None:
        settled = side_by_side(
            destination, lambda p: settle_partition(destination, layout, p, fence), pending.partitions
        )
        for partition, entry in zip(pending.partitions, settled, strict=True):
            if entry is not None:
                entries[partition.path] = entry
            elif partition.new_sha256 is None or partition.old_sha256 is None:
                entries.pop(partition.path, None)
    if tree.export is not None:
        # A run may also be killed after its last publish step, while it removes what it staged.
        begun = {tree.export.run_id, *tree.export.killed_runs} | ({pending.run_id} if pending else set())
        destination.sweep(begun - tree.spared)
    garbage = _garbage(destination, layout, tree)
    destination.delete(fenced(fence, garbage))
    # For good: once the export file records another run, what came back would be foreign.
    destination.settle({name.rpartition("/")[0] for name in garbage})
    if pending is None and not garbage:
        return tree
    sizes, versions = list_tree(destination, layout)
    return replace(tree, entries=entries, sizes=sizes, versions=versions)


def settle_partition(
    destination: Destination, layout: Layout, partition: PendingPartition, fence: Fence
) -> PartitionEntry | None:
    """Write or remove the marker so that it agrees with the manifest, and give the entry of what lives."""
    marker = child(partition.path, SUCCESS_FILE)
    for _ in range(_ATTEMPTS):
        # Before the manifest: a marker that was written since belongs to another one.
        seen = version_of(destination, marker) if destination.concurrency > 1 else None
        found = read_manifest(destination, child(partition.path, layout.manifest_name))
        fence.step()
        manifest, sha256 = found or (None, None)
        if sha256 is not None and sha256 not in (partition.old_sha256, partition.new_sha256):
            return None
        if set_marker(destination, marker, None if sha256 is None else marker_of(sha256), seen):
            destination.settle([partition.path])
            return None if manifest is None else entry_of(manifest, sha256 or "", partition.path)
        fence.check()
    raise DestinationUnavailable(
        f"{destination.uri}{marker} does not stay as it is seen", hint="look what changes it, then run again"
    )


def _garbage(destination: Destination, layout: Layout, tree: Tree) -> list[str]:
    """List Rivet's own parts that no live manifest lists."""
    interrupted = tree.export is not None and tree.export.pending is not None

    def look(found: tuple[str, list[str]]) -> list[str]:
        directory, own = found
        entry = tree.entries.get(directory)
        runs = {run_id_of_part(n.rpartition("/")[2]) for n in own}
        # Parts that all come from live runs leave nothing over; their manifest need not be read.
        if entry is not None and runs <= entry.runs and not interrupted:
            return []
        manifest, marker = (child(directory, name) for name in (layout.manifest_name, SUCCESS_FILE))
        live = read_manifest(destination, manifest)
        stood = not tree.sizes.keys().isdisjoint((manifest, marker)) or (
            entry is not None and not interrupted
        )
        if live is None and stood:
            return []  # damaged from outside: the parts may be all that is left, until all is published anew
        listed = {child(directory, part.path) for part in live[0].parts} if live else set()
        return [n for n in own if n not in listed]

    own_parts = {path: [n for n in names if tree.owns(n)] for path, names in tree.children().items()}
    looked = side_by_side(destination, look, [(path, own) for path, own in own_parts.items() if own])
    return [name for names in looked for name in names]
