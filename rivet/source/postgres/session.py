"""One snapshot of a PostgreSQL database: described and probed on one connection, read on another."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sqlalchemy

from rivet.plan.blocks import Blocks, block_ranges
from rivet.plan.chunks import ChunkPage
from rivet.plan.cursor import Cursor, CursorValue, Touched, touched_of_pieces
from rivet.plan.estimate import Estimate
from rivet.plan.scans import Reach, Scan, Sorter, WindowCount, counts_of_pieces
from rivet.plan.schema import Column, Kind
from rivet.plan.selection import Selection
from rivet.plan.sorting import Detour
from rivet.plan.windows import Axis
from rivet.source.postgres import changes, describing, estimating
from rivet.source.postgres.answers import cursor_value, on_axis, probe_of
from rivet.source.postgres.bulk import BulkReader, Contended, PostgresBatches
from rivet.source.postgres.chunking import chunk_statement
from rivet.source.postgres.connecting import GIVE_UP, SAVEPOINT, planning_by_index, run_text
from rivet.source.postgres.errors import translated
from rivet.source.postgres.login import Login
from rivet.source.postgres.statements import (
    blocks_statement,
    count_statement,
    ends_statement,
    is_by_place,
    own_relation,
    probe_statement,
    read_statement,
)
from rivet.source.protocol import Batches, Probe
from rivet.source.relation import Relation, Request

if TYPE_CHECKING:
    from rivet.source.postgres.binary import BinaryDecoder
    from rivet.source.postgres.chunk_questions import PostgresChunking

# To sort a row takes a server about as long as to look at ten.
_FEW = 0.1
# 8 MiB, unless the server was built otherwise: less is read before another connection is there.
LEAST_BLOCKS = 1024
# How often DDL may come in between the locks of our two connections before a run gives up.
_ROUNDS = 10


class PostgresSession:
    """See the protocol of sessions.

    Args:
        readers: How many connections may read at once, of which one is open.
    """

    engine = "postgres"
    shares_moment = True
    reads_while_asked = True
    advised_sorter = Sorter.RIVET

    def __init__(
        self, login: Login, connection: sqlalchemy.Connection, reader: BulkReader, readers: int = 1
    ) -> None:
        self._login = login
        self._connection = connection
        self._readers = readers
        self._idle: list[BulkReader] = [reader]
        self._taking = threading.Lock()
        self._asking = threading.RLock()

    def close(self) -> None:
        """Close what reads bulk rows."""
        while self._idle:
            self._idle.pop().close()

    @property
    def chunking(self) -> PostgresChunking:
        """Give what answers the questions of `mode: chunked`."""
        from rivet.source.postgres.chunk_questions import PostgresChunking

        return PostgresChunking(self._rows, self._explain, on_axis)

    def describe(self, request: Request) -> Relation:
        """Describe a table or query without running it.

        From then on both connections keep others from altering its tables. One alone would not do: an ALTER
        that came later would wait for that one, and the other, at its first row, for the ALTER. One that
        comes in between the two goes first: ours gives its lock up, and waits behind it.
        """
        for _ in range(_ROUNDS - 1):
            with suppress(Contended):
                return self._described(request)
        return self._described(request)

    def probe(self, relation: Relation, column: Column | None) -> Probe:
        """Find minimum, maximum and the counts of rows in one statement.

        Where nothing is to become NULL, it only looks whether any value is unrepresentable, which takes half
        as long; if one is, a second statement counts them.
        """
        relation = own_relation(relation)
        doing = f"cannot probe {relation.label}"
        if not relation.nulled:
            rows, is_any, *ends = self._rows(ends_statement(relation, column), doing)[0]
            if not is_any:
                return probe_of(column, rows, ends, {})
        rows, *found = self._rows(probe_statement(relation, column), doing)[0]
        counts = {c.name: count for c, count in zip(relation.unsure, found, strict=False)}
        return probe_of(column, rows, found[len(counts) :], counts)

    def count_windows(
        self, relation: Relation, column: Column, axis: Axis, span: tuple[int, int] | None = None
    ) -> Sequence[WindowCount]:
        """Count the rows of each window that holds any; the server counts pieces of days."""
        edges = axis.day_edges(span)
        statement = count_statement(relation.from_item, column, edges)
        return counts_of_pieces(self._rows(statement, f"cannot count {relation.label}"), axis, edges, span)

    def narrowed(self, relation: Relation, column: Column, selection: Selection) -> Relation:
        """Give the rows of some windows as a relation of their own."""
        return changes.narrowed(own_relation(relation), column, selection)

    def weighed(self, relation: Relation, max_sort_bytes: int) -> Relation:
        """Say of some rows of an ordinary table, of which each has a place, whether they are few."""
        own = own_relation(relation)
        if self._block_count(replace(own, from_item=own.whole)) is None:
            return own
        plan = self._explain(f"SELECT * FROM {own.from_item}", f"cannot plan {own.label}")
        rows, row_bytes = plan["Plan Rows"], plan["Plan Width"]
        is_few = rows <= (own.estimated_rows or 0) * _FEW and rows * row_bytes <= max_sort_bytes
        return replace(own, is_few=is_few)

    def census(self, relation: Relation, column: Column, axis: Axis) -> tuple[Sequence[WindowCount], int]:
        """Count the rows of each window that holds any, and all others."""
        edges = axis.day_edges(None)
        statement = changes.census_statement(relation.from_item, column, edges)
        counted = self._rows(statement, f"cannot count {relation.label}")
        found = touched_of_pieces(counted, (), axis, edges)
        return found.windows, found.null_rows

    def span(self, relation: Relation, column: Column) -> tuple[int, int] | None:
        """Find the smallest and the largest value."""
        statement = changes.span_statement(relation.from_item, column)
        ends = self._rows(statement, f"cannot probe {relation.label}")[0]
        kind = column.type.kind
        return None if ends[0] is None else (on_axis(ends[0], kind), on_axis(ends[1], kind))

    def touched(
        self, relation: Relation, column: Column, axis: Axis, cursor: Cursor, since: CursorValue | None
    ) -> Touched:
        """Find the windows that hold rows past a bound of the cursor."""
        doing, from_item = f"cannot look for what has changed in {relation.label}", relation.from_item
        if since is None:
            highest = self._rows(changes.highest_statement(from_item, cursor), doing)[0][0]
            return Touched(highest=cursor_value(highest, cursor.kind))
        edges = axis.day_edges(None)
        rows = self._rows(changes.touched_statement(from_item, column, edges, cursor, since), doing)
        values = (cursor_value(highest, cursor.kind) for *_, highest in rows)
        return touched_of_pieces([(n, count) for n, count, _ in rows], values, axis, edges)

    def changed(self, relation: Relation, cursor: Cursor, since: CursorValue) -> Relation:
        """Give the rows past a bound of the cursor as a relation of their own."""
        return changes.changed(own_relation(relation), cursor, since)

    def now(self, kind: Kind) -> int:
        """Give the moment of the snapshot."""
        return on_axis(self._rows(changes.now_statement(kind), "cannot ask for the time")[0][0], kind)

    def sort_bytes(self, relation: Relation, column: Column | None, scan: Scan) -> int:
        """Give rows times width of the largest sort in the plan of a scan; a presorted one costs nothing."""
        statement = read_statement(own_relation(relation), relation.columns, column, scan)
        return estimating.largest_sort(self._explain(statement, f"cannot plan {relation.label}"))

    def detour(self, relation: Relation, column: Column | None, scan: Scan) -> Detour | None:
        """Reckon how much longer the planner's indexes lead from page to page than without an order."""
        own, doing = own_relation(relation), f"cannot plan {relation.label}"
        scans = (replace(scan, sorter=sorter) for sorter in (Sorter.SOURCE, Sorter.RIVET))
        plans = [self._explain(read_statement(own, own.columns, column, one), doing) for one in scans]
        with translated(doing), self._asking:
            return estimating.detour_of(describing.fetching(self._connection), *plans)

    def estimate(self, relation: Relation, column: Column | None, scan: Scan) -> Estimate:
        """Read the plan of a scan, and what the catalogue says of the table."""
        own, doing = own_relation(relation), f"cannot plan {relation.label}"
        write = read_statement if scan.chunk is None else chunk_statement
        found = estimating.estimate_of(self._explain(write(own, own.columns, column, scan), doing))
        with translated(doing):
            table_bytes, correlation = estimating.stored(describing.fetching(self._connection), own, column)
        return replace(found, table_bytes=table_bytes, correlation=correlation)

    def passes(self, relation: Relation, column: Column | None, scan: Scan) -> float:
        """Compare what the planner thinks that a scan's rows cost with what all rows cost in any order."""
        own, doing = own_relation(relation), f"cannot plan {relation.label}"
        costs = [
            estimating.reading_cost(self._explain(read_statement(own, own.columns, column, one), doing))
            for one in (scan, Scan(Reach.EVERYTHING, sorter=Sorter.RIVET))
        ]
        return costs[0] / max(1.0, costs[1])

    def blocks(self, relation: Relation, number: int) -> Sequence[Blocks]:
        """Cut an ordinary table into ranges of its blocks, which servers from version 14 on can read."""
        return block_ranges(self._block_count(relation) or 0, number, least=LEAST_BLOCKS)

    def read(
        self, relation: Relation, columns: Sequence[Column], column: Column | None, scan: Scan
    ) -> Batches:
        """Read a scan; see the protocol."""
        own = own_relation(relation)
        is_chunk = scan.chunk is not None
        write = chunk_statement if is_chunk else read_statement
        statement = write(own, columns, column, scan)
        nulled = [c.name for c in columns if c.name in relation.nulled]
        is_ordered = is_chunk or (scan.sorter is Sorter.SOURCE and column is not None)
        is_total = isinstance(scan.chunk, ChunkPage) or (is_ordered and bool(relation.primary_key))
        row_names = relation.row_names(column)
        sent = {name: rendering.sent for name, rendering in own.renderings.items()}

        def make_decoder() -> BinaryDecoder:
            from rivet.source.postgres.binary import BinaryDecoder

            return BinaryDecoder(columns, sent, nulled=nulled, row_names=row_names)

        return PostgresBatches(
            lambda: self._take_reader(relation.from_item),
            self._idle.append,
            statement,
            make_decoder,
            alone=not is_total and not is_by_place(own, scan),
            by_index=isinstance(scan.chunk, ChunkPage) and scan.chunk.index is not None,
        )

    def _described(self, request: Request) -> Relation:
        self._run(f"SAVEPOINT {SAVEPOINT}")
        try:
            relation = describing.describe(self._connection, request, self._hold)
        except Contended:
            self._run(GIVE_UP)
            raise
        self._run(f"RELEASE SAVEPOINT {SAVEPOINT}")
        return relation

    def _hold(self, from_item: str) -> None:
        """Lock on the connection that reads next; of several, each would have to give up when one cannot."""
        for reader in self._idle[-1:]:
            reader.hold(from_item)

    def _take_reader(self, from_item: str) -> BulkReader:
        with self._taking:
            reader = self._idle.pop() if self._idle else None
        if reader is None:
            snapshot = self._rows("SELECT pg_export_snapshot()", "cannot export the snapshot")[0][0]
            reader = BulkReader(self._login, snapshot, self._readers)
        try:
            reader.hold(from_item)
        except BaseException:
            reader.close()
            raise
        return reader

    def _block_count(self, relation: Relation) -> int | None:
        """Give the blocks of an ordinary table; None for all else."""
        statement = blocks_statement(relation)
        if statement is None:
            return None
        ((blocks,),) = self._rows(statement, f"cannot look up the size of {relation.label}")
        return None if blocks is None else int(blocks)

    def _run(self, statement: str) -> None:
        with translated("cannot keep the tables as they are"):
            run_text(self._connection, statement)

    def _explain(self, statement: str, doing: str, *, by_index: bool = False) -> dict[str, Any]:
        with translated(doing), self._asking:
            if by_index:
                run_text(self._connection, planning_by_index(on=True))
            plan = describing.explain(self._connection, statement)
            if by_index:
                run_text(self._connection, planning_by_index(on=False))
        return plan

    def _rows(self, statement: str, doing: str) -> Sequence[Any]:
        with translated(doing), self._asking:
            return run_text(self._connection, statement).all()
