"""PostgreSQL's types in Arrow's terms. Pure.

Whatever becomes a string does so in the exact text that the server writes under the pinned settings.
"""

from __future__ import annotations

from rivet.plan.schema import ColumnType, Kind, decimal_type

_BUILT_IN: dict[str, Kind] = {
    "bool": Kind.BOOL,
    "int2": Kind.INT16,
    "int4": Kind.INT32,
    "int8": Kind.INT64,
    "float4": Kind.FLOAT32,
    "float8": Kind.FLOAT64,
    "date": Kind.DATE,
    "timestamp": Kind.TIMESTAMP,
    "timestamptz": Kind.INSTANT,
    "time": Kind.TIME,
    "bytea": Kind.BINARY,
} | dict.fromkeys(
    (
        *("text", "varchar", "bpchar", "char", "name", "uuid", "json", "jsonb", "xml", "money"),
        *("interval", "timetz", "inet", "cidr", "macaddr", "macaddr8", "bit", "varbit"),
        *("tsvector", "tsquery", "point", "line", "lseg", "box", "path", "polygon", "circle"),
    ),
    Kind.STRING,
)
# pg_type.typtype: composite, enum, multirange, range
_TEXT_CLASSES = frozenset("cemr")
_TEXT_EXTENSIONS = frozenset({"citext"})


def column_type(name: str, typtype: str, typmod: int, *, built_in: bool) -> ColumnType | None:
    """Give the type of a column, or None where it is not handled.

    Args:
        name: `pg_type.typname`.
        typtype: `pg_type.typtype`.
        typmod: What follows the type in brackets, in the server's encoding; -1 where nothing does.
        built_in: The type belongs to `pg_catalog`.

    >>> str(column_type("numeric", "b", 786438, built_in=True))
    'decimal128(12,2)'
    """
    if typtype in _TEXT_CLASSES or (typtype == "b" and name in _TEXT_EXTENSIONS):
        return ColumnType(Kind.STRING)
    if typtype != "b" or not built_in:
        return None
    if name == "numeric":
        return _decimal(typmod)
    kind = _BUILT_IN.get(name)
    return ColumnType(kind) if kind is not None else None


def _decimal(typmod: int) -> ColumnType:
    """Read precision and scale out of a modifier (`numerictypmodin` in the server's numeric.c)."""
    if typmod < 0:
        return ColumnType(Kind.STRING)
    precision, scale = (typmod - 4) >> 16 & 0xFFFF, ((typmod - 4 & 0x7FF) ^ 1024) - 1024
    return decimal_type(precision, scale) or ColumnType(Kind.STRING)
