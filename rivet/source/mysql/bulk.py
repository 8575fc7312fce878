"""Reads bulk rows: packets in the server's binary protocol, decoded in the consumer's thread."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from rivet.errors import ColumnError, SourceError
from rivet.plan.calendar import FIRST_DAY
from rivet.plan.windows import units_per_day
from rivet.source.block_batches import BlockBatches
from rivet.source.mysql.connecting import Control, Row, close_snapshot, fetch_all, open_snapshot
from rivet.source.mysql.errors import DRIVER_ERRORS, came_from_server, translated_once_described
from rivet.source.mysql.packets import Execution
from rivet.source.mysql.pinning import MAX_WARNINGS
from rivet.source.mysql.statements import Reading
from rivet.source.mysql.wire import Wire
from rivet.source.pipe import BlockStream, ReaderThread, Write

if TYPE_CHECKING:
    from rivet.source.mysql.binary import BinaryDecoder

# Text that a character set could not tell: '?' stands in its place (MariaDB 1977, MySQL 3854, both 1300).
_LOST_TEXT = frozenset({b"1300", b"1977", b"3854"})
_CUT = frozenset({b"1260", b"1301"})  # by GROUP_CONCAT; NULL, since it was longer than max_allowed_packet


class SnapshotReader:
    """The connection that holds the snapshot, in a thread of its own; it does one thing at a time.

    Args:
        readers: How many of its kind may read at once: what they have read and nobody took is bounded
            together.
    """

    def __init__(self, control: Control, context: ssl.SSLContext | None, readers: int = 1) -> None:
        self._control = control
        self._thread = ReaderThread(readers)
        self._open: BlockStream | None = None
        self._is_stopping = False
        self._execution: Execution | None = None
        try:
            self._connection = self._thread.run(open_snapshot(control.login, context))
        except BaseException:
            self._thread.close()
            raise
        self._thread_id: int = self._connection.thread_id()

    def fetch(self, statement: str) -> list[Row]:
        """Run a statement in the snapshot and give its rows, every value as the server's text."""
        self._refuse_second()
        return self._thread.run(fetch_all(self._connection, statement))

    def stream(self, reading: Reading) -> BlockStream:
        """Start to read a scan; nothing else can be asked until `leave`."""
        self._refuse_second()
        self._open = self._thread.stream(lambda write: self._produce(reading, write))
        return self._open

    @property
    def wires(self) -> Sequence[Wire]:
        """Say in what form values come, as the server did before the first rows of the scan that is open."""
        return self._execution.wires if self._execution is not None else ()

    def leave(self) -> None:
        """End the scan that is open, stopping the query if it still runs."""
        if self._open is not None:
            self._open.__exit__(None, None, None)
            self._open = None

    def close(self) -> None:
        """Close the connection; the server forgets what it was doing for it."""
        try:
            self.leave()
            if self._connection.connected:
                self._thread.run(close_snapshot(self._connection))
            else:
                # Cut off in the middle: without a word the server would go on with the query.
                with suppress(SourceError):
                    self._control.kill(self._thread_id, query_only=False)
        finally:
            self._thread.close()

    def _refuse_second(self) -> None:
        if self._open is not None:
            raise RuntimeError("a snapshot of MySQL is one connection, and it is still reading a scan")

    async def _produce(self, reading: Reading, write: Write) -> int:
        self._is_stopping = False
        self._execution = execution = Execution(self._connection)
        # In a task of its own: a driver that is cancelled while it reads loses its connection, and with it
        # the snapshot.
        pump = asyncio.ensure_future(self._pump(execution, reading, write))
        try:
            await asyncio.shield(pump)
        except asyncio.CancelledError:
            await self._stop(execution, pump)
            raise
        except DRIVER_ERRORS as exc:
            if not came_from_server(exc):
                self._connection.close()  # what is still to come would be taken for another answer
            await execution.close()
            raise
        warnings = await self._connection.show_warnings() if execution.warnings else []
        rows = await fetch_all(self._connection, "SELECT FOUND_ROWS()")
        await execution.close()
        await self._refuse_lost(reading, warnings)
        return int(rows[0][0] or 0)

    async def _refuse_lost(self, reading: Reading, warnings: Sequence[Row]) -> None:
        """Refuse a scan in which the server put a question mark or NULL for what it could not give.

        Its warnings do not name the column, so that each is asked for by itself, also where there were more
        warnings than a server keeps.
        """
        lost = _lost(warnings)
        if lost is None and len(warnings) < MAX_WARNINGS:
            return
        for column, statement in reading.checks:
            await fetch_all(self._connection, statement)
            lost_here = _lost(await self._connection.show_warnings())
            if lost_here is not None:
                raise _refusal(f"column {column.name!r} ({column.source_type}): ", column.name, *lost_here)
        if lost is not None:
            raise _refusal("", "…", *lost)

    async def _pump(self, execution: Execution, reading: Reading, write: Write) -> None:
        await execution.prepare(reading.statement)
        if self._is_stopping:
            return
        await execution.execute()
        while (packets := await execution.take()) is not None:
            if not self._is_stopping:
                await write(packets)

    async def _stop(self, execution: Execution, pump: asyncio.Future[None]) -> None:
        """Stop the query and read what is on its way, so that the snapshot can be used further."""
        self._is_stopping = True
        try:
            self._control.kill(self._thread_id, query_only=True)
            with suppress(*DRIVER_ERRORS, asyncio.CancelledError):
                await pump
            await execution.close()
            with suppress(*DRIVER_ERRORS):
                await fetch_all(self._connection, "DO 0")  # takes the stop that came too late
        except SourceError:
            self._connection.close()


class MysqlBatches(BlockBatches):
    """The rows of one scan; `server_rows` is what the server's FOUND_ROWS() said after the end."""

    def __init__(
        self,
        reader: SnapshotReader,
        reading: Reading,
        row_names: Sequence[str],
    ) -> None:
        super().__init__(translated_once_described)
        self._reader = reader
        self._reading = reading
        self._row_names = row_names
        self._decoder: BinaryDecoder | None = None
        self._dates = [
            (i, c, FIRST_DAY * units_per_day(c.type.kind))
            for i, c in enumerate(reading.columns)
            if c.type.kind.is_temporal
        ]

    def _begin(self) -> BlockStream:
        return self._reader.stream(self._reading)

    def _decode(self, block: bytes) -> pa.RecordBatch:
        batch = self._made_decoder().decode(block)
        self._refuse_year_zero(batch)
        return batch

    def _made_decoder(self) -> BinaryDecoder:
        """Make the decoder with the first block, before which the server has said how values come."""
        if self._decoder is None:
            from rivet.source.mysql.binary import BinaryDecoder

            reading, wires = self._reading, self._reader.wires
            self._decoder = BinaryDecoder(
                reading.columns, wires, nulled=reading.nulled, row_names=self._row_names
            )
        return self._decoder

    def _end(self, _: BlockStream) -> None:
        self._reader.leave()

    def _refuse_year_zero(self, batch: pa.RecordBatch) -> None:
        """Refuse what the decoder takes for a year before 1; what is no day at all it refuses itself."""
        for index, column, first in self._dates:
            least = pc.min(batch.column(index)).value
            if least is not None and least < first:
                raise ColumnError(
                    f"column {column.name!r} ({column.source_type}) holds a date in the year 0, which no "
                    "calendar has",
                    hint="mend the date, or cast the column to text with a query",
                )


def _lost(warnings: Sequence[Row]) -> tuple[bytes, str] | None:
    """Give the first warning of a value that is not what it should be, by code and words, or None."""
    for _, code, message in warnings:
        if code in _LOST_TEXT or code in _CUT:
            return code or b"", (message or b"").decode(errors="replace")
    return None


def _refusal(where: str, name: str, code: bytes, words: str) -> ColumnError:
    if code in _CUT:
        return ColumnError(
            f"{where}the server gave less than a whole value: {words}",
            hint="make the value smaller in the query, or raise max_allowed_packet at the server",
        )
    return ColumnError(
        f"{where}a text cannot be told in UTF-8: {words}",
        hint="mend the text in the database, or export its bytes: "
        f"columns: {{{json.dumps(name, ensure_ascii=False)}: binary}}",
    )
