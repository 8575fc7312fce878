"""Answers what is asked of chunks in the session's one transaction."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from rivet.errors import ColumnError
from rivet.plan.chunks import ChunkPage, Extent, Line
from rivet.plan.measured import Grid, Rows
from rivet.plan.scans import Scan
from rivet.plan.schema import Column
from rivet.source.protocol import Found
from rivet.source.relation import Relation
from rivet.source.sqlite.chunking import (
    MAX_INTEGER,
    chunk_statement,
    densities_statement,
    extents_statement,
    page_end_statement,
)
from rivet.source.sqlite.relation import SqliteRelation, own_relation

_SORTS = "USE TEMP B-TREE FOR"
_SCANS = "SCAN "
_NO_TABLE = ("SCAN CONSTANT ROW", "SCAN (")


class SqliteChunking:
    """See the protocol.

    Args:
        ask: Runs a statement; takes what is being done too.
        separator_of: Tells what stands between date and time in a column.
    """

    def __init__(
        self,
        ask: Callable[[str, str], Sequence[Any]],
        separator_of: Callable[[SqliteRelation, Column], str | None],
    ) -> None:
        self._ask = ask
        self._separator_of = separator_of

    def extents(
        self, relation: Relation, rows: Rows, of: Sequence[Column], line: Line | None
    ) -> Sequence[tuple[int | None, Extent]]:
        """Find rows, rows with a value in each column, and the ends on a line."""
        own = own_relation(relation)
        statement = extents_statement(own, rows, of, line, partial(self._separator_of, own))
        found = []
        for *number, count, valued, least, most in self._ask(statement, f"cannot measure {relation.label}"):
            ends = (None if v is None or line is None else _step(v, line) for v in (least, most))
            extent = Extent(count, int(valued), *ends)
            found.append((rows.start_of(number[0]) if number else None, extent))
        return found

    def densities(self, relation: Relation, rows: Rows, grid: Grid) -> Sequence[Found]:
        """Count the rows of each range of a grid that holds any."""
        own = own_relation(relation)
        statement = densities_statement(own, rows, grid, partial(self._separator_of, own))
        answer = self._ask(statement, f"cannot measure {relation.label}")
        return [(rows.start_of(piece[0]) if piece else None, n, count) for *piece, n, count in answer]

    def page_end(
        self,
        relation: Relation,
        column: Column | None,
        scan: Scan,
        last: pa.RecordBatch,  # noqa: ARG002 - a text of a date may have several forms, of which it is one
    ) -> tuple[str, ...]:
        """Ask for the key of a page's last row as it is stored."""
        own = own_relation(relation)
        statement = page_end_statement(own, column, scan, partial(self._separator_of, own))
        (row,) = self._ask(statement, f"cannot look for the end of a page of {relation.label}")
        return tuple(row)

    def doubt(self, relation: Relation, column: Column | None, scan: Scan) -> str:
        """Say why a chunk's query would read more than its rows."""
        own = own_relation(relation)
        separator_of = partial(self._separator_of, own)
        statement = chunk_statement(own, relation.columns, column, scan, separator_of)
        plan = self._ask(f"EXPLAIN QUERY PLAN {statement}", f"cannot plan {relation.label}")
        steps = [str(detail) for *_, detail in plan]
        if isinstance(scan.chunk, ChunkPage):
            is_sorted = any(step.startswith(_SORTS) for step in steps)
            return "reads and sorts all that is left of its partition" if is_sorted else ""
        scans = [step for step in steps if step.startswith(_SCANS) and not step.startswith(_NO_TABLE)]
        return "reads the whole table" if scans else ""


def _step(value: Any, line: Line) -> int:
    step: int = math.floor(value)
    if not -MAX_INTEGER <= step <= MAX_INTEGER and line.is_decimal:
        raise ColumnError(
            f"column {line.column.name!r} holds {value}, and ranges end at 64 bits",
            hint="write chunk_by_key: [columns of an index]",
        )
    return step
