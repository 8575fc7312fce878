"""Reads bulk rows: `COPY … TO STDOUT` in a reader's thread, decoded in the consumer's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import asyncpg

from rivet.errors import SourceUnavailable
from rivet.source.block_batches import BlockBatches
from rivet.source.pipe import BlockStream, ReaderThread, Write
from rivet.source.postgres.connecting import (
    GIVE_UP,
    address_of,
    close_bulk,
    hold_text,
    open_bulk,
    planning_by_index,
)
from rivet.source.postgres.errors import translated
from rivet.source.postgres.login import Login

if TYPE_CHECKING:
    import pyarrow as pa

    from rivet.source.postgres.binary import BinaryDecoder

_COPIED = re.compile(r"COPY (\d+)")


class Contended(SourceUnavailable):
    """DDL waits for one connection of ours, and so another one would wait for the DDL."""


class BulkReader:
    """One connection for bulk rows, in a thread of its own; it reads one scan at a time.

    Args:
        snapshot: The one to join; None: it begins one.
        readers: How many of its kind there may be at once: what they have read and nobody took is bounded
            together.
    """

    def __init__(self, login: Login, snapshot: str | None, readers: int = 1) -> None:
        self._thread = ReaderThread(readers)
        self._is_alone = False
        self._is_by_index = False
        self._held: set[str] = set()
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

    def hold(self, from_item: str) -> None:
        """Lock the tables below a relation as a read does: planning does so, and keeps them to the end.

        Another connection of ours has locked them. What stands in the way now waits for that one, of which
        the server cannot see that it waits for this one: so this one does not wait.

        Raises:
            Contended: Something stands in the way; of these tables nothing is locked then.
        """
        if from_item in self._held:
            return
        with translated("cannot lock the tables"):
            try:
                self._thread.run(self._connection.execute(hold_text(from_item)))
            except asyncpg.LockNotAvailableError as exc:
                self._thread.run(self._connection.execute(GIVE_UP))
                raise Contended(
                    "cannot lock the tables: DDL came in between two connections of the run",
                    hint="run again when no ALTER TABLE, TRUNCATE or their like waits for the table",
                ) from exc
        self._held.add(from_item)

    def copy(self, statement: str, *, alone: bool, by_index: bool = False) -> BlockStream:
        """Start to read a statement's rows in COPY's binary form.

        Args:
            alone: By one process of the server, so that rows of equal rank come in the same order each time.
            by_index: In the order of an index, whatever the server thinks of it.
        """
        connection = self._connection

        async def produce(write: Write) -> int:
            if alone != self._is_alone:
                workers = "0" if alone else "DEFAULT"
                await connection.execute(f"SET LOCAL max_parallel_workers_per_gather = {workers}")
                self._is_alone = alone
            if by_index != self._is_by_index:
                await connection.execute(planning_by_index(on=by_index))
                self._is_by_index = by_index
            tag: Any = await connection.copy_from_query(statement, output=write, format="binary")
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


class PostgresBatches(BlockBatches):
    """The rows of one `COPY`; `server_rows` is the count of the server's own end-of-data message."""

    def __init__(
        self,
        take: Callable[[], BulkReader],
        give_back: Callable[[BulkReader], None],
        statement: str,
        make_decoder: Callable[[], BinaryDecoder],
        *,
        alone: bool,
        by_index: bool = False,
    ) -> None:
        super().__init__(translated)
        self._take = take
        self._give_back = give_back
        self._statement = statement
        self._alone = alone
        self._by_index = by_index
        self._make_decoder = make_decoder
        self._decoder: BinaryDecoder | None = None
        self._reader: BulkReader | None = None

    def _begin(self) -> BlockStream:
        self._reader = self._take()
        return self._reader.copy(self._statement, alone=self._alone, by_index=self._by_index)

    def _decode(self, block: bytes) -> pa.RecordBatch:
        if self._decoder is None:  # what it loads takes as long as the server needs to send the first rows
            self._decoder = self._make_decoder()
        return self._decoder.decode(block)

    def _end(self, stream: BlockStream) -> None:
        if self._reader is None:
            return
        try:
            stream.__exit__(None, None, None)
        finally:
            if self._is_complete:
                self._give_back(self._reader)
            else:
                self._reader.close()
