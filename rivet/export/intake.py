"""Adds up what the scans of an export have brought, and what they took of temporary files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rivet.export.sort import SortedBatches
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

    def of(self, reading: AbstractContextManager[Batches]) -> Counted:
        """Give the same batches, each of which is added up as it passes."""
        return Counted(self, reading)

    def add(self, *, bytes_read: int = 0, temporary_bytes: int = 0) -> None:
        """Add up."""
        with self._lock:
            self.bytes_read += bytes_read
            self.temporary_bytes += temporary_bytes


class Counted(AbstractContextManager["Counted"]):
    """The batches of a scan, each of which is added to an intake."""

    def __init__(self, intake: Intake, reading: AbstractContextManager[Batches]) -> None:
        self._intake = intake
        self._reading = reading
        self._batches: Batches | None = None

    def __enter__(self) -> Self:
        self._batches = self._reading.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(self._batches, SortedBatches):
            self._intake.add(temporary_bytes=self._batches.temporary_bytes)
        self._reading.__exit__(kind, error, trace)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        assert self._batches is not None  # noqa: S101 - for mypy: it has been entered
        for batch in self._batches:
            self._intake.add(bytes_read=batch.nbytes)
            yield batch

    @property
    def server_rows(self) -> int:
        """Give the number of rows that the server says it sent."""
        assert self._batches is not None  # noqa: S101 - for mypy: it has been entered
        return self._batches.server_rows
