"""Gives values in a form in which they are equal only where they are the same. Pure."""

from __future__ import annotations

import pyarrow as pa


def bits_of(values: pa.Array) -> pa.Array:
    """Give moments and floats as whole numbers of the same bits, and all others as they are stored.

    >>> bits_of(pa.array([0.0, -0.0], pa.float32())).to_pylist()
    [0, -2147483648]
    """
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    kind = values.type
    if pa.types.is_temporal(kind) or pa.types.is_floating(kind):
        return values.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    return values
