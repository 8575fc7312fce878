"""Turns cells of COPY's binary form into Arrow arrays, without a Python object per value. Pure."""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from rivet.plan.calendar import END_DAY, FIRST_DAY
from rivet.plan.schema import ColumnType, Kind
from rivet.plan.windows import units_per_day
from rivet.source.arrow import arrow_type
from rivet.source.cells import Cells, fixed, refuse, validity
from rivet.source.postgres.sent import BASE_DIGITS, EPOCH_DAY, MAX_DIGITS, NEGATIVE, Sent

WIDTHS: Mapping[Sent, int] = {
    Sent.BOOL: 1,
    Sent.INT2: 2,
    Sent.INT4: 4,
    Sent.INT8: 8,
    Sent.FLOAT4: 4,
    Sent.FLOAT8: 8,
    Sent.DATE: 4,
    Sent.TIME: 8,
    Sent.TIMESTAMP: 8,
    Sent.INSTANT: 8,
    Sent.UUID: 16,
}
"""How many bytes each value of a form has, where all have the same."""

_NUMBERS = {
    Sent.INT2: ">i2",
    Sent.INT4: ">i4",
    Sent.INT8: ">i8",
    Sent.FLOAT4: ">f4",
    Sent.FLOAT8: ">f8",
    Sent.DATE: ">i4",
    Sent.TIME: ">i8",
    Sent.TIMESTAMP: ">i8",
    Sent.INSTANT: ">i8",
}
_TIMES = 10 ** np.arange(MAX_DIGITS + 1, dtype=np.int64)
_MOST = (10**MAX_DIGITS - 1) // _TIMES
_OVER = 10 ** np.arange(BASE_DIGITS, dtype=np.int64)
_HEAD_BYTES = 8

# Which digits of a UUID stand together, with hyphens in between.
_HYPHENATED = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
_UUID_CHARACTERS = 36


def array_of(form: Sent, cells: Cells, column_type: ColumnType) -> pa.Array:
    """Make the array of a column that comes in a form of its own, neither as text nor as bytes.

    Raises:
        Unfit: A value is one that no calendar has, no finite number, or has more digits than the type.
    """
    match form:
        case Sent.NUMERIC:
            return _decimals(cells, column_type)
        case Sent.UUID:
            return _uuids(cells, column_type)
        case Sent.BOOL:
            return fixed(cells, pa.uint8(), cells.numbers("u1")).cast(pa.bool_())
    numbers = cells.numbers(_NUMBERS[form])
    numbers = numbers.astype(numbers.dtype.newbyteorder("="))
    if column_type.kind is Kind.TIME:
        refuse(cells, (numbers < 0) | (numbers >= units_per_day(Kind.TIMESTAMP)))
    elif column_type.kind.is_temporal:
        per_day = units_per_day(column_type.kind)
        first, end = ((day - EPOCH_DAY) * per_day for day in (FIRST_DAY, END_DAY))
        refuse(cells, (numbers < first) | (numbers >= end))
        numbers += numbers.dtype.type(EPOCH_DAY * per_day)
    return fixed(cells, arrow_type(column_type), numbers)


def _uuids(cells: Cells, column_type: ColumnType) -> pa.Array:
    octets = cells.numbers("V16").view(np.uint8).reshape(-1, 16)
    if column_type.kind is Kind.UUID:
        return pa.ExtensionArray.from_storage(pa.uuid(), fixed(cells, pa.binary(16), octets))
    digits = np.frombuffer(hexlify(octets.data), np.uint8).reshape(-1, 32)
    texts = np.full((len(octets), _UUID_CHARACTERS), ord("-"), np.uint8)
    for hyphens, (start, end) in enumerate(_HYPHENATED):
        texts[:, start + hyphens : end + hyphens] = digits[:, start:end]
    offsets = np.arange(0, texts.size + 1, _UUID_CHARACTERS, dtype=np.int32)
    buffers = [validity(cells), pa.py_buffer(offsets), pa.py_buffer(texts)]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def _decimals(cells: Cells, column_type: ColumnType) -> pa.Array:
    """Add up the digits of numerics as whole numbers of the type's last place."""
    head = cells.numbers(">i8").astype(np.int64)  # number of digits, weight, sign and displayed scale
    if cells.is_null is not None:
        head[cells.is_null] = 0
    counts, signs = head >> 48, head >> 16 & 0xFFFF
    exponents = BASE_DIGITS * (head << 16 >> 48) + column_type.scale
    refuse(cells, signs & ~NEGATIVE != 0)
    totals = np.zeros(len(counts), np.int64)
    for place in range(int(counts.max(initial=0))):
        digits = cells.numbers(">u2", _HEAD_BYTES + 2 * place).astype(np.int64)
        digits[counts <= place] = 0
        times, over = _TIMES.take(exponents, mode="clip"), _OVER.take(-exponents, mode="clip")
        shares = digits // over
        beyond = (digits != 0) & (exponents <= -BASE_DIGITS) | (shares * over != digits)
        refuse(cells, beyond | (digits > _MOST.take(exponents, mode="clip")))
        totals += shares * times
        exponents -= BASE_DIGITS
    refuse(cells, totals >= _TIMES[column_type.precision])
    np.negative(totals, out=totals, where=signs == NEGATIVE)
    halves = np.empty((len(totals), 2), np.int64)
    halves[:, 0] = totals
    halves[:, 1] = totals >> 63
    return fixed(cells, arrow_type(column_type), halves)
