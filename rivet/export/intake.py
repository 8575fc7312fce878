"""Adds up what the scans of an export have brought, and what they took of temporary files."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from rivet.export.passed import Passed
from rivet.source.protocol import Batches

if TYPE_CHECKING:
    import pyarrow as pa


class Intake:
    """What has come, of all scans together, some of which may be read at once.

    Attributes:
        bytes_read: Of the values as they are in memory.
        temporary_bytes: Of the files in which Rivet sorts.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.bytes_read = 0
        self.temporary_bytes = 0

    def of(self, reading: AbstractContextManager[Batches]) -> Passed:
        """Give the same batches, each of which is added up as it passes."""
        return _Added(self, reading)

    def add(self, bytes_read: int) -> None:
        """Add up what was read."""
        with self._lock:
            self.bytes_read += bytes_read

    def add_temporary(self, temporary_bytes: int) -> None:
        """Add up what was put into temporary files."""
        with self._lock:
            self.temporary_bytes += temporary_bytes


class _Added(Passed):
    def __init__(self, intake: Intake, reading: AbstractContextManager[Batches]) -> None:
        super().__init__(reading)
        self._intake = intake

    def _look(self, batch: pa.RecordBatch) -> None:
        self._intake.add(batch.nbytes)
