"""Runs a statement in the server's binary protocol, and takes the packets of its rows as they come.

Over the connection of asyncmy, which connects, logs in and frames packets, but has no way to rows that makes
no object of each value. What is used of it here is its own affair; pyproject.toml holds it to the versions
whose insides were tried.

A row of 16 MiB or more comes in several packets; it is handed on as one, the last of its block. See the
manual of the protocol, "Command Phase", "Prepared Statements".
"""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any

from asyncmy import protocol
from asyncmy.constants.COMMAND import COM_STMT_CLOSE, COM_STMT_EXECUTE, COM_STMT_PREPARE
from asyncmy.protocol import FieldDescriptorPacket

from rivet.errors import SourceError
from rivet.source.mysql.errors import DRIVER_ERRORS
from rivet.source.mysql.wire import HEADER_BYTES, JOINED, Wire

_JOINED_HEADER = JOINED.to_bytes(3, "little")
_END, _ERROR = 0xFE, 0xFF
_UNSIGNED = 32
_ALL = 2**31
# To take at once: while nobody takes its rows, the driver's buffer may grow beyond what blocks shall have.
_MOST_BYTES = 256 * 1024
# Number of the statement; no cursor; once. No parameters follow.
_EXECUTE = struct.Struct("<IBI")
_NUMBER = struct.Struct("<I")
_USED = ("read_packet", "_execute_command", "_fill_buffer", "_proto", "_next_seq_id", "_deprecate_eof")
_USED_OF_BUFFER = ("buffer", "pos", "length")


class Execution:
    """One statement, prepared and executed on a connection that does nothing else meanwhile.

    Attributes:
        wires: The forms of the output columns, once it is executed.
        warnings: How many warnings the server has of it, once it has ended.

    Raises:
        SourceError: The driver is not one of those whose insides are known.
    """

    def __init__(self, connection: Any) -> None:
        _check_insides(connection)
        self.wires: list[Wire] = []
        self.warnings = 0
        self._connection = connection
        self._statement: bytes | None = None  # its number
        self._is_open = False
        self._ends = 0 if connection._deprecate_eof else 1  # noqa: SLF001  packets that end a list

    async def prepare(self, text: str) -> None:
        """Let the server prepare it."""
        connection = self._connection
        await connection._execute_command(COM_STMT_PREPARE, text)  # noqa: SLF001
        answer = await connection.read_packet()
        answer.advance(1)
        number, columns = answer.read_uint32(), answer.read_uint16()
        self._statement = _NUMBER.pack(number)
        # What it says of the columns here, it says again as it is executed.
        for _ in range(columns + self._ends):
            await connection.read_packet()

    async def execute(self) -> None:
        """Execute it; its rows are on their way then."""
        connection: Any = self._connection
        (number,) = _NUMBER.unpack(self._statement or b"")
        await connection._execute_command(COM_STMT_EXECUTE, _EXECUTE.pack(number, 0, 1))  # noqa: SLF001
        answer = await connection.read_packet()
        columns = answer.read_length_encoded_integer()
        fields = [await connection.read_packet(FieldDescriptorPacket) for _ in range(columns)]
        for _ in range(self._ends):
            await connection.read_packet()
        self.wires = [Wire(f.type_code, bool(f.flags & _UNSIGNED), f.scale) for f in fields]
        self._is_open = True

    async def take(self) -> bytes | None:
        """Give what has come since, one or more whole packets of rows, or None at the end.

        What is no row, but for the end, is passed on as well: whoever looks into rows refuses it.
        """
        try:
            while self._is_open:
                rows = self._at_hand() or await self._next()
                if rows:
                    return rows
        except BaseException:
            self._is_open = False
            raise
        return None

    async def close(self) -> None:
        """Let the server forget the statement; rows that are still to come are read first."""
        with suppress(*DRIVER_ERRORS):
            while await self.take() is not None:
                pass
        statement, self._statement = self._statement, None
        if statement is not None and self._connection.connected:
            with suppress(*DRIVER_ERRORS):  # it goes with the connection
                await self._connection._execute_command(COM_STMT_CLOSE, statement)  # noqa: SLF001

    def _at_hand(self) -> bytes:
        """Take the whole packets that lie in the driver's buffer, but neither the end nor an error."""
        connection: Any = self._connection
        source, number = connection._proto, connection._next_seq_id  # noqa: SLF001
        buffer, start, have = source.buffer, source.pos, source.length
        skip, most = protocol.skip_packets_from_buffer, min(have, source.pos + _MOST_BYTES)
        pos, after, count = skip(buffer, start, most, number, _ALL)
        if not count and most < have:
            pos, after, count = skip(buffer, start, have, number, 1)
        if count and pos == have:
            # Nothing comes behind the end, so that only what is last may be it.
            last, before, _ = skip(buffer, start, have, number, count - 1)
            if pos > last + HEADER_BYTES and buffer[last + HEADER_BYTES] == _END:
                pos, after, count = last, before, count - 1
        if not count:
            return b""
        with memoryview(buffer) as view:
            rows = bytes(view[start:pos])
        source.pos, connection._next_seq_id = pos, after  # noqa: SLF001
        return rows

    async def _next(self) -> bytes:
        """Wait for a packet that does not lie in the buffer, and take it where it is none to be left there.

        Raises:
            MySQLError: It is an error, the packets are out of step, or the connection is lost.
        """
        connection: Any = self._connection
        source = connection._proto  # noqa: SLF001
        await connection._fill_buffer(HEADER_BYTES)  # noqa: SLF001
        length = int.from_bytes(source.buffer[source.pos : source.pos + 3], "little")
        await connection._fill_buffer(HEADER_BYTES + min(length, 1))  # noqa: SLF001
        first = source.buffer[source.pos + HEADER_BYTES] if length else None
        in_step = source.buffer[source.pos + 3] == connection._next_seq_id  # noqa: SLF001
        if length < JOINED and in_step and first not in {_ERROR, _END}:
            await connection._fill_buffer(HEADER_BYTES + length)  # noqa: SLF001
            return b""
        packet = await connection.read_packet()
        if first == _END and length < JOINED:
            self._end(packet)
            return b""
        return b"".join((_JOINED_HEADER, b"\0", packet.get_all_data()))

    def _end(self, packet: Any) -> None:
        """Take the end of the rows: the older form has warnings and status, the newer more before them."""
        self._is_open = False
        packet.advance(1)
        if not self._ends:
            packet.read_length_encoded_integer()  # rows that were changed, none
            packet.read_length_encoded_integer()  # the last number given
            packet.read_uint16()  # status
        self.warnings = packet.read_uint16()


def _check_insides(connection: Any) -> None:
    """Refuse a driver that has not what is used here."""
    lacking = [name for name in _USED if not hasattr(connection, name)]
    buffer = getattr(connection, "_proto", None)
    lacking += [f"_proto.{name}" for name in _USED_OF_BUFFER if not hasattr(buffer, name)]
    if not hasattr(protocol, "skip_packets_from_buffer"):
        lacking.append("protocol.skip_packets_from_buffer")
    if lacking:
        raise SourceError(
            f"this version of the package asyncmy is not one that Rivet can read with: it lacks {lacking[0]}",
            hint="install asyncmy in a version that Rivet's own requirements allow",
        )
