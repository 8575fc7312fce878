"""One snapshot of a SQLite database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from rivet.errors import ColumnError
from rivet.plan.blocks import Blocks
from rivet.plan.cursor import Cursor, CursorValue, Touched, touched_of_pieces
from rivet.plan.estimate import Estimate
from rivet.plan.scans import Reach, Scan, Sorter, WindowCount, counts_of_pieces
from rivet.plan.schema import Column, Kind
from rivet.plan.selection import Selection
from rivet.plan.sorting import Detour
from rivet.plan.windows import Axis
from rivet.source.protocol import Batches, Probe
from rivet.source.relation import Relation, Request
from rivet.source.sqlite import changes
from rivet.source.sqlite.account import Examination, Examiner
from rivet.source.sqlite.batches import SqliteBatches
from rivet.source.sqlite.chunk_questions import SqliteChunking
from rivet.source.sqlite.chunking import chunk_statement
from rivet.source.sqlite.connecting import SqliteConnection
from rivet.source.sqlite.describing import describe
from rivet.source.sqlite.errors import translated
from rivet.source.sqlite.estimating import detour_of, estimate_of, is_led, order_statement, sorts
from rivet.source.sqlite.relation import SqliteRelation, own_relation
from rivet.source.sqlite.statements import read_statement, scan_order, text_statement

# The driver's batches are bounded in rows only; even of the largest rows one holds no more than this.
_BATCH_BYTES = 8 * 1024**2
_BATCH_ROWS = 16_384
_WHOLE_DAYS = (0,)


class SqliteSession:
    """See the protocol of sessions."""

    engine = "sqlite"
    shares_moment = True
    reads_while_asked = False
    advised_sorter = Sorter.SOURCE

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self._examinations: dict[Relation, Examination] = {}

    @property
    def chunking(self) -> SqliteChunking:
        """Give what answers the questions of `mode: chunked`."""
        return SqliteChunking(self._rows, self._separator_of)

    def describe(self, request: Request) -> Relation:
        """Describe a table or query; its rows are read only where a column has no declared type."""
        described = describe(self._connection, request)
        if described.examination is not None:
            self._examinations[described.relation] = described.examination
        return described.relation

    def probe(self, relation: Relation, column: Column | None) -> Probe:
        """Examine all values, in one statement, and give minimum, maximum and the counts of rows.

        Raises:
            ColumnError: Values do not fit their columns.
        """
        examination = self._examined(own_relation(relation))
        held = examination.unrepresentable
        unrepresentable = tuple((c.name, held[c.name]) for c in relation.columns if c.name in held)
        if column is None:
            return Probe(rows=examination.rows, unrepresentable=unrepresentable)
        span = examination.spans[column.name]
        return Probe(
            rows=examination.rows,
            null_rows=examination.rows - span.values,
            unrepresentable_rows=span.unrepresentable,
            minimum=span.minimum,
            maximum=span.maximum,
            unrepresentable=unrepresentable,
        )

    def count_windows(
        self, relation: Relation, column: Column, axis: Axis, span: tuple[int, int] | None = None
    ) -> Sequence[WindowCount]:
        """Count the rows of each window that holds any, from the days that the probe has counted.

        Days that do not begin at midnight in UTC take one more pass, over the column alone.
        """
        edges = axis.day_edges(span)
        own = own_relation(relation)
        examination = self._examined(own)
        if edges != _WHOLE_DAYS:
            examiner = Examiner(self._connection, own.from_item, own.readings([column]), edges=edges)
            with translated(f"cannot count {relation.label}"):
                examination = examiner.examine()
        return counts_of_pieces(sorted(examination.spans[column.name].by_piece.items()), axis, edges, span)

    def narrowed(self, relation: Relation, column: Column, selection: Selection) -> Relation:
        """Give the rows of some windows as a relation of their own."""
        return changes.narrowed(own_relation(relation), column, selection)

    def weighed(self, relation: Relation, max_sort_bytes: int) -> Relation:  # noqa: ARG002 - of the protocol
        """Give it as it is: nobody reads ahead here."""
        return relation

    def census(self, relation: Relation, column: Column, axis: Axis) -> tuple[Sequence[WindowCount], int]:
        """Count the rows of each window that holds any, and all others."""
        edges = axis.day_edges(None)
        statement = changes.census_statement(own_relation(relation), column, edges)
        found = touched_of_pieces(self._rows(statement, f"cannot count {relation.label}"), (), axis, edges)
        return found.windows, found.null_rows

    def span(self, relation: Relation, column: Column) -> tuple[int, int] | None:
        """Find the smallest and the largest value."""
        statement = changes.span_statement(own_relation(relation), column)
        least, greatest = self._rows(statement, f"cannot probe {relation.label}")[0]
        return None if least is None else (least, greatest)

    def touched(
        self, relation: Relation, column: Column, axis: Axis, cursor: Cursor, since: CursorValue | None
    ) -> Touched:
        """Find the windows that hold rows past a bound of the cursor."""
        doing, own = f"cannot look for what has changed in {relation.label}", own_relation(relation)
        if since is None:
            return Touched(highest=self._rows(changes.highest_statement(own, cursor), doing)[0][0])
        edges = axis.day_edges(None)
        rows = self._rows(changes.touched_statement(own, column, edges, cursor, since), doing)
        return touched_of_pieces([(n, count) for n, count, _ in rows], (h for *_, h in rows), axis, edges)

    def changed(self, relation: Relation, cursor: Cursor, since: CursorValue) -> Relation:
        """Give the rows past a bound of the cursor as a relation of their own."""
        return changes.changed(own_relation(relation), cursor, since)

    def now(self, kind: Kind) -> int:
        """Give the present in whole seconds."""
        now: int = self._rows(changes.now_statement(kind), "cannot ask for the time")[0][0]
        return now

    def sort_bytes(self, relation: Relation, column: Column | None, scan: Scan) -> int:
        """Give the bytes of a scan's rows where SQLite's plan sorts them; 0 where an index orders them."""
        return self._sort_bytes(self._plan(relation, column, scan), relation, scan)

    def detour(self, relation: Relation, column: Column | None, scan: Scan) -> Detour | None:
        """Reckon what an index takes longer from row to row, by samples, where rows have numbers."""
        own, plan = own_relation(relation), self._plan(relation, column, scan)
        if column is None or scan.reach is not Reach.EVERYTHING or own.rowid is None or not is_led(plan):
            return None
        (by,), examination = own.readings([column]), self._examined(own)
        order = scan_order(by, scan, self._separator_of(own, column))
        statement = order_statement(own.from_item, own.rowid, order)
        (found,) = self._rows(statement, f"cannot look how {relation.label} lies")
        return detour_of(found, examination.rows, examination.total_bytes)

    def blocks(
        self,
        relation: Relation,  # noqa: ARG002 - no other connection sees the same moment
        number: int,  # noqa: ARG002 - likewise
    ) -> Sequence[Blocks]:
        """Leave every table whole."""
        return ()

    def passes(
        self,
        relation: Relation,  # noqa: ARG002 - nothing is read beside another scan, so nobody need know better
        column: Column | None,  # noqa: ARG002 - likewise
        scan: Scan,  # noqa: ARG002 - likewise
    ) -> float:
        """Count a scan as a pass over everything."""
        return 1.0

    def estimate(self, relation: Relation, column: Column | None, scan: Scan) -> Estimate:
        """Read the plan of a scan; what the table takes is what the probe has counted of its values."""
        examination = self._examined(own_relation(relation))
        plan = self._plan(relation, column, scan)
        rows = examination.rows if scan.expected_rows is None else scan.expected_rows
        return estimate_of(plan, rows, self._sort_bytes(plan, relation, scan), examination.total_bytes)

    def read(
        self, relation: Relation, columns: Sequence[Column], column: Column | None, scan: Scan
    ) -> Batches:
        """Read a scan; see the protocol.

        Raises:
            ColumnError: Values do not fit their columns, or are unrepresentable and not to be NULL.
        """
        own = own_relation(relation)
        examination = self._examined(own)
        for name, count in examination.unrepresentable.items():
            if name not in own.nulled:
                raise ColumnError(
                    f"column {name!r}: {count} of {examination.rows} values are unrepresentable",
                    hint="set unrepresentable: null to write such values as NULL, counted in the manifest",
                )
        statement = self._statement(own, columns, column, scan)
        batch_rows = max(1, min(_BATCH_ROWS, _BATCH_BYTES // examination.max_row_bytes))
        return SqliteBatches(
            self._connection.stream(statement, batch_rows),
            columns,
            own.nulled,
            own.row_names(column),
            lambda column: self._count_bad_texts(own, column, batch_rows),
        )

    def _statement(
        self, relation: SqliteRelation, columns: Sequence[Column], column: Column | None, scan: Scan
    ) -> str:
        if scan.chunk is not None:
            separator_of = partial(self._separator_of, relation)
            return chunk_statement(relation, columns, column, scan, separator_of)
        readings = relation.readings(columns)
        if column is None:
            return read_statement(relation.from_item, readings, None, scan, (), separator=None)
        separator = self._separator_of(relation, column)
        (by,) = relation.readings([column])
        return read_statement(relation.from_item, readings, by, scan, relation.ties, separator=separator)

    def _plan(self, relation: Relation, column: Column | None, scan: Scan) -> list[str]:
        statement = self._statement(own_relation(relation), relation.columns, column, scan)
        rows = self._rows(f"EXPLAIN QUERY PLAN {statement}", f"cannot plan {relation.label}")
        return [detail for *_, detail in rows]

    def _sort_bytes(self, plan: Sequence[str], relation: Relation, scan: Scan) -> int:
        if not sorts(plan):
            return 0
        examination = self._examined(own_relation(relation))
        if scan.expected_rows is None or not examination.rows:
            return examination.total_bytes
        return examination.total_bytes * scan.expected_rows // examination.rows

    def _separator_of(self, relation: SqliteRelation, column: Column) -> str | None:
        return self._examined(relation).spans[column.name].separator

    def _rows(self, statement: str, doing: str) -> Sequence[Any]:
        with translated(doing):
            return self._connection.rows(statement)

    def _count_bad_texts(self, relation: SqliteRelation, column: Column, batch_rows: int) -> int:
        statement = text_statement(relation.from_item, *relation.readings([column]))
        count = 0
        with self._connection.stream(statement, batch_rows) as steps:
            for step in steps:
                for text in step.column(0).chunk(0).cast(pa.binary()).to_pylist():
                    count += text is not None and not _is_utf8(text)
        return count

    def _examined(self, relation: SqliteRelation) -> Examination:
        """Examine all rows once, and refuse values that do not fit."""
        relation = replace(relation, nulled=frozenset())
        if relation not in self._examinations:
            examiner = Examiner(self._connection, relation.from_item, relation.readings(relation.columns))
            with translated(f"cannot examine {relation.label}"):
                self._examinations[relation] = examiner.examine()
        examination = self._examinations[relation]
        examination.require_fit()
        return examination


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
