"""Takes the steps that make partitions visible, each only while the tree is the run's own."""

from __future__ import annotations

from collections.abc import Sequence

from rivet.destination.protocol import Destination
from rivet.export.staged import StagedFile, StagedPartition
from rivet.plan.layout import Layout
from rivet.plan.names import SUCCESS_FILE
from rivet.publish.announcement import Announcement
from rivet.publish.fence import Fence
from rivet.publish.tree import Tree


class Steps:
    """Publishes parts, then manifests, then markers; several threads may, each its own partitions."""

    def __init__(
        self, destination: Destination, layout: Layout, tree: Tree, announcement: Announcement, fence: Fence
    ) -> None:
        self._destination = destination
        self._layout = layout
        self._versions = tree.versions
        self._announcement = announcement
        self._fence = fence

    def take(self, group: Sequence[StagedPartition]) -> None:
        """Make parts, manifests and markers visible, in this order."""
        if self._destination.concurrency == 1:
            self._rename(group)
            return
        for staged in group:
            self._fence.step()
            self._destination.publish([part.file for part in staged.parts])
            self._put(staged.manifest_file, staged.partition.child(self._layout.manifest_name))
            self._put(staged.marker_file, staged.partition.child(SUCCESS_FILE))

    def _put(self, file: StagedFile, name: str) -> None:
        """Publish an object under a name that other runs use, too.

        A request that was under way when the run was stopped may arrive when another has the tree. So it says
        what it replaces, and fails where the other has replaced it.
        """
        self._fence.step()
        if not self._destination.publish_over(file, self._versions.get(name)):
            self._announcement.must_stand()
            self._destination.publish([file])

    def _rename(self, group: Sequence[StagedPartition]) -> None:
        directories = [staged.partition.path for staged in group]
        for files in (
            [part.file for staged in group for part in staged.parts],
            [staged.manifest_file for staged in group],
            [staged.marker_file for staged in group],
        ):
            for file in files:
                self._fence.step()
                self._destination.publish([file])
            self._destination.settle(directories)
