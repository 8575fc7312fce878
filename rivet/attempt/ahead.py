"""Begins the one scan of an export while its source is still being probed.

A server that has to sort sends nothing for a while; what is asked of it meanwhile costs no time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Self

from rivet.config.settings import ExportSettings
from rivet.errors import ColumnError, PlanError
from rivet.export.intake import Intake
from rivet.export.order import Order
from rivet.export.pages import Pages
from rivet.export.sort import SortedBatches
from rivet.plan.probe import Probe
from rivet.plan.scans import Reach, Scan, Sorter
from rivet.plan.schema import Column
from rivet.plan.unrepresentable import nulled_columns
from rivet.preparing.described import Described
from rivet.preparing.ordering import ordering_of
from rivet.preparing.windowed import may_split
from rivet.source.protocol import Batches, Session
from rivet.source.relation import Relation

# An estimate may be wrong by so much before a scan is begun that the probe then splits.
_DOUBT = 4


class ReadAhead:
    """A scan that is begun before it is planned; leaving the context stops it if no one took it.

    Args:
        parallel: Connections that may share the blocks of a table which nobody sorts at the source.
    """

    def __init__(
        self, session: Session, export: ExportSettings, described: Described, parallel: int = 1
    ) -> None:
        self._session = session
        self._export = export
        self._parallel = parallel
        self._described = described
        self._begun: tuple[Scan, ExitStack, Batches] | None = None
        self.intake = Intake()
        self._pages = Pages(session, self.intake)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._begun is not None:
            self._begun[1].__exit__(kind, error, trace)

    def begin(self) -> None:
        """Begin to read everything, if it is sure enough that one scan will."""
        if not self._session.reads_while_asked:
            return
        scan = self._sure_scan()
        if scan is not None:
            stack = ExitStack()
            self._begun = scan, stack, stack.enter_context(self._read(self._described, scan))

    @property
    def checks(self) -> bool:
        """Tell whether the scan that has begun refuses unrepresentable values before its first row comes."""
        return self._begun is not None and isinstance(self._begun[2], SortedBatches)

    def probe(self, relation: Relation, column: Column | None) -> Probe:
        """Find minimum, maximum and the counts of rows: of few by reading these, of others by asking.

        Few are all read and decoded before anything is planned, in one pass over their table. Their number is
        then the one that the server gives at the end of the data.

        Raises:
            PlanError: There are values that their type cannot represent.
            RivetError: As asking and reading do.
        """
        batches = None if self._begun is None else self._begun[2]
        if not isinstance(batches, SortedBatches) or not self._described.relation.is_few:
            return self._session.probe(relation, column)
        self._gather(batches)
        rows, extent = batches.server_rows, batches.extent
        return Probe(rows, extent.null_rows, minimum=extent.minimum, maximum=extent.maximum)

    def check(self, described: Described, scans: Sequence[Scan], on_read: Callable[[int], None]) -> None:
        """Wait for what the scan that has begun refuses, and say then how many values there are of its kind.

        Where it is not the one that was planned, the source is asked all the same.

        Raises:
            PlanError: There are values that their type cannot represent.
            RivetError: As reading does.
        """
        if self._begun is None:
            return
        scan, _, batches = self._begun
        if not isinstance(batches, SortedBatches):
            return
        if described != self._described or [_kind(s) for s in scans] != [_kind(scan)]:
            self._seek()
            return
        batches.on_read = on_read
        self._gather(batches)

    def _gather(self, batches: SortedBatches) -> None:
        try:
            batches.gather()
        except ColumnError:
            self._seek()
            raise

    def _seek(self) -> None:
        relation, column = self._described.relation, self._described.column
        probe = self._session.probe(relation, column)
        nulled_columns(relation.columns, probe, self._export.unrepresentable)

    def read(
        self, described: Described, scan: Scan, on_read: Callable[[int], None]
    ) -> AbstractContextManager[Batches]:
        """Read a scan as it was planned: the one that was begun, where it is the same.

        Args:
            on_read: Told the rows read so far, while they are sorted and none comes out.
        """
        if scan.chunk is not None:
            return self._pages.read(described.relation, described.column, scan)
        begun, reading = self._take(described, scan)
        if isinstance(reading, SortedBatches):
            reading.on_read = on_read
        return self.intake.of(reading if begun is None else _entered(begun, reading))

    def apart(self, described: Described) -> Callable[[Scan], AbstractContextManager[Batches]]:
        """Give what reads scans, one after the other, beside others on threads of their own."""
        pages = Pages(self._session, self.intake)

        def read(scan: Scan) -> AbstractContextManager[Batches]:
            if scan.chunk is None:
                return self.intake.of(self._read(described, scan))
            return pages.read(described.relation, described.column, scan)

        return read

    def _take(self, described: Described, scan: Scan) -> tuple[ExitStack | None, Batches]:
        if self._begun is None or described != self._described:
            return None, self._read(described, scan)
        begun, stack, batches = self._begun
        self._begun = None
        if _kind(scan) != _kind(begun):
            stack.close()  # it would read on beside this one, and take another connection
            return None, self._read(described, scan)
        return stack, batches

    def _read(self, described: Described, scan: Scan) -> Batches:
        relation, column = described.relation, described.column
        is_probe = relation.is_few and scan.reach is Reach.EVERYTHING
        if column is None or (scan.sorter is Sorter.SOURCE and not is_probe):
            return self._session.read(relation, relation.columns, column, scan)
        is_shared = self._parallel > 1 and scan.reach is Reach.EVERYTHING
        blocks = self._session.blocks(relation, self._parallel) if is_shared else ()
        scans = [replace(scan, blocks=own) for own in blocks] or [scan]
        first, *beside = (self._session.read(relation, relation.columns, column, one) for one in scans)
        order = Order(column.name, relation.primary_key)
        return SortedBatches(first, order, beside, self.intake.add_temporary)

    def _sure_scan(self) -> Scan | None:
        """Give the one scan of everything, if it is sure enough that planning will come to it too."""
        export, described, relation = self._export, self._described, self._described.relation
        if export.chunks is not None or export.unrepresentable == "null" or export.scan == "per_partition":
            return None
        is_split = may_split(export, described)
        doubtful = (relation.estimated_rows or 0) * _DOUBT > export.max_scan_rows
        if is_split and (doubtful or export.max_scan_seconds is not None):
            return None
        whole = Scan(Reach.EVERYTHING)
        if described.column is None:
            return whole
        sorter = ordering_of(self._session, export, relation, described.column, whole).sorter
        return None if isinstance(sorter, PlanError) else replace(whole, sorter=sorter)


def _kind(scan: Scan) -> tuple[Reach, Sorter]:
    return scan.reach, scan.sorter


@contextmanager
def _entered(stack: ExitStack, batches: Batches) -> Iterator[Batches]:
    with stack:
        yield batches
