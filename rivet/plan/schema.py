"""The columns of an export and their types, in Arrow's terms but without Arrow.

Pure. Engines decide the types from the database's description of the query; `rivet.source.arrow` turns
them into a `pyarrow.Schema`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

# As `json.dumps` writes, which makes such an object each time that it is not asked for its own form.
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Kind(StrEnum):
    """The kinds of values that an export can hold, by their Arrow names."""

    BOOL = "bool"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    DECIMAL = "decimal128"
    STRING = "string"
    BINARY = "binary"
    DATE = "date32"
    TIME = "time64[us]"
    TIMESTAMP = "timestamp[us]"
    INSTANT = "timestamp[us, UTC]"
    DURATION = "duration[us]"
    UUID = "uuid"
    JSON = "json"
    LIST = "list"

    @property
    def is_temporal(self) -> bool:
        """Tell whether a column of this kind can partition an export."""
        return self in (Kind.DATE, Kind.TIMESTAMP, Kind.INSTANT)

    @property
    def is_integer(self) -> bool:
        """Tell whether its values are whole numbers of a fixed width."""
        return self.value.startswith(("int", "uint"))


MAX_DECIMAL_DIGITS = 38

EpochUnit = Literal["s", "ms", "us", "ns"]
"""What numbers that stand for moments count, since 1970-01-01 UTC."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """The type of a column: a kind, with precision and scale for decimals, and with an element for lists.

    >>> str(ColumnType(Kind.DECIMAL, 12, 2)), str(ColumnType(Kind.INSTANT))
    ('decimal128(12,2)', 'timestamp[us, UTC]')
    >>> str(ColumnType(Kind.LIST, element=ColumnType(Kind.INT32)))
    'list<int32>'
    """

    kind: Kind
    precision: int = 0
    scale: int = 0
    element: ColumnType | None = None

    def __str__(self) -> str:
        if self.kind is Kind.DECIMAL:
            return f"decimal128({self.precision},{self.scale})"
        if self.kind is Kind.LIST:
            return f"list<{self.element}>"
        return str(self.kind)


def decimal_type(precision: int, scale: int) -> ColumnType | None:
    """Give the decimal of a declared precision and scale, or None where it has more digits than one holds.

    A scale below zero stands for zeros before the point, one above the precision for zeros behind it; both
    widen the precision.

    >>> str(decimal_type(12, 2)), str(decimal_type(2, -3)), str(decimal_type(2, 4)), decimal_type(39, 0)
    ('decimal128(12,2)', 'decimal128(5,0)', 'decimal128(4,4)', None)
    """
    precision, scale = (precision - scale, 0) if scale < 0 else (max(precision, scale), scale)
    return ColumnType(Kind.DECIMAL, precision, scale) if precision <= MAX_DECIMAL_DIGITS else None


class Fidelity(StrEnum):
    """How a column's values arrive: as themselves, as their exact text, or in a type too narrow for some.

    LOSSY comes only from an override; a value that its type cannot hold fails the run.
    """

    EXACT = "exact"
    TEXT = "text"
    LOSSY = "lossy"


@dataclass(frozen=True, slots=True)
class Column:
    """One output column of an export.

    Attributes:
        name: The column's exact spelling in the database's description.
        type: What it becomes.
        source_type: The database's own name of its type, such as `numeric(12,2)`.
        fidelity: How its values arrive.
    """

    name: str
    type: ColumnType
    source_type: str
    fidelity: Fidelity = Fidelity.EXACT


@dataclass(frozen=True, slots=True)
class Override:
    """The type that a config asks for a column, in place of the one that its source type becomes.

    Attributes:
        type: What the column shall become; precision and scale are given for decimals.
        unit: What a column of epoch numbers counts, or None where it holds none. Only with DATE, TIMESTAMP
            and INSTANT.
    """

    type: ColumnType
    unit: EpochUnit | None = None


def schema_json(columns: Sequence[Column]) -> list[dict[str, object]]:
    """List the columns as `manifest.json` holds them; all fields are nullable."""
    return [
        {"name": c.name, "type": str(c.type), "nullable": True, "source_type": c.source_type} for c in columns
    ]


def schema_fingerprint(schema: Sequence[object]) -> str:
    """Digest a schema, as `schema_json` gives it, as `sha256:<hex>` of its compact JSON."""
    return "sha256:" + hashlib.sha256(_COMPACT.encode(schema).encode()).hexdigest()
