"""Turns cells of the binary protocol into Arrow arrays, without a Python object per value. Pure.

Numbers, dates and times come in forms of their own, all else as text or bytes.
"""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa

from rivet.plan.schema import ColumnType, Kind
from rivet.plan.windows import units_per_day
from rivet.source.arrow import arrow_type
from rivet.source.cells import Cells, Flags, Numbers, fixed, refuse
from rivet.source.mysql.rows import Lengths, words_in
from rivet.source.mysql.wire import Wire

# By the protocol's number of the type, the NumPy type of signed and unsigned numbers.
_NUMBERS = {
    1: ("i1", "u1"),
    2: ("<i2", "<u2"),
    13: ("<i2", "<u2"),  # a year
    3: ("<i4", "<u4"),
    9: ("<i4", "<u4"),  # of three bytes in the table
    8: ("<i8", "<u8"),
    4: ("<f4", "<f4"),
    5: ("<f8", "<f8"),
}
_MOMENTS = frozenset({7, 10, 12, 14})
_DATES = frozenset({10, 14})
_CLOCK = 11
_MOMENT = struct.Struct("<HBBBBBI")
_MOST_DIGITS = 6
_DATE_BYTES, _SECOND_BYTES, _MOMENT_BYTES = 4, 7, 11
_YEARS, _MONTHS = 10_000, 12
_MILLION = 1_000_000
_STARTS = np.arange("0000-01", "10000-02", dtype="datetime64[M]").astype("datetime64[D]").astype(np.int64)
_MONTH_STARTS, _MONTH_DAYS = _STARTS[:-1], np.diff(_STARTS)
# What of eight bytes belongs to a moment, by its length.
_BITS = np.zeros(_MOMENT_BYTES + 1, np.uint64)
_BITS[[_DATE_BYTES, _SECOND_BYTES, _MOMENT_BYTES]] = (2**32 - 1, 2**56 - 1, 2**56 - 1)


def width_of(wire: Wire) -> int | Lengths:
    """Say how many bytes the values of a form have, or how their length is told."""
    if wire.code in _NUMBERS:
        return np.dtype(_NUMBERS[wire.code][0]).itemsize
    if wire.code in _MOMENTS:
        return Lengths.MOMENT
    return Lengths.CLOCK if wire.code == _CLOCK else Lengths.ENCODED


def is_number(wire: Wire) -> bool:
    """Tell whether a form is one of numbers."""
    return wire.code in _NUMBERS


def is_moment(wire: Wire) -> bool:
    """Tell whether a form is one of dates and timestamps."""
    return wire.code in _MOMENTS


def numbers_of(wire: Wire, cells: Cells) -> pa.Array:
    """Make an array of numbers as they come."""
    kind = np.dtype(_NUMBERS[wire.code][wire.is_unsigned])
    native = kind.newbyteorder("=")
    numbers = cells.numbers(kind.str).astype(native, copy=False)
    return fixed(cells, pa.from_numpy_dtype(native), numbers)


def moments_of(cells: Cells, kind: Kind) -> pa.Array:
    """Make an array of dates or timestamps; the year 0 is taken as if a calendar had it.

    Raises:
        Unfit: A value is no day, such as a zero date.
    """
    words = words_in(cells.block, cells.starts)
    lengths = np.asarray(cells.lengths)
    words &= _BITS[lengths]
    years, months, days = (
        part.astype(np.int64) for part in (words & 0xFFFF, words >> 16 & 0xFF, words >> 24 & 0xFF)
    )
    wrong: Flags = (years >= _YEARS) | (months < 1) | (months > _MONTHS) | (days < 1)
    place = years * _MONTHS + months - 1
    place[wrong] = 0
    wrong |= days > _MONTH_DAYS[place]
    dates = _MONTH_STARTS[place] + days - 1
    if kind is Kind.DATE:
        wrong |= lengths > _DATE_BYTES
        refuse(cells, wrong)
        return fixed(cells, pa.date32(), dates.astype(np.int32))
    hours, minutes, seconds = words >> 32 & 0xFF, words >> 40 & 0xFF, words >> 48 & 0xFF
    wrong |= (hours >= 24) | (minutes >= 60) | (seconds >= 60)
    micro = _fractions(cells)
    wrong |= micro >= _MILLION
    refuse(cells, wrong)
    clock = (hours * 3600 + minutes * 60 + seconds).astype(np.int64)
    moments = dates * units_per_day(Kind.TIMESTAMP) + clock * _MILLION + micro
    return fixed(cells, arrow_type(ColumnType(kind)), moments)


def _fractions(cells: Cells) -> Numbers:
    fractions = np.zeros(len(cells.starts), np.int64)
    rows = np.flatnonzero(np.asarray(cells.lengths) == _MOMENT_BYTES)
    if len(rows):
        fractions[rows] = words_in(cells.block, cells.starts[rows] + _SECOND_BYTES) & 0xFFFFFFFF
    return fractions


def text_of(wire: Wire, value: bytes) -> str:
    r"""Write a single value, for a message.

    >>> text_of(Wire(3), b"\xfe\xff\xff\xff"), text_of(Wire(12), b"\xe8\x07\x02\x1d")
    ('-2', '2024-02-29 00:00:00')
    >>> text_of(Wire(10), b"")
    '0000-00-00'
    """
    if wire.code in _MOMENTS:
        return _moment_text(wire, value)
    if wire.code in _NUMBERS:
        return str(np.frombuffer(value, _NUMBERS[wire.code][wire.is_unsigned])[0])
    return value.decode(errors="backslashreplace")


def _moment_text(wire: Wire, value: bytes) -> str:
    year, month, day, hour, minute, second, micro = _MOMENT.unpack(value.ljust(_MOMENT_BYTES, b"\0"))
    date = f"{year:04}-{month:02}-{day:02}"
    if wire.code in _DATES:
        return date
    clock = f"{date} {hour:02}:{minute:02}:{second:02}"
    digits = wire.decimals if wire.decimals <= _MOST_DIGITS else 0
    return f"{clock}.{micro:06}"[: len(clock) + 1 + digits] if digits else clock
