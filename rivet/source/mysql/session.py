"""One snapshot of a MySQL or MariaDB database, probed and read on one connection."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from rivet.plan.blocks import Blocks
from rivet.plan.calendar import days_from_civil
from rivet.plan.cursor import Cursor, CursorValue, Touched, touched_of_pieces
from rivet.plan.estimate import Estimate
from rivet.plan.scans import Reach, Scan, Sorter, WindowCount, counts_of_pieces
from rivet.plan.schema import Column, Kind
from rivet.plan.selection import Selection
from rivet.plan.sorting import Detour
from rivet.plan.windows import Axis, units_per_day
from rivet.source.mysql import changes, describing, estimating
from rivet.source.mysql.apart import ApartBatches
from rivet.source.mysql.bulk import MysqlBatches, SnapshotReader
from rivet.source.mysql.chunk_questions import MysqlChunking
from rivet.source.mysql.chunking import chunk_reading
from rivet.source.mysql.connecting import Control, Row
from rivet.source.mysql.errors import translated_once_described as translated
from rivet.source.mysql.statements import (
    count_statement,
    counted_columns,
    own_relation,
    probe_statement,
    read_statement,
    scan_count_statement,
)
from rivet.source.protocol import Batches, Probe
from rivet.source.relation import Consistency, Relation, Request

_MOMENT = re.compile(rb"(\d{4})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?")


class MysqlSession:
    """See the protocol of sessions.

    Args:
        begin: Opens a further connection, with a snapshot of its own.
    """

    shares_moment = False
    reads_while_asked = False  # its snapshot is one connection
    advised_sorter = Sorter.RIVET  # MariaDB's own sort of whole rows takes longer than all the rest

    def __init__(
        self, control: Control, reader: SnapshotReader, engine: str, begin: Callable[[], SnapshotReader]
    ) -> None:
        self._control = control
        self._begin = begin
        self._reader = reader
        self._engine = engine

    @property
    def engine(self) -> str:
        """Name the engine as manifests do: `mysql` or `mariadb`."""
        return self._engine

    @property
    def chunking(self) -> MysqlChunking:
        """Give what answers the questions of `mode: chunked`."""
        return MysqlChunking(self._rows, self._plan, _on_axis)

    def describe(self, request: Request) -> Relation:
        """Describe a table or query without running it."""
        with self._control.connection() as connection:
            return describing.describe(connection, self._control.login.database, request)

    def probe(self, relation: Relation, column: Column | None) -> Probe:
        """Find minimum, maximum and the counts of rows in one statement."""
        relation, doing = own_relation(relation), f"cannot probe {relation.label}"
        row = self._rows(probe_statement(relation, column), doing)[0]
        rows, others = _number(row[0]), counted_columns(relation, column)
        unfit = {
            c.name: _number(count) for c, count in zip(others, row[len(row) - len(others) :], strict=True)
        }
        if column is None:
            return Probe(rows, unrepresentable=_in_order(relation, unfit))
        not_null, fitting, bounds = _number(row[1]), _number(row[2]), row[3:5]
        if fitting != not_null:
            unfit[column.name] = not_null - fitting
        is_told = fitting == not_null or column.name in relation.nulled
        minimum, maximum = (
            _on_axis(v, column.type.kind) if v is not None and is_told else None for v in bounds
        )
        unrepresentable = _in_order(relation, unfit)
        return Probe(rows, rows - not_null, not_null - fitting, minimum, maximum, unrepresentable)

    def count_windows(
        self, relation: Relation, column: Column, axis: Axis, span: tuple[int, int] | None = None
    ) -> Sequence[WindowCount]:
        """Count the rows of each window that holds any; the server counts pieces of days."""
        edges = axis.day_edges(span)
        statement = count_statement(own_relation(relation), column, edges)
        counted = self._rows(statement, f"cannot count {relation.label}")
        numbers = ((_number(piece), _number(rows)) for piece, rows in counted)
        return counts_of_pieces(numbers, axis, edges, span)

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
        counted = self._rows(statement, f"cannot count {relation.label}")
        found = touched_of_pieces([_piece(n, rows) for n, rows in counted], (), axis, edges)
        return found.windows, found.null_rows

    def span(self, relation: Relation, column: Column) -> tuple[int, int] | None:
        """Find the smallest and the largest value."""
        statement = changes.span_statement(own_relation(relation), column)
        least, greatest = self._rows(statement, f"cannot probe {relation.label}")[0]
        if least is None or greatest is None:
            return None
        return _on_axis(least, column.type.kind), _on_axis(greatest, column.type.kind)

    def touched(
        self, relation: Relation, column: Column, axis: Axis, cursor: Cursor, since: CursorValue | None
    ) -> Touched:
        """Find the windows that hold rows past a bound of the cursor."""
        doing, own = f"cannot look for what has changed in {relation.label}", own_relation(relation)
        if since is None:
            highest = self._rows(changes.highest_statement(own, cursor), doing)[0][0]
            return Touched(highest=_cursor_value(highest, cursor.kind))
        edges = axis.day_edges(None)
        rows = self._rows(changes.touched_statement(own, column, edges, cursor, since), doing)
        values = (_cursor_value(highest, cursor.kind) for *_, highest in rows)
        return touched_of_pieces([_piece(n, count) for n, count, _ in rows], values, axis, edges)

    def changed(self, relation: Relation, cursor: Cursor, since: CursorValue) -> Relation:
        """Give the rows past a bound of the cursor as a relation of their own."""
        return changes.changed(own_relation(relation), cursor, since)

    def now(self, kind: Kind) -> int:
        """Give the present."""
        told = self._rows(changes.now_statement(kind), "cannot ask for the time")[0][0]
        return _on_axis(told or b"", kind)

    def sort_bytes(self, relation: Relation, column: Column | None, scan: Scan) -> int:
        """Give rows times a row's size where the plan of a scan sorts."""
        relation = own_relation(relation)
        reading = read_statement(relation, relation.columns, column, scan)
        plan = self._plan(reading.statement, f"cannot plan {relation.label}")
        return estimating.estimate_of(plan, relation.row_bytes).sort_bytes

    def detour(
        self,
        relation: Relation,  # noqa: ARG002 - it sorts rather than go by an index through a whole table
        column: Column | None,  # noqa: ARG002 - likewise
        scan: Scan,  # noqa: ARG002 - likewise
    ) -> Detour | None:
        """Know of none."""
        return None

    def blocks(
        self,
        relation: Relation,  # noqa: ARG002 - no other connection sees the same moment
        number: int,  # noqa: ARG002 - likewise
    ) -> Sequence[Blocks]:
        """Leave every table whole."""
        return ()

    def passes(self, relation: Relation, column: Column | None, scan: Scan) -> float:
        """Compare the rows that the planner means to look at with all."""
        own, doing = own_relation(relation), f"cannot plan {relation.label}"
        rows = [
            describing.planned_rows(self._plan(reading.statement, doing)) or 0
            for one in (scan, Scan(Reach.EVERYTHING, sorter=Sorter.RIVET))
            for reading in [read_statement(own, own.columns, column, one)]
        ]
        return rows[0] / max(1, rows[1])

    def estimate(self, relation: Relation, column: Column | None, scan: Scan) -> Estimate:
        """Read the plan of a scan, and what the catalogue says of the table."""
        own, doing = own_relation(relation), f"cannot plan {relation.label}"
        write = read_statement if scan.chunk is None else chunk_reading
        plan = self._plan(write(own, own.columns, column, scan).statement, doing)
        with translated(doing), self._control.connection() as connection:
            table_bytes, correlation = estimating.stored(describing.fetching(connection), own, column)
        found = estimating.estimate_of(plan, own.row_bytes)
        return replace(found, table_bytes=table_bytes, correlation=correlation)

    def read(
        self, relation: Relation, columns: Sequence[Column], column: Column | None, scan: Scan
    ) -> Batches:
        """Read a scan; see the protocol."""
        own = own_relation(relation)
        read = read_statement if scan.chunk is None else chunk_reading
        reading = read(own, columns, column, scan)

        def on(reader: SnapshotReader) -> MysqlBatches:
            return MysqlBatches(reader, reading, relation.row_names(column))

        if relation.consistency is not Consistency.NONE:
            return on(self._reader)
        return ApartBatches(self._begin, scan_count_statement(own, column, scan), on)

    def _plan(self, statement: str, doing: str) -> list[dict[str, Any]]:
        with translated(doing), self._control.connection() as connection:
            return describing.plan_of(connection, statement)

    def _rows(self, statement: str, doing: str) -> list[Row]:
        with translated(doing):
            return self._reader.fetch(statement)


def _in_order(relation: Relation, unfit: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple((c.name, unfit[c.name]) for c in relation.columns if unfit.get(c.name))


def _number(value: bytes | None) -> int:
    return int(value or 0)


def _piece(number: bytes | None, rows: bytes | None) -> tuple[int | None, int]:
    return None if number is None else int(number), _number(rows)


def _cursor_value(value: bytes | None, kind: Kind) -> CursorValue | None:
    """Give a value of a cursor as the plan has it."""
    if value is None:
        return None
    if kind.is_temporal:
        return _on_axis(value, kind)
    return Decimal(value.decode()) if kind is Kind.DECIMAL else int(value)


def _on_axis(value: bytes, kind: Kind) -> int:
    """Count days or microseconds since 1970 of a date or a timestamp as the server writes it."""
    match = _MOMENT.fullmatch(value)
    if match is None:
        raise ValueError(f"the server wrote {value!r} for a date")
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    fraction = int((match[7] or b"").ljust(6, b"0"))
    seconds = (hour * 60 + minute) * 60 + second
    moment = seconds * 1_000_000 + fraction
    return days_from_civil(year, month, day) * units_per_day(kind) + moment
