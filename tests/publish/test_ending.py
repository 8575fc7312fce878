"""What stands when a run ends late: after its last publish step, and before it has told anyone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from rivet.destination.local import LocalDestination
from rivet.destination.memory import MemoryDestination
from rivet.errors import DestinationUnavailable
from rivet.run import run
from tests.run.fake_source import FakeSource, Fault
from tests.run.running import by_day, settings


@pytest.mark.parametrize(
    ("failure", "exit_code"), [(KeyboardInterrupt(), 130), (DestinationUnavailable("disk gone"), 3)]
)
def test_a_tree_that_is_complete_stays_so_whatever_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException, exit_code: int
) -> None:
    """A run that fails after its export file says `complete` does not take that back."""
    root = tmp_path / "tree"
    sweep = LocalDestination.sweep

    def export_file() -> Any:
        return json.loads((root / "_rivet_export.json").read_text())

    def fail(destination: LocalDestination, run_ids: list[str]) -> None:
        if export_file()["status"] == "complete":
            raise failure
        sweep(destination, run_ids)

    monkeypatch.setattr(LocalDestination, "sweep", fail)
    monkeypatch.setattr("rivet.run.open_source", lambda _: FakeSource([1, 2, 2, None]))
    config = settings(tmp_path, {"type": "sqlite", "path": "none.db"}, by_day(root, partition_by="day"))
    outcome = run(config, listener=lambda _: None)

    assert outcome.exit_code == exit_code
    assert (export_file()["status"], export_file()["source_rows"], export_file()["row_count"]) == (
        "complete",
        4,
        4,
    )


@pytest.mark.parametrize("before", [0, 1])
def test_what_a_failed_run_could_not_drop_is_known_to_the_next_as_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    """Where a run fails and its store then too, the export file still tells the run, so that it is swept."""
    run_id = "20230102T000000Z-00000002"
    is_away = True
    swept: set[str] = set()

    class Away(MemoryDestination):
        """Looks for what the failed run has staged only while it is not away."""

        def sweep(self, run_ids: Iterable[str]) -> None:
            """Sweep, and tell of it."""
            run_ids = set(run_ids)
            if is_away and run_id in run_ids:
                raise DestinationUnavailable("away")
            swept.update(run_ids)

    destination = Away()
    monkeypatch.setattr("rivet.exporting.open_destination", lambda _: destination)
    export = by_day(tmp_path / "none", partition_by="day")
    config = settings(tmp_path, {"type": "sqlite", "path": "none.db"}, export)

    def run_over(source: FakeSource, run_id: str) -> int:
        monkeypatch.setattr("rivet.run.open_source", lambda _: source)
        return run(config, listener=lambda _: None, run_id=run_id).exit_code

    for _ in range(before):
        assert run_over(FakeSource([1, 2]), "20230101T000000Z-00000001") == 0
    assert run_over(FakeSource([1, 2, 3], Fault(uncounted=1)), run_id) == 4

    assert json.loads(destination.objects["_rivet_export.json"])["pending"]["run_id"] == run_id
    is_away = False
    assert run_over(FakeSource([1, 2, 3]), "20230103T000000Z-00000003") == 0
    assert run_id in swept
