"""One snapshot of a SQLite database."""

from __future__ import annotations

from collections.abc import Sequence

from rivet.plan.scans import Scan, WindowCount, counts_of_values
from rivet.plan.schema import Column
from rivet.plan.windows import Axis, units_per_day
from rivet.source.protocol import Batches, Probe, Relation, Request
from rivet.source.sqlite.account import Examination, Examiner
from rivet.source.sqlite.batches import SqliteBatches
from rivet.source.sqlite.connecting import SqliteConnection
from rivet.source.sqlite.describing import describe
from rivet.source.sqlite.errors import translated
from rivet.source.sqlite.statements import read_statement

# The driver's batches are bounded in rows only; even of the largest rows one holds no more than this.
_BATCH_BYTES = 8 * 1024**2
_BATCH_ROWS = 16_384
_SORTS = "USE TEMP B-TREE FOR ORDER BY"


class SqliteSession:
    """See the protocol of sessions."""

    engine = "sqlite"

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self._ties: dict[Relation, tuple[str, ...]] = {}
        self._examinations: dict[Relation, Examination] = {}

    def describe(self, request: Request) -> Relation:
        """Describe a table or query; its rows are read only where a column has no declared type."""
        described = describe(self._connection, request)
        self._ties[described.relation] = described.ties
        if described.examination is not None:
            self._examinations[described.relation] = described.examination
        return described.relation

    def probe(self, relation: Relation, column: Column | None) -> Probe:
        """Examine all values, in one statement, and give minimum, maximum and the counts of rows.

        Raises:
            ColumnError: Values of other columns do not fit them.
        """
        examination = self._examined(relation, beside=column)
        if column is None:
            return Probe(rows=examination.rows)
        span = examination.spans[column.name]
        return Probe(
            rows=examination.rows,
            null_rows=examination.rows - span.values,
            unrepresentable_rows=span.misfits,
            minimum=span.minimum,
            maximum=span.maximum,
        )

    def count_windows(self, relation: Relation, column: Column, axis: Axis) -> Sequence[WindowCount]:
        """Count the rows of each window that holds any, from the days that the probe has counted."""
        by_day = self._examined(relation, beside=column).spans[column.name].by_day
        units = units_per_day(column.type.kind)
        return counts_of_values(((day * units, by_day[day]) for day in sorted(by_day)), axis)

    def sort_bytes(self, relation: Relation, column: Column | None, scan: Scan) -> int:
        """Give the bytes of a scan's rows where SQLite's plan sorts them; 0 where an index orders them."""
        statement = self._statement(relation, relation.columns, column, scan)
        with translated(f"cannot plan {relation.label}"):
            plan = self._connection.rows(f"EXPLAIN QUERY PLAN {statement}")
        if not any(detail == _SORTS for *_, detail in plan):
            return 0
        examination = self._examined(relation)
        if scan.expected_rows is None or not examination.rows:
            return examination.total_bytes
        return examination.total_bytes * scan.expected_rows // examination.rows

    def read(
        self, relation: Relation, columns: Sequence[Column], column: Column | None, scan: Scan
    ) -> Batches:
        """Read a scan; see the protocol.

        Raises:
            ColumnError: Values do not fit their columns.
        """
        examination = self._examined(relation)
        statement = self._statement(relation, columns, column, scan)
        batch_rows = max(1, min(_BATCH_ROWS, _BATCH_BYTES // examination.max_row_bytes))
        return SqliteBatches(self._connection.stream(statement, batch_rows), columns)

    def _statement(
        self, relation: Relation, columns: Sequence[Column], column: Column | None, scan: Scan
    ) -> str:
        separator = None if column is None else self._examined(relation).spans[column.name].separator
        ties = self._ties.get(relation, ())
        return read_statement(relation.from_item, columns, column, scan, ties, separator=separator)

    def _examined(self, relation: Relation, *, beside: Column | None = None) -> Examination:
        """Examine all rows once, and refuse values that do not fit; beside is a column left to the caller."""
        examiner = Examiner(self._connection, relation.from_item, relation.columns)
        with translated(f"cannot examine {relation.label}"):
            if relation not in self._examinations:
                self._examinations[relation] = examiner.examine()
            examination = self._examinations[relation]
            refusal = examiner.refusal(examination, beside)
        if refusal is not None:
            raise refusal
        return examination
