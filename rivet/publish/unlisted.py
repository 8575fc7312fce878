"""Finds the parts of live partitions that a listing has left out, by the manifests that are about to go.

Once a partition's entry is replaced nothing tells any more that the old run's parts are Rivet's own, so what
is not removed then stays, and readers that glob count its rows again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rivet.destination.protocol import Destination
from rivet.manifest.model import PartitionEntry
from rivet.plan.layout import Layout
from rivet.plan.names import child, run_id_of_part
from rivet.publish.side_by_side import side_by_side
from rivet.publish.tree import Tree, read_manifest


def unlisted_parts(
    destination: Destination,
    layout: Layout,
    tree: Tree,
    listed: Mapping[PartitionEntry, Sequence[str]],
) -> dict[str, list[str]]:
    """Give by path the parts that manifests list and the listing of the tree did not show.

    A manifest is read only where the parts that were listed do not add up to what the export file says.

    Args:
        listed: Live partitions that are about to be replaced or removed, with the parts of Rivet's own that
            the listing showed in each.
    """

    def look(entry: PartitionEntry) -> list[str]:
        found = read_manifest(destination, child(entry.path, layout.manifest_name))
        parts = [] if found is None else [child(entry.path, part.path) for part in found[0].parts]
        return [name for name in parts if tree.owns(name) and name not in tree.sizes]

    short = [e for e, names in listed.items() if _size_bytes(tree, e, names) < e.size_bytes]
    looked = side_by_side(destination, look, short)
    return {entry.path: names for entry, names in zip(short, looked, strict=True) if names}


def _size_bytes(tree: Tree, entry: PartitionEntry, names: Sequence[str]) -> int:
    return sum(tree.sizes[n] for n in names if run_id_of_part(n.rpartition("/")[2]) in entry.runs)
