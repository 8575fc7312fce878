"""The export file as one run writes it: by it a run announces itself, and notices another one."""

from __future__ import annotations

from contextlib import suppress

from rivet.destination.protocol import Destination, Listed
from rivet.errors import LockHeld, ObjectNotFound
from rivet.manifest.codec import encode_export
from rivet.manifest.model import ExportFile
from rivet.plan.names import EXPORT_FILE


class Announcement:
    """The export file of one run; no lock, but what two runs at once leave shows in it."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        self._written: bytes | None = None
        self._seen: Listed | None = None

    def write(self, export: ExportFile) -> None:
        """Replace the export file.

        Raises:
            LockHeld: Another run has replaced it since.
        """
        self.must_stand()
        self._written, self._seen = encode_export(export), None
        self._destination.put(EXPORT_FILE, self._written)
        self._destination.settle([""])

    def must_stand(self) -> None:
        """Raise `LockHeld` where the run was overtaken."""
        if self.is_overtaken():
            raise LockHeld(
                f"another run has begun on {self._destination.uri} while this one was at work",
                hint="run again when it has ended; flock keeps two from running at once (docs/cron.md)",
            )

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
            if self._destination.read(EXPORT_FILE) != self._written:
                return True
        self._seen = listed
        return False
