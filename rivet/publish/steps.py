"""Takes the steps that make partitions visible, each only while the tree is the run's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from rivet.destination.protocol import Destination
from rivet.errors import RivetError
from rivet.export.staged import StagedFile, StagedPartition
from rivet.plan.layout import Layout
from rivet.plan.names import SUCCESS_FILE
from rivet.publish.announcement import Announcement
from rivet.publish.failing import OF_ONE_PARTITION
from rivet.publish.fence import Fence, fenced
from rivet.publish.marking import version_of
from rivet.publish.side_by_side import side_by_side
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

    def unmark(
        self, markers: Mapping[str, str], are_bearable: Callable[[int], bool]
    ) -> dict[str, RivetError]:
        """Remove the markers of partitions, which are given by path.

        Give, by path, the errors of the partitions for which the destination refused it.

        Args:
            are_bearable: Tells whether to go on after so many of them; else the last is raised.
        """
        failed: dict[str, RivetError] = {}
        try:
            self._destination.delete(fenced(self._fence, markers.values()))
        except OF_ONE_PARTITION:  # of which one, each by itself tells
            for path, marker in markers.items():
                try:
                    self._destination.delete(fenced(self._fence, [marker]))
                except OF_ONE_PARTITION as error:
                    failed[path] = error
                    if not are_bearable(len(failed)):
                        raise
        return failed

    def take(self, group: Sequence[StagedPartition]) -> dict[str, RivetError]:
        """Make parts, manifests and markers visible, in this order.

        Give, by path, the errors of the partitions for which the destination refused a step.
        """
        if self._destination.concurrency == 1:
            return self._rename(group)
        failed: dict[str, RivetError] = {}
        for staged in group:
            try:
                self._fence.step()
                self._destination.publish([part.file for part in staged.parts])
                self._put(staged.manifest_file, staged.partition.child(self._layout.manifest_name))
                self._put(staged.marker_file, staged.partition.child(SUCCESS_FILE))
            except OF_ONE_PARTITION as error:
                failed[staged.partition.path] = error
        return failed

    def _put(self, file: StagedFile, name: str) -> None:
        """Publish an object under a name that other runs use, too.

        A request that was under way when the run was stopped may arrive when another has the tree. So it says
        what it replaces, and fails where the other has replaced it.
        """
        self._fence.step()
        if not self._destination.publish_over(file, self._versions.get(name)):
            self._announcement.must_stand()
            self._destination.publish([file])

    def remove(self, names: Sequence[str]) -> None:
        """Remove objects whose names other runs use, too; in a store, those that the run has seen."""
        if self._destination.concurrency == 1:
            self._destination.delete(fenced(self._fence, names))
            return

        def look(name: str) -> str | None:
            return self._versions.get(name) or version_of(self._destination, name)

        def remove_one(seen: tuple[str, str | None]) -> None:
            self._fence.step()
            name, version = seen
            if version is not None and not self._destination.remove(name, version):
                self._announcement.must_stand()
                self._destination.delete([name])

        known = list(zip(names, side_by_side(self._destination, look, names), strict=True))
        self._announcement.must_stand()
        side_by_side(self._destination, remove_one, known)

    def _rename(self, group: Sequence[StagedPartition]) -> dict[str, RivetError]:
        failed: dict[str, RivetError] = {}
        kinds: tuple[Callable[[StagedPartition], Iterable[StagedFile]], ...] = (
            lambda staged: [part.file for part in staged.parts],
            lambda staged: [staged.manifest_file],
            lambda staged: [staged.marker_file],
        )
        for files_of in kinds:
            for staged in (staged for staged in group if staged.partition.path not in failed):
                try:
                    for file in files_of(staged):
                        self._fence.step()
                        self._destination.publish([file])
                except OF_ONE_PARTITION as error:
                    failed[staged.partition.path] = error
            self._destination.settle(s.partition.path for s in group if s.partition.path not in failed)
        return failed
