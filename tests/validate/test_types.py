"""Types as a Parquet file has them, named as a manifest does."""

from __future__ import annotations

import io

import pyarrow.parquet as pq
import pytest

from rivet.plan.schema import Column, ColumnType, Kind
from rivet.source.arrow import arrow_schema
from rivet.validate.footer import read_footer, read_tail

_SCALARS = [ColumnType(kind) for kind in Kind if kind not in (Kind.DECIMAL, Kind.LIST)] + [
    ColumnType(Kind.DECIMAL, 1, 0),
    ColumnType(Kind.DECIMAL, 20, 6),
    ColumnType(Kind.DECIMAL, 38, 38),
]


@pytest.mark.parametrize("column_type", _SCALARS, ids=str)
def test_each_type_comes_back_by_its_name(column_type: ColumnType) -> None:
    """A column, and a list of such values, is in the footer what the manifest says of it."""
    columns = [
        Column("a", column_type, "the type"),
        Column("b", ColumnType(Kind.LIST, element=column_type), "the type[]"),
    ]
    file = io.BytesIO()
    pq.ParquetWriter(file, arrow_schema(columns)).close()

    footer = read_footer(file, read_tail(file), None, from_rows=False)

    assert footer.schema == (("a", str(column_type), True), ("b", f"list<{column_type}>", True))
