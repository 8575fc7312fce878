"""Reads a scan on a connection of its own, at a moment of its own, in which its rows are counted first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rivet.errors import IntegrityError
from rivet.source.mysql.bulk import MysqlBatches, SnapshotReader
from rivet.source.mysql.errors import translated
from rivet.wording import counted

if TYPE_CHECKING:
    import pyarrow as pa


class ApartBatches:
    """The rows of one scan; see the protocol of batches.

    Args:
        take: Opens a connection with a snapshot.
        count_statement: Counts the scan's rows.
        make: Makes what reads them on that connection.

    Raises:
        IntegrityError: Not as many rows came as were counted in the same snapshot.
    """

    def __init__(
        self,
        take: Callable[[], SnapshotReader],
        count_statement: str,
        make: Callable[[SnapshotReader], MysqlBatches],
    ) -> None:
        self._take = take
        self._count_statement = count_statement
        self._make = make
        self._reader: SnapshotReader | None = None
        self._batches: MysqlBatches | None = None
        self._counted = 0

    def __enter__(self) -> Self:
        self._reader = self._take()
        try:
            with translated("cannot count the rows of a scan"):
                ((count,),) = self._reader.fetch(self._count_statement)
            self._counted = int(count or 0)
            self._batches = self._make(self._reader).__enter__()
        except BaseException:
            self._reader.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._batches is not None:
                self._batches.__exit__(kind, error, trace)
        finally:
            if self._reader is not None:
                self._reader.close()  # the next scan begins at another moment anyway

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        assert self._batches is not None  # noqa: S101 - for mypy: it has been entered
        yield from self._batches
        rows = self._batches.server_rows
        if rows != self._counted:
            raise IntegrityError(
                f"a scan gave {counted(rows, 'row')}, and {self._counted:,} were counted in its own snapshot",
                hint="run the export again; if it fails again, report it",
            )

    @property
    def server_rows(self) -> int:
        """Give what the server itself said at the end of the data."""
        assert self._batches is not None  # noqa: S101 - for mypy: it has been entered
        return self._batches.server_rows
