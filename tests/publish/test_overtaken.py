"""Two runs at once without a lock: the one that was overtaken says so, and the tree is the other's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import pytest

from rivet.destination.local import LocalDestination, LocalStaged
from rivet.destination.memory import MemoryDestination
from rivet.destination.protocol import Inspected, Staged
from rivet.errors import DestinationUnavailable, ObjectNotFound
from rivet.plan.scans import Scan
from rivet.plan.schema import Column
from rivet.run import run
from rivet.source.relation import Relation
from rivet.validate.tree import validate
from tests.run.fake_source import FakeBatches, FakeSource
from tests.run.running import by_day, settings


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("publish", ["proved", "eager"])
def test_a_run_that_another_has_overtaken_ends_with_5_and_leaves_the_tree_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, publish: Literal["proved", "eager"]
) -> None:
    """No row is there twice, whether the tree was new or stood before, and nothing is left over."""
    root = tmp_path / "tree"
    config = settings(
        tmp_path,
        {"type": "sqlite", "path": "none.db"},
        by_day(root, partition_by="day", publish=publish, lock="off"),
    )

    def run_over(source: FakeSource) -> int:
        monkeypatch.setattr("rivet.run.open_source", lambda _: source)
        return run(config, listener=lambda _: None).exit_code

    class Overtaken(FakeSource):
        """Another run begins and ends while this one reads."""

        def read(
            self, relation: Relation, columns: Sequence[Column], column: Column | None, scan: Scan
        ) -> FakeBatches:
            """Give the rows of a scan, once the other run is done."""
            assert run_over(FakeSource([1, 1, 2, 3, None])) == 0
            return super().read(relation, columns, column, scan)

    for _ in range(before):
        assert run_over(FakeSource([1, 2, None])) == 0
    assert run_over(Overtaken([1, 2, 2, 4, None])) == 5
    verdict = validate(LocalDestination(root), strict=True)
    assert (verdict.findings, verdict.rows) == ((), 5)
    assert not (root / "_rivet_staging").exists()
    assert {p.name for p in root.iterdir() if p.is_dir()} == {
        "day=1970-01-02",
        "day=1970-01-03",
        "day=1970-01-04",
        "day=__HIVE_DEFAULT_PARTITION__",
    }


@pytest.mark.parametrize("others", [[1, 1, 2, 3, None], [1, 2, 2, 4, None]], ids=["other rows", "same rows"])
@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("step", [0, 1, 5, 9])  # of four parts, four manifests and four markers
def test_a_run_that_is_overtaken_in_the_middle_of_publishing_ends_with_5(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, before: int, others: list[int | None]
) -> None:
    """The other has swept what was staged; its rows are there once, and nothing of this run beside them."""
    root = tmp_path / "tree"
    export = by_day(root, partition_by="day", vanished="remove", lock="off")
    config = settings(tmp_path, {"type": "sqlite", "path": "none.db"}, export)
    publish = LocalStaged.publish
    steps = 0

    def run_over(days: list[int | None]) -> int:
        monkeypatch.setattr("rivet.run.open_source", lambda _: FakeSource(days))
        return run(config, listener=lambda _: None).exit_code

    def overtake(staged: LocalStaged, place: Callable[[str, str], None]) -> None:
        nonlocal steps
        if steps == step:
            monkeypatch.setattr(LocalStaged, "publish", publish)
            assert run_over(others) == 0
        steps += 1
        publish(staged, place)

    for _ in range(before):
        assert run_over([5, 6]) == 0
    monkeypatch.setattr(LocalStaged, "publish", overtake)
    assert run_over([1, 2, 2, 4, None]) == 5
    verdict = validate(LocalDestination(root), strict=True)
    assert (verdict.findings, verdict.rows, steps > step) == ((), 5, True)
    assert not (root / "_rivet_staging").exists()


@pytest.mark.parametrize("before", [0, 1])
def test_a_run_whose_staged_objects_no_other_can_sweep_notices_after_each_wave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    """Small objects wait for a store on this side: the run that was overtaken publishes no further wave."""
    days: list[int | None] = [*range(20), None]
    calls = 0

    class Store(MemoryDestination):
        concurrency = 2

        def sweep(self, run_ids: Iterable[str]) -> None:
            """Reach nothing that waits on the other's side."""

        def delete(self, names: Iterable[str]) -> None:
            """Delete garbage, markers and, when the first wave ends, old parts: then comes the other run."""
            nonlocal calls
            calls += 1
            super().delete(names)
            if calls == 3:
                assert run_over([*days, 1, 6]) == 0

    destination = Store()
    config = settings(
        tmp_path,
        {"type": "sqlite", "path": "none.db"},
        by_day(tmp_path / "none", partition_by="day", lock="off"),
    )
    monkeypatch.setattr("rivet.exporting.open_destination", lambda _: destination)

    def run_over(days: list[int | None]) -> int:
        monkeypatch.setattr("rivet.run.open_source", lambda _: FakeSource(days))
        return run(config, listener=lambda _: None).exit_code

    for _ in range(before):
        calls = 3
        assert run_over([1, 6, None]) == 0
    calls = 0
    assert run_over(days) == 5
    verdict = validate(destination, strict=True)
    assert (verdict.findings, verdict.rows) == ((), len(days) + 2)


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("late", range(1, 13))  # manifests and markers by turns, of six partitions at least
def test_a_request_that_arrives_when_another_has_the_tree_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: int, before: int
) -> None:
    """It was under way while the run stood still: what the other has stays, and nothing is left beside it."""
    calls = 0

    class Store(MemoryDestination):
        concurrency = 2

        def sweep(self, run_ids: Iterable[str]) -> None:
            """Reach nothing that waits on the other's side."""

        def publish_over(self, staged: Staged, version: str | None) -> bool:
            """Publish, once another run has come and gone, where it is time for that."""
            nonlocal calls
            calls += 1
            if calls == late:
                assert run_over([0, 1, 1, 2, 3, 9, None]) == 0
            return super().publish_over(staged, version)

    destination = Store()
    config = settings(
        tmp_path,
        {"type": "sqlite", "path": "none.db"},
        by_day(tmp_path / "none", partition_by="day", lock="off"),
    )
    monkeypatch.setattr("rivet.exporting.open_destination", lambda _: destination)
    # One partition after the other: nothing else of the run goes on while it stands still.
    monkeypatch.setattr("rivet.publish.publisher.side_by_side", lambda _, work, items: list(map(work, items)))

    def run_over(days: list[int | None]) -> int:
        monkeypatch.setattr("rivet.run.open_source", lambda _: FakeSource(days))
        return run(config, listener=lambda _: None).exit_code

    for _ in range(before):
        calls = 1000
        assert run_over([0, 2, 4, None]) == 0
    calls = 0
    assert run_over([0, 1, 2, 3, 4, 9, None]) == 5
    assert calls > late
    verdict = validate(destination, strict=True)
    assert (verdict.findings, verdict.rows) == ((), 7)


@pytest.mark.parametrize("late", range(1, 8))  # markers and old parts, and what vanishes, among others
def test_a_delete_that_arrives_when_another_has_the_tree_takes_nothing_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: int
) -> None:
    """What the other has published meanwhile is there, and marked, when both have ended."""
    calls = 0

    class Store(MemoryDestination):
        concurrency = 2

        def sweep(self, run_ids: Iterable[str]) -> None:
            """Reach nothing that waits on the other's side."""

        def delete(self, names: Iterable[str]) -> None:
            """Delete what was looked at before another run came and went, where it is time for that."""
            nonlocal calls
            calls += 1
            known = list(names)
            if calls == late:
                assert run_over([0, 0, 2, 2, 4, 7, 9, None]) == 0
            super().delete(known)

    destination = Store()
    config = settings(
        tmp_path,
        {"type": "sqlite", "path": "none.db"},
        by_day(tmp_path / "none", partition_by="day", lock="off", vanished="remove"),
    )
    monkeypatch.setattr("rivet.exporting.open_destination", lambda _: destination)

    def run_over(days: list[int | None]) -> int:
        monkeypatch.setattr("rivet.run.open_source", lambda _: FakeSource(days))
        return run(config, listener=lambda _: None).exit_code

    calls = 1000
    assert run_over([0, 2, 7, 9, None]) == 0
    calls = 0
    ended = run_over([0, 0, 0, 2, 2, 2, 9, None])
    assert calls > 3
    assert ended == (5 if late <= calls else 0)
    verdict = validate(destination, strict=True)
    assert (verdict.findings, verdict.rows) == ((), 8)


@pytest.mark.parametrize("late", range(1, 5))
def test_a_marker_that_arrives_when_another_has_the_tree_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: int
) -> None:
    """A run that puts markers back after a killed one leaves those of a third, which came in between."""
    calls, is_away = 1000, False

    class Store(MemoryDestination):
        concurrency = 2

        def sweep(self, run_ids: Iterable[str]) -> None:
            """Reach nothing that waits on the other's side."""

        def publish_over(self, staged: Staged, version: str | None) -> bool:
            """Fail where the store is away."""
            if is_away:
                raise DestinationUnavailable("it is away")
            return super().publish_over(staged, version)

        def inspect(self, name: str, limit_bytes: int | None = None) -> Inspected:
            """Look, and let another run come and go behind the back of who looks for a marker."""
            nonlocal calls
            seen = None
            with suppress(ObjectNotFound):
                seen = super().inspect(name, limit_bytes)
            if name.endswith("_SUCCESS"):
                calls += 1
                if calls == late:
                    assert run_over([0, 0, 2, 2, 4, 9, None]) == 0
            if seen is None:
                raise ObjectNotFound(name)
            return seen

    destination = Store()
    config = settings(
        tmp_path,
        {"type": "sqlite", "path": "none.db"},
        by_day(tmp_path / "none", partition_by="day", lock="off", vanished="remove"),
    )
    monkeypatch.setattr("rivet.exporting.open_destination", lambda _: destination)

    def run_over(days: list[int | None]) -> int:
        monkeypatch.setattr("rivet.run.open_source", lambda _: FakeSource(days))
        return run(config, listener=lambda _: None).exit_code

    assert run_over([0, 2, 7, 9, None]) == 0
    is_away = True
    assert run_over([0, 0, 0, 2, 2, 2, 4, 9, 9, None, None]) == 3
    is_away, calls = False, 0
    assert run_over([0, 2, 4, None]) == 5
    assert calls > late
    verdict = validate(destination, strict=True)
    assert (verdict.findings, verdict.rows) == ((), 7)
