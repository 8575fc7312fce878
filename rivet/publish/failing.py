"""Partitions that a run cannot publish, while it goes on with the others."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from rivet.destination.protocol import Destination
from rivet.errors import DestinationDenied, DestinationError, DestinationUnavailable, RivetError
from rivet.export.staged import StagedPartition
from rivet.manifest.model import PendingPartition
from rivet.plan.layout import Layout, Partition
from rivet.publish.fence import Fence
from rivet.publish.recover import settle_partition
from rivet.wording import counted

OF_ONE_PARTITION = (DestinationUnavailable, DestinationDenied)
"""Errors of a request that may be of one partition alone."""

# Where more fail, it is the destination that fails, and each further one would only wait for it.
_MOST_BY_DESTINATION = 3
_SHOWN = 5


class Failures:
    """The partitions that have failed in a run, by path, and what it was.

    Args:
        keep_going: Whether others are published all the same.

    Attributes:
        errors: By path.
        partitions: Likewise.
        unsettled: What could not be put back, which the next run finishes or undoes.
    """

    def __init__(self, destination: Destination, layout: Layout, fence: Fence, *, keep_going: bool) -> None:
        self.errors: dict[str, RivetError] = {}
        self.partitions: dict[str, Partition] = {}
        self.unsettled: list[PendingPartition] = []
        self._keep_going = keep_going
        self._by_destination = 0
        self._destination = destination
        self._layout = layout
        self._fence = fence

    def add(self, partition: Partition, error: RivetError) -> None:
        """Take down that a partition has failed; nothing of it has been touched."""
        self.errors[partition.path] = error
        self.partitions[partition.path] = partition

    def told(self, of: int) -> tuple[str, str | None] | tuple[None, None]:
        """Give a message and a mend for people, or None where nothing failed.

        Args:
            of: Partitions that there are, failed ones included.
        """
        if not self.errors:
            return None, None
        shown = "; ".join(f"{path or 'the export'}: {e}" for path, e in list(self.errors.items())[:_SHOWN])
        more = f"; and {len(self.errors) - _SHOWN} more" if len(self.errors) > _SHOWN else ""
        hint = next((e.hint for e in self.errors.values() if e.hint), None)
        how_many = f"{len(self.errors)} of {counted(of, 'partition')} failed"
        message = f"{how_many}, and the others are published: {shown}{more}"
        return message, hint or "run the same command again"

    def must_bear(self, errors: Mapping[str, RivetError]) -> None:
        """Raise the first of some errors by the destination, unless the run goes on with other partitions."""
        if errors and not self.are_bearable(len(errors)):
            raise next(iter(errors.values()))
        self._by_destination += len(errors)

    def are_bearable(self, further: int) -> bool:
        """Tell whether the run goes on with other partitions after further errors by the destination."""
        return self._keep_going and self._by_destination + further <= _MOST_BY_DESTINATION

    def put_back(self, staged: StagedPartition, pending: PendingPartition, error: RivetError) -> bool:
        """Finish or undo a partition whose steps were broken off, by its manifest; tell whether it is new.

        Args:
            pending: As it was announced.
        """
        try:
            entry = settle_partition(self._destination, self._layout, pending, self._fence)
            if entry is not None and entry.manifest_sha256 == staged.manifest_sha256:
                return True
            self._destination.delete(staged.partition.child(p.facts.path) for p in staged.parts)
        except OF_ONE_PARTITION:
            self.unsettled.append(pending)
        for file in staged.files():
            with suppress(DestinationError):
                file.discard()
        self.add(staged.partition, error)
        return False
