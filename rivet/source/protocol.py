"""What every engine offers: one snapshot in which an export is described, probed and read.

The contract, in words:

- Everything between entering and leaving a session sees one snapshot, where `Relation.consistency` is
  SNAPSHOT; all connections are read-only and pinned to UTC and to fixed text formats.
- A session is used from one thread, except that those of PostgreSQL and MySQL may be asked to read, and
  PostgreSQL's for the end of a page, from several at once. It never writes, makes no temporary table, and
  leaves nothing behind.
- Every driver error leaves as a `rivet.errors.SourceError` or a subclass, without a secret in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from rivet.plan.probe import Probe as Probe

if TYPE_CHECKING:
    import pyarrow as pa

    from rivet.plan.blocks import Blocks
    from rivet.plan.chunks import Extent, Line
    from rivet.plan.cursor import Cursor, CursorValue, Touched
    from rivet.plan.estimate import Estimate
    from rivet.plan.measured import Grid, Rows
    from rivet.plan.scans import Scan, Sorter, WindowCount
    from rivet.plan.schema import Column, Kind
    from rivet.plan.selection import Selection
    from rivet.plan.sorting import Detour
    from rivet.plan.windows import Axis
    from rivet.source.relation import Relation, Request


class Batches(Protocol):
    """The rows of one scan as Arrow batches, in order, while the server is still sending.

    Iterating yields `pyarrow.RecordBatch`es with exactly `arrow_schema(columns)`, none of them empty, each
    bounded to a few MiB unless a single row is larger. After those columns comes, for each of them that is
    in `Relation.nulled`, in their order, a bool column of the same name, true where NULL stands for a value
    that could not be represented. The iteration ends only when the server said that
    the data has ended; a stream that breaks or ends early raises `SourceUnavailable`, a value that does
    not fit its column raises `ColumnError` with the column's name and, where it can be had, the row's place
    (`Relation.row_names`). Leaving the context stops the query.
    """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    @property
    def server_rows(self) -> int:
        """Give the number of rows that the server itself says it sent; only after the iteration has ended."""


Found = tuple[int | None, int, int]
"""A value in the window, or None where rows are measured together; the number of a range; its rows."""


class Chunking(Protocol):
    """Measures rows that are to be cut, and knows the ends of pages."""

    def extents(
        self, relation: Relation, rows: Rows, of: Sequence[Column], line: Line | None
    ) -> Sequence[tuple[int | None, Extent]]:
        """Find, in one statement, rows, rows with a value in each column, and the ends on a line.

        By window there may be several for one, each with a value in it; together there is one, with None.

        Args:
            line: Of one of the columns; None: its ends are not told.
        """

    def densities(self, relation: Relation, rows: Rows, grid: Grid) -> Sequence[Found]:
        """Count, in one statement, the rows of each range of a grid that holds any, ascending in each window.

        Args:
            grid: None of the rows has a value below its first range.
        """

    def page_end(
        self, relation: Relation, column: Column | None, scan: Scan, last: pa.RecordBatch
    ) -> tuple[str, ...]:
        """Give the key of a page's last row as `ChunkPage.after` takes it, without any loss.

        Args:
            last: That row as it was read.
        """

    def doubt(self, relation: Relation, column: Column | None, scan: Scan) -> str:
        """Say, by the planner, why a chunk's query would read more than its rows; empty where not."""


class Session(Protocol):
    """One snapshot of a source."""

    @property
    def engine(self) -> str:
        """Name the engine as manifests do: `postgres`, `mysql`, `mariadb` or `sqlite`."""

    @property
    def reads_while_asked(self) -> bool:
        """Tell whether a scan may be under way while the session is asked other things."""

    @property
    def shares_moment(self) -> bool:
        """Tell whether scans that are read at once see one moment; else each sees its own.

        A relation is then read so where its consistency is NONE, and the rows of each scan are counted in its
        own snapshot, too.
        """

    @property
    def advised_sorter(self) -> Sorter:
        """Say who is faster at sorting the rows of everything, where no index gives them in order."""

    @property
    def chunking(self) -> Chunking:
        """Give what answers the questions of `mode: chunked`."""

    def describe(self, request: Request) -> Relation:
        """Describe a table or query without running it.

        Raises:
            SourceError: No such table or column (with the near miss), a query that is not one read-only
                SELECT, or duplicate output columns.
            ColumnError: Columns cannot become what the config asks for, or, in SQLite, what their values are;
                of all of them it is told together.
        """

    def probe(self, relation: Relation, column: Column | None) -> Probe:
        """Find minimum, maximum, rows, NULL rows and rows with unrepresentable values, in one statement.

        Without a column, rows and unrepresentable values alone are counted. Values are integers on the
        column's own axis. Where the column holds unrepresentable values, minimum and maximum are told for
        certain only if it is in `Relation.nulled`.
        """

    def count_windows(
        self, relation: Relation, column: Column, axis: Axis, span: tuple[int, int] | None = None
    ) -> Sequence[WindowCount]:
        """Count the rows of each window that holds any, in order, by one GROUP BY; NULL rows are left out.

        The server's own zones are never asked, which may be missing or of another version.

        Args:
            span: Minimum and maximum as the probe found them, both closed, which leave out most of a zone's
                history; None: not known.
        """

    def narrowed(self, relation: Relation, column: Column, selection: Selection) -> Relation:
        """Give the rows of some windows as a relation of their own, of which all else can be asked.

        Nothing is read. Rows whose partition value is unrepresentable are in the NULL partition where the
        column is in `Relation.nulled`, and else in none.
        """

    def weighed(self, relation: Relation, max_sort_bytes: int) -> Relation:
        """Say of some rows of a table whether they are few, by the planner; nothing is read.

        Args:
            max_sort_bytes: Few they are only where the source may sort as much.
        """

    def census(self, relation: Relation, column: Column, axis: Axis) -> tuple[Sequence[WindowCount], int]:
        """Count, in one statement, the rows of each window that holds any, in order, and all others."""

    def span(self, relation: Relation, column: Column) -> tuple[int, int] | None:
        """Find the smallest and the largest value, both closed, which an index gives; None without any."""

    def touched(
        self, relation: Relation, column: Column, axis: Axis, cursor: Cursor, since: CursorValue | None
    ) -> Touched:
        """Find the windows that hold rows whose cursor is not below a bound, in one statement.

        So do rows that have no cursor, nor a fallback of it. With an index on the cursor no others are read.

        Args:
            since: The bound, closed; None: only the highest value of the cursor is found.
        """

    def changed(self, relation: Relation, cursor: Cursor, since: CursorValue) -> Relation:
        """Give the rows that `touched` counts past a bound as a relation of their own; nothing is read."""

    def now(self, kind: Kind) -> int:
        """Give the present, by the source's clock, on the axis of a kind; naive ones in UTC."""

    def sort_bytes(self, relation: Relation, column: Column | None, scan: Scan) -> int:
        """Estimate, by the planner, the bytes that the server would sort for a scan; 0 where it would not."""

    def detour(self, relation: Relation, column: Column | None, scan: Scan) -> Detour | None:
        """Tell what it costs the source that it sorts nothing for a scan; None where it does not know.

        Asked where `sort_bytes` is 0.
        """

    def passes(self, relation: Relation, column: Column | None, scan: Scan) -> float:
        """Tell how often reading a scan passes over the relation, by the planner, its sort aside."""

    def estimate(self, relation: Relation, column: Column | None, scan: Scan) -> Estimate:
        """Ask the planner what a scan would cost, and the catalogue how the table lies; for people."""

    def blocks(self, relation: Relation, number: int) -> Sequence[Blocks]:
        """Cut a table into at most so many ranges of its blocks, each read without looking at the others.

        All ranges, one after the other, give the rows in the order in which a scan of everything finds them.
        Nothing is given where that cannot be, or is not worth more than one connection.
        """

    def read(
        self, relation: Relation, columns: Sequence[Column], column: Column | None, scan: Scan
    ) -> Batches:
        """Read a scan of the given columns, ordered by the partition column, ties by the primary key.

        Nothing is ordered without a partition column, or where Rivet is the scan's sorter: rows then come as
        the engine finds them, in the same order each time where it has one. NULL rows stand together at
        either end; those whose unrepresentable partition value is read as NULL are among them, and in a scan
        of the NULL rows. A chunk comes in the order of the columns by which it is cut.
        """


class Source(Protocol):
    """A configured database; nothing is connected until a session is entered."""

    @property
    def label(self) -> str:
        """Name the database for people, without a secret."""

    def session(self) -> AbstractContextManager[Session]:
        """Open the connections of one snapshot, and close them on leaving.

        Raises:
            SourceDenied: Wrong credentials, rights or TLS.
            SourceUnavailable: Unreachable or timed out.
        """
