"""A scan that is begun before it is planned, and then is not the one that was planned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import Column
from rivet.source.relation import Relation
from tests.run.fake_source import FakeBatches, FakeSource
from tests.run.running import by_day, run_one
from tests.run.trees import rows_by_manifest


class CountingSource(FakeSource):
    """A source that is read while it is asked, and writes down which scans are open together."""

    reads_while_asked = True

    def __init__(self, days: Sequence[int]) -> None:
        super().__init__(days)
        self.open: list[Reach] = []
        self.open_together: list[list[Reach]] = []

    def read(
        self, relation: Relation, columns: Sequence[Column], column: Column | None, scan: Scan
    ) -> FakeBatches:
        """Give the rows of a scan that says when it is entered and left."""
        source, plain = self, super().read(relation, columns, column, scan)

        class Counted(FakeBatches):
            def __init__(self) -> None:
                self.__dict__.update(plain.__dict__)

            def __enter__(self) -> Self:
                source.open.append(scan.reach)
                source.open_together.append(list(source.open))
                return self

            def __exit__(
                self,
                kind: type[BaseException] | None,
                error: BaseException | None,
                trace: TracebackType | None,
            ) -> None:
                source.open.remove(scan.reach)

        return Counted()


def test_a_scan_that_was_begun_in_vain_ends_before_others_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of unknown size is begun as a whole; where the plan is several scans, only they go on."""
    source = CountingSource([0, 0, 0, 1, 1, 1])
    monkeypatch.setattr("rivet.run.open_source", lambda _: source)
    export = by_day(tmp_path / "tree", partition_by="day", max_scan_rows=3)

    outcome = run_one(tmp_path, {"type": "sqlite", "path": "none.db"}, export)

    assert (outcome.error, outcome.scans) == (None, 2)
    assert source.open_together == [[Reach.EVERYTHING], [Reach.RANGE], [Reach.RANGE]]
    assert sum(map(len, rows_by_manifest(tmp_path / "tree").values())) == 6
