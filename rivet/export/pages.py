"""Reads the chunks of an export, and lets each page of a key go on where the one before it has ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rivet.errors import IntegrityError
from rivet.plan.chunks import ChunkPage
from rivet.plan.scans import Scan
from rivet.plan.schema import Column
from rivet.source.protocol import Batches, Relation, Session

if TYPE_CHECKING:
    import pyarrow as pa


class Pages:
    """Reads the chunks of an export in order."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._before: tuple[Scan, _Watched] | None = None

    def read(self, relation: Relation, column: Column | None, scan: Scan) -> AbstractContextManager[Batches]:
        """Read a chunk; a page that follows another needs that one to have been read to its end.

        Raises:
            IntegrityError: It gave no rows.
        """
        chunk = scan.chunk
        if isinstance(chunk, ChunkPage) and chunk.follows:
            scan = replace(scan, chunk=replace(chunk, after=self._end(relation, column)))
        watched = _Watched(self._session.read(relation, relation.columns, column, scan))
        self._before = scan, watched
        return watched

    def _end(self, relation: Relation, column: Column | None) -> tuple[str, ...]:
        if self._before is None or self._before[1].last is None:
            raise IntegrityError(
                "a page of chunk_by_key gave no rows, and there should be some behind it",
                hint="run the export again; if it fails again, report it",
            )
        scan, watched = self._before
        return self._session.chunking.page_end(relation, column, scan, watched.last)


class _Watched(AbstractContextManager["_Watched"]):
    """Batches, of which the last row is kept."""

    def __init__(self, reading: AbstractContextManager[Batches]) -> None:
        self._reading = reading
        self._batches: Batches | None = None
        self.last: pa.RecordBatch | None = None

    def __enter__(self) -> Self:
        self._batches = self._reading.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reading.__exit__(kind, error, trace)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        assert self._batches is not None  # noqa: S101 - for mypy: it has been entered
        for batch in self._batches:
            self.last = batch.slice(batch.num_rows - 1)
            yield batch

    @property
    def server_rows(self) -> int:
        """Give the number of rows that the server says it sent."""
        assert self._batches is not None  # noqa: S101 - for mypy: it has been entered
        return self._batches.server_rows
