"""The export file as one run writes it: by it a run announces itself, and notices another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from rivet.destination.bounded import read_bounded
from rivet.destination.protocol import Destination, Listed
from rivet.destination.trial import must_be_listed
from rivet.errors import DestinationError, LockHeld, NoConditionalWrites, ObjectNotFound
from rivet.export.staged import StagedPartition
from rivet.manifest.codec import MAX_BYTES, encode_export, refuse_unreadable
from rivet.manifest.model import ExportFile, PartitionEntry
from rivet.plan.names import EXPORT_FILE
from rivet.publish.fence import Fence
from rivet.publish.tree import entry_of
from rivet.wording import counted

_ATTEMPTS = 2
# Fewer always fit: an entry takes some hundred bytes, a kilobyte at most.
_SURELY_LISTED = 100_000


class Announcement:
    """The export file of one run, replaced only where nobody else has replaced it.

    Args:
        version: Of the export file as the run has read it; None: there was none.
    """

    def __init__(self, destination: Destination, fence: Fence, version: str | None) -> None:
        self._destination = destination
        self._fence = fence
        self._version = version
        self._written: bytes | None = None
        self._sent: bytes | None = None
        self._seen: Listed | None = None
        self._is_conditional = True

    def write(self, export: ExportFile) -> None:
        """Replace the export file.

        Raises:
            LockHeld: Another run has replaced it since, or has taken this one's place.
            PlanError: It lists so many partitions that it would not be read again.
        """
        self.restore(_encoded(self._destination, export))

    def must_take(
        self, blank: ExportFile, entries: Mapping[str, PartitionEntry], staged: Sequence[StagedPartition]
    ) -> None:
        """Refuse, before anything changes, so many partitions that the last export file could not list them.

        Args:
            blank: The run's export file with nothing in it.
            entries: What stands now, by path.
            staged: What is about to be published.

        Raises:
            PlanError: They are too many.
        """
        if len(entries) + len(staged) > _SURELY_LISTED:
            new = (entry_of(p.manifest, p.manifest_sha256, p.partition.path) for p in staged)
            after = dict(entries) | {entry.path: entry for entry in new}
            _encoded(self._destination, replace(blank, partitions=tuple(after.values())))

    def begin(self, export: ExportFile) -> None:
        """Write the first export file of a tree, and see to it that the next run will find it.

        Raises:
            DestinationError: The store does not list it; it is removed again.
            LockHeld: Another run has written one.
        """
        self.write(export)
        try:
            must_be_listed(self._destination, EXPORT_FILE)
        except DestinationError:
            with suppress(DestinationError):
                self.remove()
            raise

    def restore(self, data: bytes) -> None:
        """Replace the export file by bytes that it has had before."""
        self._fence.check()
        self._sent = data
        if not (self._is_conditional and self._replaced(data)):
            self._must_not_be_overtaken()
            self._destination.put(EXPORT_FILE, data)
        self._written, self._seen = data, None
        self._destination.settle([""])

    def remove(self) -> None:
        """Remove the export file, where there was none before."""
        self._fence.check()
        if self._is_conditional and self._version is not None:
            self._destination.remove(EXPORT_FILE, self._version)
        elif not self._is_conditional and not self.is_overtaken():
            self._destination.delete([EXPORT_FILE])
        self._destination.settle([""])

    def must_stand(self) -> None:
        """Raise `LockHeld` where the run was overtaken."""
        self._fence.check()
        self._must_not_be_overtaken()

    def is_overtaken(self) -> bool:
        """Tell whether another run has replaced the export file since this one wrote it.

        It is read once after each writing; from then on a store's checksum tells whether it still stands.
        """
        if self._written is None:
            return False
        listed = next(self._destination.list(EXPORT_FILE), None)
        if listed is not None and listed.checksum is not None and listed == self._seen:
            return False
        with suppress(ObjectNotFound):
            if read_bounded(self._destination, EXPORT_FILE, len(self._written)) != self._written:
                return True
        self._seen = listed
        return False

    def _replaced(self, data: bytes) -> bool:
        """Replace what the run has read or written last; False where the store keeps to no conditions."""
        for _ in range(_ATTEMPTS):
            try:
                if self._version is None:
                    version = self._destination.create(EXPORT_FILE, data)
                else:
                    version = self._destination.replace(EXPORT_FILE, data, self._version)
            except NoConditionalWrites:
                self._is_conditional = False
                return False
            if version is not None:
                self._version = version
                return True
            if not self._finds_own():
                break
        if self._version is None:
            must_be_listed(self._destination, EXPORT_FILE)
        raise self._overtaken()

    def _finds_own(self) -> bool:
        """Tell whether what stands is what an earlier request wrote, though it was given up for failed."""
        with suppress(ObjectNotFound):
            longest = max(len(self._written or b""), len(self._sent or b""))
            found = self._destination.inspect(EXPORT_FILE, longest + 1)
            if found.data in (self._written, self._sent):
                self._version = found.version
                return True
        return False

    def _must_not_be_overtaken(self) -> None:
        if self.is_overtaken():
            raise self._overtaken()

    def _overtaken(self) -> LockHeld:
        # What was left out of the listing at first looks as if somebody had written it since.
        is_known = self._version is not None or self._written is not None
        unless = "" if is_known else ", or the listing has left out what stood there"
        return LockHeld(
            f"another run has begun on {self._destination.uri} while this one was at work{unless}",
            hint="run again when it has ended; lock: off lets two run at once",
        )


def _encoded(destination: Destination, export: ExportFile) -> bytes:
    """Encode an export file, or raise `PlanError` where it would not be read again."""
    data = encode_export(export)
    refuse_unreadable(
        data,
        MAX_BYTES,
        f"{destination.uri}{EXPORT_FILE}, of {counted(len(export.partitions), 'partition')},",
        hint="choose a coarser partition_granularity, or make several exports of it",
    )
    return data
