"""With `resume: reuse` a run keeps what a failed one has published, and reads the rest alone."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rivet.ahead import ReadAhead
from rivet.errors import DestinationUnavailable
from rivet.plan.scans import Reach, Scan
from rivet.publish.steps import Steps
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import SECOND_NIGHT, assert_equal, assert_valid, export_file, make_events, source_rows
from tests.run.running import by_day, run_one, run_well
from tests.run.trees import Rows, rows_by_glob, rows_by_manifest

CHANGED = ("2023-01-02", "2023-01-05", "2023-01-06", "2023-01-09")
"""Days that the second night writes, in the order in which they are published; NULL and another vanish."""
THIRD_NIGHT = "UPDATE events SET note = 'third'"


@pytest.fixture(autouse=True)
def _one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish each partition in a wave of its own, so that a run can fail between any two."""
    monkeypatch.setattr("rivet.publish.publisher._WAVE_PARTITIONS", 1)
    monkeypatch.setattr("rivet.publish.publisher._WAVE_ROUNDS", 0.0625)


@contextmanager
def _failing_at(number: int) -> Iterator[None]:
    """Let publishing fail at the partition of that number, and at all after it."""
    take, left = Steps.take, [number]

    def failing(steps: Steps, group: Any) -> None:
        if left[0] == 0:
            raise DestinationUnavailable("the disk is full")
        left[0] -= 1
        take(steps, group)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Steps, "take", failing)
        yield


@contextmanager
def _scans() -> Iterator[list[Scan]]:
    """Collect the scans that read the source."""
    read, seen = ReadAhead.read, []

    def reading(ahead: ReadAhead, described: Any, scan: Scan, on_read: Callable[[int], None]) -> Any:
        seen.append(scan)
        return read(ahead, described, scan, on_read)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReadAhead, "read", reading)
        yield seen


def _runs(export: dict[str, Any]) -> dict[str, str]:
    return {e["value"]: e["run_id"] for e in export["partitions"]}


def _assert_mixed(root: Path, kept: dict[str, Rows], database: AnyDatabase) -> None:
    """Assert that a tree is the table, but for what was kept, and that its export file says so."""
    expected = source_rows(database) | kept
    assert rows_by_manifest(root) == expected
    assert rows_by_glob(root) == sorted(itertools.chain(*expected.values()), key=repr)
    export = export_file(root)
    assert (export["status"], export["source"]["consistency"]) == ("complete", "none" if kept else "snapshot")
    assert "unfinished_runs" not in export
    assert_valid(root)


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_failed_run_has_published_is_not_read_again(
    tmp_path: Path, database: AnyDatabase, engine: str, indexed: bool
) -> None:
    """Wherever publishing failed, the next run reads what is missing, and the tree is of both runs."""
    make_events(database, engine)
    if indexed:
        database.execute("CREATE INDEX by_day ON events (created_at)")
    before = tmp_path / "before"
    export = by_day(tmp_path / "tree", resume="reuse")
    run_well(tmp_path, database.source, by_day(before))
    first_run = _runs(export_file(before))
    database.execute(SECOND_NIGHT)
    second = source_rows(database)
    trees = [tmp_path / f"failed at {number}" for number in range(len(CHANGED))]
    for number, root in enumerate(trees):
        shutil.copytree(before, root)
        with _failing_at(number):
            failed = run_one(tmp_path, database.source, by_day(root))
        assert (failed.exit_code, failed.error) == (3, "the disk is full")
    database.execute(THIRD_NIGHT)

    for number, root in enumerate(trees):
        published = CHANGED[:number]
        left = export_file(root)
        (unfinished,) = left["unfinished_runs"]

        with _scans() as scans:
            outcome = run_well(tmp_path, database.source, {**export, **by_day(root), "resume": "reuse"})

        # What the failed run found unchanged it has confirmed; the third night changes that, too.
        unchanged = [label for label in second if label in first_run and label not in CHANGED]
        kept = [*published, *unchanged]
        assert outcome.partitions_unread == len(kept)
        _assert_mixed(root, {label: second[label] for label in kept}, database)
        runs = _runs(export_file(root))
        assert {runs[label] for label in published} <= {unfinished["run_id"]}
        assert {label: runs[label] for label in unchanged} == {label: first_run[label] for label in unchanged}
        assert len({run for label, run in runs.items() if label not in kept} - {unfinished["run_id"]}) == 1
        if indexed:
            assert all(s.reach is Reach.RANGE for s in scans)
            assert sum(s.expected_rows or 0 for s in scans) == sum(len(second[x]) for x in CHANGED[number:])

        again = run_well(tmp_path, database.source, by_day(root, resume="reuse"))
        assert (again.partitions_unread, again.consistency) == (0, "snapshot")
        assert_equal(root, database)
