"""Publishes staged partitions in the order of `docs/publish-order.md`, a wave of partitions at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from rivet.destination.protocol import Destination
from rivet.errors import LockHeld, LockLost, ObjectNotFound
from rivet.export.staged import StagedPartition
from rivet.interruption import finishing
from rivet.manifest.model import ExportFile, PartitionEntry, Pending, PendingPartition
from rivet.plan.layout import Layout
from rivet.plan.names import SUCCESS_FILE, child
from rivet.publish.announcement import Announcement
from rivet.publish.failing import Failures
from rivet.publish.fence import Fence, fenced
from rivet.publish.foreign import refuse_foreign
from rivet.publish.side_by_side import side_by_side
from rivet.publish.standing import Standing
from rivet.publish.steps import Steps
from rivet.publish.tree import SPARED, Tree, entry_of
from rivet.publish.unchanged import unchanged_of
from rivet.publish.unlisted import unlisted_parts
from rivet.publish.withdrawal import withdraw

# Partitions whose steps are taken together. Their syncs share the disk's commits, and readers wait this many
# renames for a marker at most; in a store they wait for some rounds of requests, which more partitions would
# only lengthen.
_WAVE_PARTITIONS = 256
_WAVE_ROUNDS = 2


@dataclass(slots=True)
class Published:
    """What a publisher did."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0
    bytes_written: int = 0


class Publisher:
    """Owns the visible state of one tree during one run.

    Call `begin` before anything is staged, `publish` for proved and vanished partitions, then `complete`; and
    `abandon` wherever the run fails.

    Args:
        blank: The export file of this run with nothing in it: its facts, no partitions, status `publishing`.
        fence: Asked before each step that others see.
        keep_going: Whether others are published where one partition fails.
        on_wave: Told before the first wave and after each one how many partitions are published, and of how
            many.
    """

    def __init__(
        self,
        destination: Destination,
        layout: Layout,
        tree: Tree,
        blank: ExportFile,
        *,
        fence: Fence,
        keep_going: bool = False,
        on_wave: Callable[[int, int], object] = lambda *_: None,
    ) -> None:
        self.published = Published()
        self.failures = Failures(destination, layout, fence, keep_going=keep_going)
        self._destination = destination
        self._fence = fence
        self._announcement = Announcement(destination, fence, tree.export_version)
        self._steps = Steps(destination, layout, tree, self._announcement, fence)
        self._layout = layout
        self._tree = tree
        self._blank = blank
        self._on_wave = on_wave
        self._standing = Standing(tree, blank)
        self._children = tree.children()
        self._unlisted: Mapping[str, Sequence[str]] = {}
        self._in_wave = False
        self._is_complete = False
        concurrency = destination.concurrency
        self._wave_partitions = _WAVE_PARTITIONS if concurrency == 1 else concurrency * _WAVE_ROUNDS

    def begin(self) -> None:
        """Record the run in the export file, so that what it stages is known as Rivet's own."""
        spared = {SPARED: sorted(self._tree.spared)} if self._tree.spared else {}
        pending = Pending(self._blank.run_id, extra=spared)
        announced = replace(self._standing.unfinished(), pending=pending)
        if self._tree.export is None:
            self._announcement.begin(announced)
        else:
            self._announcement.write(announced)

    def publish(self, partitions: Sequence[StagedPartition], vanished: Sequence[PartitionEntry] = ()) -> None:
        """Publish proved partitions, then remove vanished ones.

        A partition whose rows equal the live ones is discarded and left alone.

        Raises:
            PlanError: Something foreign stands where one of them goes; none of them was published.
            LockHeld: Another run has begun on this tree since; what of them it has not taken over is gone.
        """
        for staged in partitions:
            refuse_foreign(
                self._destination,
                self._layout,
                self._tree.sizes,
                self._standing.entries.keys(),
                staged.partition,
            )
        changed = self._changed(partitions)
        if not changed and not vanished:
            return
        self._announcement.must_take(self._blank, self._standing.entries, changed)
        pending = [
            *(self._pending(p) for p in changed),
            *(PendingPartition(e.value, e.path, e.manifest_sha256 or None, None) for e in vanished),
        ]
        self._standing.begin()
        announced = replace(self._standing.unfinished(), status="publishing")
        self._announcement.write(replace(announced, pending=Pending(self._blank.run_id, tuple(pending))))
        replaced = [e for p in changed if (e := self._standing.entries.get(p.partition.path)) is not None]
        self._unlisted = unlisted_parts(
            self._destination,
            self._layout,
            self._tree,
            {e: self._own_parts(e.path) for e in (*replaced, *vanished)},
        )
        self._standing.has_published = self._in_wave = True
        try:
            for start in range(0, len(changed), self._wave_partitions):
                self._on_wave(start, len(changed))
                with finishing():  # a reader who globs must not find old and new until the next run
                    self._publish_wave(changed[start : start + self._wave_partitions])
                # What waits on this side for a store no other run can sweep.
                self._announcement.must_stand()
            self._on_wave(len(changed), len(changed))
        except (ObjectNotFound, LockHeld) as error:  # a run that begins sweeps what one under way has staged
            if isinstance(error, LockLost) or self._announcement.is_overtaken():
                withdraw(self._destination, self._layout, self._blank.run_id, changed)
                self._announcement.must_stand()
            raise
        for start in range(0, len(vanished), self._wave_partitions):
            with finishing():
                self._remove_wave(vanished[start : start + self._wave_partitions])
        self._in_wave = False

    def keep(self, vanished: Sequence[PartitionEntry]) -> None:
        """Mark vanished partitions as kept; they are not touched."""
        for entry in vanished:
            self._standing.entries[entry.path] = replace(entry, state="kept")

    def complete(self, finished: ExportFile, *, keeps: bool = False) -> ExportFile:
        """Write the export file of the finished run, with the partitions that live now, and give it.

        What is left in the staging area, if anything, goes with it. Where partitions have failed, the tree is
        partial, and says which.

        Args:
            finished: The run's facts with its totals; partitions and row count are filled in here.
            keeps: Where partitions have failed, what was staged is left to the next run.
        """
        export = self._standing.ended(finished, self.failures)
        keeps = keeps and bool(self.failures.errors)
        if keeps and export.pending is None:
            export = replace(export, pending=Pending(self._blank.run_id))
        self._announcement.write(export)
        self._is_complete = True
        if not keeps:
            self._destination.sweep([self._blank.run_id])
        return export

    def abandon(self, *, doubtful: bool = False, keeps: bool = False) -> None:
        """End a run that failed: put the export file back as it was before `begin`, and drop what was staged.

        Once something was published the export file tells what stands; where the publishing itself was
        broken off, it is left for the next run, which finishes or undoes it. A complete tree stays so.

        Args:
            doubtful: No other run may take for finished what this one has published.
            keeps: What was staged is left to the next run, to which the export file names this one.
        """
        if self._is_complete:
            return
        if doubtful:
            self._standing.doubt()
        is_overtaken = self._is_lost() or self._announcement.is_overtaken()
        if self._in_wave and not is_overtaken:
            return
        if keeps and not is_overtaken:
            announced = replace(self._standing.unfinished(), pending=Pending(self._blank.run_id))
            if self._standing.has_published:
                self._announcement.write(announced)
            return
        # While the export file still records the run: should this be cut off, the next one sweeps.
        self._destination.sweep([self._blank.run_id])
        if is_overtaken:  # the export file is the other run's now
            return
        if self._standing.has_published:
            self._announcement.write(self._standing.unfinished())
            return
        if self._tree.export_bytes is not None and not self._was_recovered:
            self._announcement.restore(self._tree.export_bytes)
        elif self._standing.entries and self._tree.export is not None:
            self._announcement.write(self._standing.unfinished())
        else:
            self._announcement.remove()
        self._destination.remove_root_if_empty()

    def _is_lost(self) -> bool:
        try:
            self._fence.check()
        except LockLost:
            return True
        return False

    @property
    def _was_recovered(self) -> bool:
        export = self._tree.export
        return export is None or export.pending is not None

    def _publish_wave(self, wave: Sequence[StagedPartition]) -> None:
        markers = {p.partition.path: p.partition.child(SUCCESS_FILE) for p in wave if self._is_listed(p)}
        failed = self._steps.unmark(markers, self.failures.are_bearable)
        ready = [staged for staged in wave if staged.partition.path not in failed]
        # On a disk the syncs of all are one; in a store none waits for another.
        groups = [ready] if self._destination.concurrency == 1 else [[staged] for staged in ready]
        taken = side_by_side(self._destination, self._steps.take, groups)
        failed |= {path: error for errors in taken for path, error in errors.items()}
        self.failures.must_bear(failed)
        wave = [
            staged
            for staged in wave
            if (error := failed.get(staged.partition.path)) is None
            or self.failures.put_back(staged, self._pending(staged), error)
        ]
        listed = {p.partition.child(part.path) for p in wave for part in p.manifest.parts}
        self._remove_old_parts([staged.partition.path for staged in wave], listed)
        for staged in wave:
            entry = entry_of(staged.manifest, staged.manifest_sha256, staged.partition.path)
            self._standing.entries[entry.path] = entry
            self.published.written += 1
            self.published.bytes_written += sum(part.facts.size_bytes for part in staged.parts)

    def _is_listed(self, staged: StagedPartition) -> bool:
        return staged.partition.path in self._standing.entries

    def _remove_wave(self, wave: Sequence[PartitionEntry]) -> None:
        directories = [e.path for e in wave]
        self._announcement.must_stand()
        for name in (SUCCESS_FILE, self._layout.manifest_name):
            self._steps.remove([child(path, name) for path in directories])
            self._destination.settle(directories)
        self._remove_old_parts(directories)
        for entry in wave:
            del self._standing.entries[entry.path]
            self.published.removed += 1

    def _remove_old_parts(self, directories: Sequence[str], listed: AbstractSet[str] = frozenset()) -> None:
        """Remove them for good: once the export file lists no part of their run, they would be foreign.

        Args:
            listed: Parts that new manifests list, whoever wrote them.
        """
        old = {path: names for path in directories if (names := self._old_parts(path) - listed)}
        self._delete(name for names in old.values() for name in sorted(names))
        self._destination.settle(old)

    def _delete(self, names: Iterable[str]) -> None:
        self._destination.delete(fenced(self._fence, names))

    def _own_parts(self, path: str) -> list[str]:
        return [name for name in self._children.get(path, []) if self._tree.owns(name)]

    def _old_parts(self, path: str) -> set[str]:
        return {*self._own_parts(path), *self._unlisted.get(path, [])}

    def _pending(self, staged: StagedPartition) -> PendingPartition:
        partition = staged.partition
        entry = self._standing.entries.get(partition.path)
        old_sha256 = None if entry is None else entry.manifest_sha256 or None
        return PendingPartition(partition.value, partition.path, old_sha256, staged.manifest_sha256)

    def _changed(self, partitions: Sequence[StagedPartition]) -> list[StagedPartition]:
        """Discard what equals the live rows, and give the rest."""
        entries = self._standing.entries
        unchanged = unchanged_of(self._destination, self._layout, self._tree, entries, partitions)
        for staged in unchanged.values():
            self._standing.confirm(staged.partition.path)
            for file in staged.files():
                file.discard()
            self.published.unchanged += 1
        return [p for p in partitions if p.partition.path not in unchanged]
