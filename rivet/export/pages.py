"""Reads the chunks of an export, and lets each page of a key go on where the one before it has ended."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from rivet.errors import IntegrityError
from rivet.export.intake import Intake
from rivet.export.passed import Passed
from rivet.plan.chunks import ChunkPage
from rivet.plan.scans import Scan
from rivet.plan.schema import Column
from rivet.source.protocol import Batches, Session
from rivet.source.relation import Relation

if TYPE_CHECKING:
    import pyarrow as pa


_NO_ROWS = "a page of chunk_by_key gave no rows, and there should be some behind it"
_RUN_AGAIN = "run the export again; if it fails again, report it"


class Pages:
    """Reads the chunks of an export in order.

    Args:
        intake: Adds up what they bring.
    """

    def __init__(self, session: Session, intake: Intake) -> None:
        self._session = session
        self._intake = intake
        self._before: ChunkBatches | None = None

    def read(self, relation: Relation, column: Column | None, scan: Scan) -> AbstractContextManager[Batches]:
        """Read a chunk; a page that follows another needs that one to have been read to its end.

        Raises:
            IntegrityError: It gave no rows.
        """
        chunk = scan.chunk
        if isinstance(chunk, ChunkPage) and chunk.follows:
            if self._before is None:
                raise IntegrityError(_NO_ROWS, hint=_RUN_AGAIN)
            scan = replace(scan, chunk=replace(chunk, after=self._before.end()))
        reading = self._intake.of(self._session.read(relation, relation.columns, column, scan))
        self._before = ChunkBatches(
            reading, scan, lambda last: self._session.chunking.page_end(relation, column, scan, last)
        )
        return self._before


class ChunkBatches(Passed):
    """The batches of a chunk, of which the last row is kept.

    Args:
        end_of: Gives the key of a page's last row.

    Attributes:
        scan: As it is read; of a page it says behind which key.
    """

    def __init__(
        self,
        reading: AbstractContextManager[Batches],
        scan: Scan,
        end_of: Callable[[pa.RecordBatch], tuple[str, ...]],
    ) -> None:
        super().__init__(reading)
        self.scan = scan
        self._end_of = end_of
        self._end: tuple[str, ...] | None = None
        self._last: pa.RecordBatch | None = None

    def end(self) -> tuple[str, ...]:
        """Give the key of a page's last row, once the page has been read.

        Raises:
            IntegrityError: It gave no rows.
        """
        if self._end is None:
            if self._last is None:
                raise IntegrityError(_NO_ROWS, hint=_RUN_AGAIN)
            self._end, self._last = self._end_of(self._last), None
        return self._end

    def _look(self, batch: pa.RecordBatch) -> None:
        self._last = batch.slice(batch.num_rows - 1)
