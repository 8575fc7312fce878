"""Reads bulk rows: `COPY … TO STDOUT` in a reader's thread, its text decoded in the consumer's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from rivet.errors import SourceUnavailable
from rivet.plan.schema import Column
from rivet.source.csv import CsvDecoder
from rivet.source.pipe import BlockStream, ReaderThread, Sink
from rivet.source.postgres.connecting import address_of, close_bulk, open_bulk
from rivet.source.postgres.errors import translated
from rivet.source.postgres.login import Login

_COPIED = re.compile(r"COPY (\d+)")


class BulkReader:
    """One connection for bulk rows, in a thread of its own; it reads one scan at a time."""

    def __init__(self, login: Login, snapshot: str | None) -> None:
        self._thread = ReaderThread()
        try:
            self._connection = self._thread.run(open_bulk(login, snapshot))
        except BaseException:
            self._thread.close()
            raise

    @property
    def address(self) -> str | None:
        """Give the server's address, or None over a Unix socket."""
        return address_of(self._connection)

    def export_snapshot(self) -> str:
        """Give the name under which others join this transaction's snapshot."""
        with translated("cannot export the snapshot"):
            name: str = self._thread.run(self._connection.fetchval("SELECT pg_export_snapshot()"))
        return name

    def copy(self, statement: str) -> BlockStream:
        """Start to read a statement's rows as CSV."""
        connection = self._connection

        async def produce(sink: Sink) -> int:
            tag: Any = await connection.copy_from_query(statement, output=sink, format="csv")
            copied = _COPIED.fullmatch(tag or "")
            if copied is None:
                raise SourceUnavailable(
                    f"the server ended the data with {tag!r}, expected 'COPY' and a count"
                )
            return int(copied[1])

        return self._thread.stream(produce)

    def close(self) -> None:
        """Close the connection, cancelling what it is doing. May be called again."""
        try:
            if self._thread.is_alive:
                self._thread.run(close_bulk(self._connection))
        finally:
            self._thread.close()


class PostgresBatches:
    """The rows of one scan; see the protocol of batches."""

    def __init__(
        self,
        take: Callable[[], BulkReader],
        give_back: Callable[[BulkReader], None],
        statement: str,
        columns: Sequence[Column],
    ) -> None:
        self._take = take
        self._give_back = give_back
        self._statement = statement
        self._decoder = CsvDecoder(columns, hex_binary=True)
        self._reader: BulkReader | None = None
        self._stream: BlockStream | None = None
        self._server_rows: int | None = None

    def __enter__(self) -> Self:
        self._reader = self._take()
        self._stream = self._reader.copy(self._statement)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._reader is None or self._stream is None:
            return
        try:
            self._stream.__exit__(kind, error, trace)
        finally:
            if self._server_rows is None:
                self._reader.close()
            else:
                self._give_back(self._reader)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._stream is None:
            raise RuntimeError("batches are read inside their context")
        blocks = iter(self._stream)
        while True:
            with translated("the source failed while it was read"):
                block = next(blocks, None)
            if block is None:
                break
            yield self._decoder.decode(block)
        self._server_rows = self._stream.rows

    @property
    def server_rows(self) -> int:
        """Give the count of the server's own end-of-data message."""
        if self._server_rows is None:
            raise RuntimeError("the rows are counted only once all batches were read")
        return self._server_rows
