"""What is known of live partitions that a run does not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rivet.destination.protocol import Destination
from rivet.manifest.model import PartitionEntry
from rivet.plan.layout import Layout
from rivet.plan.names import child
from rivet.publish.side_by_side import side_by_side
from rivet.publish.tree import Tree, read_manifest


def unrepresentable_unread(
    destination: Destination, layout: Layout, tree: Tree, unread: Iterable[PartitionEntry]
) -> Counter[str]:
    """Add up, by column, the unrepresentable values in partitions that are not read.

    Manifests are read only where the export file does not say that there is none.
    """
    export = tree.export
    if export is not None and export.status == "complete" and not export.unrepresentable_rows:
        return Counter()
    names = [child(e.path, layout.manifest_name) for e in unread if e.state == "live"]
    total = Counter[str]()
    for found in side_by_side(destination, lambda name: read_manifest(destination, name), names):
        total.update({} if found is None else found[0].unrepresentable_rows)
    return total
