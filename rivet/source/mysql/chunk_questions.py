"""Answers what is asked of chunks on the connection of the snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from rivet.plan.chunks import ChunkPage, Extent, Line
from rivet.plan.measured import Grid, Rows
from rivet.plan.scans import Scan
from rivet.plan.schema import Column, Kind
from rivet.source.key_text import key_texts
from rivet.source.mysql.chunking import chunk_reading, densities_statement, extents_statement
from rivet.source.mysql.connecting import Row
from rivet.source.mysql.statements import own_relation
from rivet.source.protocol import Found
from rivet.source.relation import Relation


class MysqlChunking:
    """See the protocol.

    Args:
        ask: Runs a statement in the snapshot; takes what is being done too.
        plan: Gives the lines of a statement's plan.
        on_axis: Reads a date or a timestamp.
    """

    def __init__(
        self,
        ask: Callable[[str, str], Sequence[Row]],
        plan: Callable[[str, str], Sequence[dict[str, Any]]],
        on_axis: Callable[[bytes, Kind], int],
    ) -> None:
        self._ask = ask
        self._plan = plan
        self._on_axis = on_axis

    def extents(
        self, relation: Relation, rows: Rows, of: Sequence[Column], line: Line | None
    ) -> Sequence[tuple[int | None, Extent]]:
        """Find rows, rows with a value in each column, and the ends on a line."""
        statement = extents_statement(own_relation(relation), rows, of, line)
        found = []
        for *number, count, valued, least, most in self._ask(statement, f"cannot measure {relation.label}"):
            ends = (None if v is None or line is None else self._step(v, line) for v in (least, most))
            extent = Extent(int(count or 0), int(valued or 0), *ends)
            found.append((rows.start_of(int(number[0] or 0)) if number else None, extent))
        return found

    def densities(self, relation: Relation, rows: Rows, grid: Grid) -> Sequence[Found]:
        """Count the rows of each range of a grid that holds any."""
        statement = densities_statement(own_relation(relation), rows, grid)
        found: list[Found] = []
        for *piece, number, count in self._ask(statement, f"cannot measure {relation.label}"):
            start = rows.start_of(int(piece[0] or 0)) if piece else None
            found.append((start, grid.number(int(Decimal((number or b"0").decode()))), int(count or 0)))
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
        reading = chunk_reading(own_relation(relation), relation.columns, column, scan)
        plan = self._plan(reading.statement, f"cannot plan {relation.label}")
        if any(line["type"] == "ALL" for line in plan):
            return "reads the whole table"
        if isinstance(scan.chunk, ChunkPage):
            sorts = any("filesort" in (line["extra"] or "") for line in plan)
            return "reads and sorts all that is left of its partition" if sorts else ""
        return "reads a whole index" if any(line["type"] == "index" for line in plan) else ""

    def _step(self, value: bytes, line: Line) -> int:
        kind = line.column.type.kind
        return self._on_axis(value, kind) if kind.is_temporal else line.step_below(value.decode())
