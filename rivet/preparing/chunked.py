"""Plans the chunks of one export in `mode: chunked`.

Composition: the decisions are in `rivet.plan`, the questions go to the source's session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import groupby

from rivet.config.read_settings import ChunkSettings
from rivet.config.settings import ExportSettings
from rivet.errors import IntegrityError, PlanError
from rivet.plan.calendar import Granularity
from rivet.plan.chunks import Chunk, ChunkNulls, ChunkPage, ChunkRange, Extent, Line
from rivet.plan.cutting import PAGE_ROWS, line_of, overlap, page_sizes, require_count
from rivet.plan.keys import leading, require_index, require_key_column
from rivet.plan.measured import Rows
from rivet.plan.probe import Probe
from rivet.plan.resolve import resolve_column
from rivet.plan.scans import Reach, Scan, WindowCount
from rivet.plan.schema import Column, Kind
from rivet.plan.selection import Selection
from rivet.plan.windows import Window
from rivet.preparing.described import Described
from rivet.preparing.ranges import Ranges, Stretch
from rivet.source.protocol import Session
from rivet.wording import counted

_EVERYTHING = Scan(Reach.EVERYTHING)
_NULLS = Scan(Reach.NULLS)
_MUCH_OVERLAP = 2.0


class Cutting:
    """The planning of chunks: first the partitions are measured, then they are cut.

    Args:
        chunks: Of the export.

    Raises:
        PlanError: The config's columns, or the source's moments, stand against it.
    """

    def __init__(
        self,
        session: Session,
        export: ExportSettings,
        chunks: ChunkSettings,
        described: Described,
        probe: Probe,
    ) -> None:
        self._session = session
        self._export = export
        self._described = described
        self._probe = probe
        self._chunks = chunks
        self._stretches: list[Stretch] = []
        if not described.is_steady:
            raise PlanError(
                f"{export.where}.mode: chunks need a snapshot: {described.relation.consistency_reason}",
                hint="write mode: full, which reads in one query, or store the rows in a table of their own",
            )
        self._by: tuple[Column, ...] = self._columns()
        self._line = self._line_of_first()
        if chunks.key:
            require_index(
                [c.name for c in self._by],
                self._equal,
                described.relation.indexes,
                described.relation.table or "",
                f"{export.where}.chunk_by_key",
            )

    def counts(self, selection: Selection) -> tuple[WindowCount, ...]:
        """Measure the partitions, in a statement for all windows and one for the NULL rows, and count them.

        Args:
            selection: The windows that will be cut; the counts are of all.
        """
        relation, column, axis = self._described.relation, self._described.column, self._described.axis
        chunking, stretches = self._session.chunking, self._stretches
        windows: dict[Window, Extent] = {}
        if column is None or axis is None:
            if self._needs_no_extent():
                stretches += [Stretch(_EVERYTHING, None, Extent(self._probe.rows, self._probe.rows))]
                return ()
            ((_, extent),) = chunking.extents(relation, Rows(None, _EVERYTHING), self._by, self._line)
            stretches += [Stretch(_EVERYTHING, None, extent)] if extent.rows else []
            found = extent.rows
        else:
            rows = Rows(column, _EVERYTHING, axis, self._probe.span)
            for value, extent in chunking.extents(relation, rows, self._by, self._line):
                if value is not None:
                    window = axis.window_of(value)
                    windows[window] = windows.get(window, Extent(0, 0)) + extent
            for window, extent in sorted(windows.items(), key=lambda item: item[0].start):
                if selection.holds(window):
                    scan = Scan(Reach.RANGE, window.start, window.end)
                    stretches.append(Stretch(scan, window, extent))
            found = sum(extent.rows for extent in windows.values()) + self._probe.null_partition_rows
            if self._probe.null_partition_rows and selection.nulls:
                ((_, extent),) = chunking.extents(relation, Rows(column, _NULLS), self._by, self._line)
                stretches.append(Stretch(_NULLS, None, extent))
                found += extent.rows - self._probe.null_partition_rows
        self._agree(found, self._probe.rows, "when measured")
        return tuple(
            WindowCount(w.start, w.end, w.label, e.rows)
            for w, e in sorted(windows.items(), key=lambda item: item[0].start)
        )

    def scans(self) -> tuple[Scan, ...]:
        """Cut the partitions that were measured.

        Raises:
            PlanError: There would be too many chunks, with what to use instead.
        """
        if self._chunks.key:
            return tuple(scan for stretch in self._stretches for scan in self._pages(stretch))
        ranges = Ranges(
            self._session,
            self._described,
            self._stretches,
            self._a_line,
            span=self._probe.span,
            where=self._export.where,
        )
        pieces = ranges.pieces(self._chunks)
        scans: list[Scan] = []
        for stretch, cut in zip(self._stretches, pieces, strict=True):
            self._agree(sum(piece.rows for piece in cut), stretch.extent.valued, "when counted by range")
            scans += [
                _chunk(stretch, piece.rows, ChunkRange(self._a_line, piece.start, piece.end)) for piece in cut
            ]
            scans += self._nulls(stretch, self._by)
        return tuple(scans)

    def advice(self, scans: Sequence[Scan]) -> list[str]:
        """Say where the queries of chunks would read more than their rows, by the planner and by the keys."""
        several = [list(group) for _, group in groupby(scans, key=lambda s: (s.reach, s.start))]
        several = [group for group in several if len(group) > 1]
        where = f"{self._export.where}.{'chunk_by_key' if self._chunks.key else 'chunk_column'}"
        lines = []
        if several:
            largest = max(several, key=lambda group: sum(s.expected_rows or 0 for s in group))
            scan = next((s for s in largest if not isinstance(s.chunk, ChunkNulls)), largest[0])
            relation, column = self._described.relation, self._described.column
            doubt = self._session.chunking.doubt(relation, column, scan)
            if doubt:
                lines.append(
                    f"{where}: the query of a chunk {doubt}, and there are {counted(len(scans), 'chunk')}: "
                    f"an index that begins with {self._advised_index()} would serve it"
                )
        return lines + self._overlap_advice(where)

    def _needs_no_extent(self) -> bool:
        """Tell whether the probe has counted all that pages of a whole table need: rows without NULL."""
        names = {column.name for column in self._by}
        return bool(self._chunks.key) and names <= self._described.relation.not_null

    @property
    def _a_line(self) -> Line:
        assert self._line is not None  # noqa: S101 - for mypy: without a key there is one
        return self._line

    @property
    def _equal(self) -> str | None:
        """Name the partition column where each partition has one value of it."""
        column, axis = self._described.column, self._described.axis
        is_one = axis is not None and (axis.kind, axis.granularity) == (Kind.DATE, Granularity.DAY)
        return column.name if column is not None and is_one else None

    def _columns(self) -> tuple[Column, ...]:
        export, relation, chunks = self._export, self._described.relation, self._chunks
        names = chunks.key or (chunks.column or "",)
        where = f"{export.where}.{'chunk_by_key' if chunks.key else 'chunk_column'}"
        columns = tuple(
            resolve_column(relation.columns, name, where, left_out=export.exclude) for name in names
        )
        unfit = dict(self._probe.unrepresentable)
        for column in columns:
            require_key_column(
                column,
                self._session.engine,
                is_overridden=column.name in export.columns,
                unrepresentable_rows=unfit.get(column.name, 0),
                where=where,
            )
        return columns

    def _line_of_first(self) -> Line | None:
        """Give the line of the chunk column, or of a key's first column where it has one."""
        first, chunks, where = self._by[0], self._chunks, self._export.where
        whole = self._session.engine == "sqlite"  # which reckons with decimals as doubles
        if not chunks.key:
            return line_of(first, f"{where}.chunk_column", size=chunks.size, whole=whole)
        try:
            return None if self._described.axis is None else line_of(first, where, size=None, whole=whole)
        except PlanError:
            return None

    def _pages(self, stretch: Stretch) -> list[Scan]:
        extent, size = stretch.extent, self._chunks.size
        page_rows = int(size) if isinstance(size, Decimal) else PAGE_ROWS
        sizes = page_sizes(extent.valued, page_rows)
        where = f"{self._export.where}.chunk_size: {stretch.label}"
        require_count(len(sizes), where, f"write a chunk_size above {page_rows}, the rows of a page")
        nullable = tuple(c for c in self._by if c.name not in self._described.relation.not_null)
        within = None
        if self._line is not None and extent.minimum is not None and extent.maximum is not None:
            within = ChunkRange(self._line, extent.minimum, extent.maximum + 1)
        pages = [
            _chunk(
                stretch,
                rows,
                ChunkPage(
                    self._by,
                    rows,
                    nullable,
                    follows=number > 0,
                    is_last=number == len(sizes) - 1,
                    within=within,
                    index=self._serving_index(),
                ),
            )
            for number, rows in enumerate(sizes)
        ]
        return pages + self._nulls(stretch, nullable)

    def _serving_index(self) -> str | None:
        """Name an index in which the rows of a page lie side by side."""
        column, names = self._described.column, [c.name for c in self._by]
        best = leading(names, self._equal, self._described.relation.indexes)[0]
        is_serving = column is None or column.name in (names[0], best.columns[0])
        return best.name if is_serving else None

    def _nulls(self, stretch: Stretch, columns: tuple[Column, ...]) -> list[Scan]:
        nulls = stretch.extent.nulls
        return [_chunk(stretch, nulls, ChunkNulls(columns))] if nulls else []

    def _overlap_advice(self, where: str) -> list[str]:
        """Warn of a key by which a partition's rows lie among those of all others."""
        column, names = self._described.column, [c.name for c in self._by]
        spans = [s.extent for s in self._stretches if s.window is not None]
        if not self._chunks.key or column is None or len(spans) < 2 or names[0] == column.name:
            return []
        index = leading(names, self._equal, self._described.relation.indexes)[0]
        times = len(spans) if self._line is None else overlap(spans)
        if index.columns[0] == column.name or times <= _MUCH_OVERLAP:
            return []
        advised = ", ".join([column.name, *names])
        line = (
            f"{where}: the rows of a partition lie, by this key, among those of others: all pages together "
            f"pass over the table about {times:.0f} times; chunk_by_key: [{advised}] with an index of these "
            "columns passes once"
        )
        return [line]

    def _advised_index(self) -> str:
        column, names = self._described.column, [c.name for c in self._by]
        if column is not None and self._chunks.key and column.name not in names:
            names = [column.name, *names]
        return f"({', '.join(names)})"

    def _agree(self, found: int, expected: int, when: str) -> None:
        if found != expected:
            raise IntegrityError(
                f"the query gave {counted(expected, 'row')} at first and {found:,} {when}",
                hint="a query that gives other rows each time it runs (LIMIT without a total order, "
                "random(), now()) cannot be read in chunks",
            )


def _chunk(stretch: Stretch, rows: int, chunk: Chunk) -> Scan:
    return replace(stretch.scan, expected_rows=rows, chunk=chunk)
