"""Turns the types that a config states for columns, in its own words, into those of the plan, and back.

Pure.
"""

from __future__ import annotations

from rivet.plan.schema import ColumnType, EpochUnit, Kind, Override

_KINDS = {
    "string": Kind.STRING,
    "text": Kind.STRING,
    "binary": Kind.BINARY,
    "bool": Kind.BOOL,
    "int8": Kind.INT8,
    "int16": Kind.INT16,
    "int32": Kind.INT32,
    "int64": Kind.INT64,
    "uint8": Kind.UINT8,
    "uint16": Kind.UINT16,
    "uint32": Kind.UINT32,
    "uint64": Kind.UINT64,
    "float32": Kind.FLOAT32,
    "float64": Kind.FLOAT64,
    "double": Kind.FLOAT64,
    "decimal": Kind.DECIMAL,
    "date": Kind.DATE,
    "time": Kind.TIME,
    "timestamp": Kind.TIMESTAMP,
    "timestamptz": Kind.INSTANT,
    "duration": Kind.DURATION,
    "uuid": Kind.UUID,
    "json": Kind.JSON,
}
# Of several words for a kind the first.
_WORDS = {**{kind: word for word, kind in reversed(_KINDS.items())}, Kind.DECIMAL: "decimal(p,s)"}


def override(word: str, *, precision: int = 0, scale: int = 0, unit: EpochUnit | None = None) -> Override:
    """Give the override that a word of `columns` asks for; precision and scale belong to `decimal`.

    >>> str(override("decimal", precision=20, scale=6).type), str(override("timestamptz", unit="ms").type)
    ('decimal128(20,6)', 'timestamp[us, UTC]')
    """
    return Override(ColumnType(_KINDS[word], precision, scale), unit)


def word_of(kind: Kind) -> str:
    """Give the word of `columns` for a kind; a list has none.

    >>> word_of(Kind.STRING), word_of(Kind.INSTANT), word_of(Kind.DECIMAL)
    ('string', 'timestamptz', 'decimal(p,s)')
    """
    return _WORDS[kind]
