"""The Arrow schema of an export, made from its described columns; used in every part of every partition.

Four kinds have no plain place in Parquet:

- A list is the three levels of the format's own rule (parquet-format, LogicalTypes.md, "Lists"), its items
  named `element`; a list, and each item, may be NULL.
- A duration is a bare INT64 of microseconds, as Parquet has no such type. pyarrow and Polars read the Arrow
  schema that lies in the footer and give durations; DuckDB and all others give the integer.
- A uuid is FIXED_LEN_BYTE_ARRAY(16) with the logical type UUID. DuckDB and pyarrow 21 give UUIDs, Polars the
  16 bytes; Spark refuses to read such a column (4.0: PARQUET_TYPE_ILLEGAL, apache/spark issue 55684).
- A json is text with the logical type JSON. DuckDB gives JSON, Polars text of the type `arrow.json`, others
  text.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from rivet.plan.schema import Column, ColumnType, Kind

_SIMPLE: dict[Kind, pa.DataType] = {
    Kind.BOOL: pa.bool_(),
    Kind.INT8: pa.int8(),
    Kind.INT16: pa.int16(),
    Kind.INT32: pa.int32(),
    Kind.INT64: pa.int64(),
    Kind.UINT8: pa.uint8(),
    Kind.UINT16: pa.uint16(),
    Kind.UINT32: pa.uint32(),
    Kind.UINT64: pa.uint64(),
    Kind.FLOAT32: pa.float32(),
    Kind.FLOAT64: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.time64("us"),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.INSTANT: pa.timestamp("us", tz="UTC"),
    Kind.DURATION: pa.duration("us"),
    Kind.UUID: pa.uuid(),
    Kind.JSON: pa.json_(pa.string()),
}


def arrow_type(column_type: ColumnType) -> pa.DataType:
    """Give the Arrow type of a column type."""
    if column_type.kind is Kind.DECIMAL:
        return pa.decimal128(column_type.precision, column_type.scale)
    if column_type.element is not None:
        return pa.list_(pa.field("element", arrow_type(column_type.element)))
    return _SIMPLE[column_type.kind]


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    """Give the schema of these columns: all nullable, each with its source type as field metadata."""
    return pa.schema(
        [
            pa.field(c.name, arrow_type(c.type), nullable=True, metadata={"source_type": c.source_type})
            for c in columns
        ]
    )
