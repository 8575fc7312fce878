"""Begins the one scan of an export while its source is still being probed.

A server that has to sort sends nothing for a while; what is asked of it meanwhile costs no time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import TracebackType
from typing import Self

from rivet.config.settings import ExportSettings
from rivet.described import Described
from rivet.plan.scans import Reach, Scan
from rivet.source.protocol import Batches, Session

# An estimate may be wrong by so much before a scan is begun that the probe then splits.
_DOUBT = 4


class ReadAhead:
    """A scan that is begun before it is planned; leaving the context stops it if no one took it."""

    def __init__(self, session: Session, described: Described) -> None:
        self._session = session
        self._described = described
        self._begun: tuple[ExitStack, Batches] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._begun is not None:
            self._begun[0].__exit__(kind, error, trace)

    def begin(self, export: ExportSettings) -> None:
        """Begin to read everything, if it is sure enough that one scan will."""
        whole = Scan(Reach.EVERYTHING)
        if self._session.reads_while_asked and self._is_sure(export, whole):
            stack = ExitStack()
            self._begun = stack, stack.enter_context(self._read(self._described, whole))

    def read(self, described: Described, scan: Scan) -> AbstractContextManager[Batches]:
        """Read a scan as it was planned: the one that was begun, where it is the same."""
        if self._begun is None or scan.reach is not Reach.EVERYTHING or described != self._described:
            return self._read(described, scan)
        begun, self._begun = self._begun, None
        return _entered(*begun)

    def _read(self, described: Described, scan: Scan) -> Batches:
        relation = described.relation
        return self._session.read(relation, relation.columns, described.column, scan)

    def _is_sure(self, export: ExportSettings, whole: Scan) -> bool:
        described, relation = self._described, self._described.relation
        if export.unrepresentable == "null" or export.scan == "per_partition":
            return False
        may_split = export.scan == "auto" and described.is_indexed and described.is_steady
        if may_split and (relation.estimated_rows or 0) * _DOUBT > export.max_scan_rows:
            return False
        sort_bytes = self._session.sort_bytes(relation, described.column, whole)
        return sort_bytes <= export.max_sort_size_bytes


@contextmanager
def _entered(stack: ExitStack, batches: Batches) -> Iterator[Batches]:
    with stack:
        yield batches
