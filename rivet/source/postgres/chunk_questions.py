"""Answers what is asked of chunks on the connection that reads no bulk rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from rivet.errors import ColumnError
from rivet.plan.chunks import ChunkPage, Extent, Line
from rivet.plan.measured import Grid, Rows
from rivet.plan.scans import Scan
from rivet.plan.schema import Column, Kind
from rivet.source.key_text import key_texts
from rivet.source.postgres.chunking import chunk_statement, densities_statement, extents_statement
from rivet.source.postgres.describing import nodes
from rivet.source.postgres.statements import own_relation
from rivet.source.protocol import Found
from rivet.source.relation import Relation


class PostgresChunking:
    """See the protocol.

    Args:
        ask: Runs a statement in the snapshot; takes what is being done too.
        explain: Gives the root of a statement's plan; with `by_index` as a page is read by its index.
        on_axis: Reads a date or a timestamp.
    """

    def __init__(
        self,
        ask: Callable[[str, str], Sequence[Any]],
        explain: Callable[..., dict[str, Any]],
        on_axis: Callable[[Any, Kind], int],
    ) -> None:
        self._ask = ask
        self._explain = explain
        self._on_axis = on_axis

    def extents(
        self, relation: Relation, rows: Rows, of: Sequence[Column], line: Line | None
    ) -> Sequence[tuple[int | None, Extent]]:
        """Find rows, rows with a value in each column, and the ends on a line."""
        statement = extents_statement(own_relation(relation), rows, of, line)
        found = []
        for *number, count, valued, least, most in self._ask(statement, f"cannot measure {relation.label}"):
            ends = (None if v is None or line is None else self._step(v, line) for v in (least, most))
            found.append((rows.start_of(number[0]) if number else None, Extent(count, valued, *ends)))
        return found

    def densities(self, relation: Relation, rows: Rows, grid: Grid) -> Sequence[Found]:
        """Count the rows of each range of a grid that holds any."""
        statement = densities_statement(own_relation(relation), rows, grid)
        found: list[Found] = []
        for *piece, number, count in self._ask(statement, f"cannot measure {relation.label}"):
            start = rows.start_of(piece[0]) if piece else None
            found.append((start, grid.number(int(number)) if grid.line.is_decimal else number, count))
        return found

    def page_end(
        self,
        relation: Relation,  # noqa: ARG002 - other engines ask once more
        column: Column | None,  # noqa: ARG002 - likewise
        scan: Scan,
        last: pa.RecordBatch,
    ) -> tuple[str, ...]:
        """Give the key of a page's last row, whose values arrive without any loss."""
        assert isinstance(scan.chunk, ChunkPage)  # noqa: S101 - for mypy: nothing else has an end
        return key_texts(last, scan.chunk.key)

    def doubt(self, relation: Relation, column: Column | None, scan: Scan) -> str:
        """Say why a chunk's query would read more than its rows."""
        statement = chunk_statement(own_relation(relation), relation.columns, column, scan)
        is_page = isinstance(scan.chunk, ChunkPage)
        by_index = isinstance(scan.chunk, ChunkPage) and scan.chunk.index is not None
        plan = self._explain(statement, f"cannot plan {relation.label}", by_index=by_index)
        kinds = {node["Node Type"] for node in nodes(plan)}
        if "Seq Scan" in kinds:
            return "reads the whole table"
        return "reads and sorts all that is left of its partition" if is_page and "Sort" in kinds else ""

    def _step(self, value: Any, line: Line) -> int:
        if line.column.type.kind.is_temporal:
            return self._on_axis(value, line.column.type.kind)
        if isinstance(value, Decimal) and not value.is_finite():
            raise ColumnError(
                f"column {line.column.name!r} holds {value}, which lies in no range",
                hint="mend the value, or cut by another column",
            )
        return line.step_below(str(value))
