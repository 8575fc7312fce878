"""Hands on the batches of a scan, each of which is looked at as it passes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rivet.source.protocol import Batches

if TYPE_CHECKING:
    import pyarrow as pa


class Passed(ABC):
    """The batches of a reading, which is entered and left with them; see the protocol of batches."""

    def __init__(self, reading: AbstractContextManager[Batches]) -> None:
        self._reading = reading
        self._batches: Batches | None = None

    def __enter__(self) -> Self:
        self._batches = self._reading.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reading.__exit__(kind, error, trace)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._entered:
            self._look(batch)
            yield batch

    @property
    def server_rows(self) -> int:
        """Give the number of rows that the server says it sent."""
        return self._entered.server_rows

    @property
    def _entered(self) -> Batches:
        assert self._batches is not None  # noqa: S101 - for mypy: it has been entered
        return self._batches

    @abstractmethod
    def _look(self, batch: pa.RecordBatch) -> None:
        """Look at a batch before it is handed on."""
