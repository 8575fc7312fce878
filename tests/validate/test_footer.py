"""What is read out of a part's footer is what its manifest says."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rivet.plan.schema import Column, ColumnType, Kind
from rivet.source.arrow import arrow_schema
from rivet.validate.footer import read_footer, read_tail

SIMPLE = [
    ColumnType(kind, *((12, 2) if kind is Kind.DECIMAL else ())) for kind in Kind if kind is not Kind.LIST
]
TYPES = [*SIMPLE, *(ColumnType(Kind.LIST, element=t) for t in SIMPLE)]


@pytest.mark.parametrize("from_rows", [True, False])
def test_every_type_has_the_name_that_manifests_use(*, from_rows: bool) -> None:
    """Parts of columns of all types have the schema that a manifest describes, and its span."""
    columns = [Column(f"c.{i}", t, "some type") for i, t in enumerate(TYPES)]
    moment = next(c.name for c in columns if c.type.kind is Kind.TIMESTAMP)
    schema = arrow_schema(columns)
    arrays = [pa.array([None, 5, 7], f.type) if f.name == moment else pa.nulls(3, f.type) for f in schema]
    file = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), file)

    footer = read_footer(file, read_tail(file), moment, from_rows=from_rows)

    assert footer.schema == tuple((c.name, str(c.type), True) for c in columns)
    assert (footer.row_count, footer.null_rows, footer.minimum, footer.maximum) == (3, 1, 5, 7)
