"""In what form a column's values come in COPY's binary form, and a single one of them as text. Pure.

The forms are those of the server's `…send` functions: numbers big-endian, dates and times counted from
2000-01-01 (date.c, timestamp.c), numerics in digits of base 10,000 (numeric.c).
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Mapping
from enum import StrEnum

from rivet.plan.calendar import format_day, format_timestamp
from rivet.plan.schema import Kind
from rivet.plan.windows import units_per_day

EPOCH_DAY = 10_957  # 2000-01-01, counted from 1970-01-01
BASE_DIGITS = 4
MAX_DIGITS = 18
"""The most digits of a numeric that the decoder takes: so many it can reckon with in 64 bits."""
NEGATIVE = 0x4000
_DAY_MICROSECONDS = units_per_day(Kind.TIMESTAMP)
_NOT_FINITE = {0xC000: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}


class Sent(StrEnum):
    """The forms; whatever has none of its own comes as text."""

    BOOL = "bool"
    INT2 = "int2"
    INT4 = "int4"
    INT8 = "int8"
    FLOAT4 = "float4"
    FLOAT8 = "float8"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    INSTANT = "instant"
    NUMERIC = "numeric"
    UUID = "uuid"
    BYTES = "bytes"
    TEXT = "text"


def text_of(form: Sent, value: bytes) -> str:
    r"""Write a single value, for a message.

    >>> text_of(Sent.INT4, b"\xff\xff\xff\xfe"), text_of(Sent.TIME, (86_400_000_000).to_bytes(8))
    ('-2', '24:00:00')
    >>> text_of(Sent.NUMERIC, bytes.fromhex("0002000040000002000109c4"))
    '-1.25'
    """
    return _TEXTS[form](value)


def _integer(value: bytes) -> int:
    return int.from_bytes(value, "big", signed=True)


def _day(value: bytes) -> str:
    days = _integer(value)
    return _infinity(days, 32) or format_day(days + EPOCH_DAY)


def _moment(value: bytes) -> str:
    microseconds = _integer(value)
    moment = microseconds + EPOCH_DAY * _DAY_MICROSECONDS
    return _infinity(microseconds, 64) or _short(format_timestamp(moment, utc=False, separator=" "))


def _instant(value: bytes) -> str:
    text = _moment(value)
    return text if text.endswith("infinity") else text + "+00"


def _infinity(number: int, bits: int) -> str:
    most = 2 ** (bits - 1) - 1
    return {most: "infinity", -most - 1: "-infinity"}.get(number, "")


def _clock(value: bytes) -> str:
    seconds, microseconds = divmod(_integer(value), 1_000_000)
    hours, minutes = divmod(seconds // 60, 60)
    return _short(f"{hours:02}:{minutes:02}:{seconds % 60:02}.{microseconds:06}")


def _short(text: str) -> str:
    return text.rstrip("0").rstrip(".")


def _number(value: bytes) -> str:
    count, weight, sign, scale = struct.unpack_from(">hhHH", value)
    if sign in _NOT_FINITE:
        return _NOT_FINITE[sign]
    total = 0
    for digit in struct.unpack_from(f">{count}H", value, 8):
        total = total * 10**BASE_DIGITS + digit
    shift = BASE_DIGITS * (weight - count + 1) + scale
    total = total * 10**shift if shift >= 0 else total // 10**-shift
    digits = str(total).rjust(scale + 1, "0")
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :]
    return ("-" if sign == NEGATIVE else "") + whole + (f".{fraction}" if fraction else "")


_TEXTS: Mapping[Sent, Callable[[bytes], str]] = {
    Sent.BOOL: lambda value: "t" if value != b"\0" else "f",
    **dict.fromkeys((Sent.INT2, Sent.INT4, Sent.INT8), lambda value: str(_integer(value))),
    Sent.FLOAT4: lambda value: str(struct.unpack(">f", value)[0]),
    Sent.FLOAT8: lambda value: str(struct.unpack(">d", value)[0]),
    Sent.DATE: _day,
    Sent.TIME: _clock,
    Sent.TIMESTAMP: _moment,
    Sent.INSTANT: _instant,
    Sent.NUMERIC: _number,
    Sent.UUID: lambda value: str(uuid.UUID(bytes=value)),
    Sent.BYTES: lambda value: "0x" + value.hex(),
    Sent.TEXT: lambda value: value.decode(errors="backslashreplace"),
}
