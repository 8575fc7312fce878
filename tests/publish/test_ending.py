"""What stands when a run ends late: after its last publish step, and before it has told anyone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rivet.destination.local import LocalDestination
from rivet.errors import DestinationUnavailable
from rivet.run import run
from tests.run.fake_source import FakeSource
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
