"""The bench of a night as a person starts it, small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.nightly import main


@pytest.mark.usefixtures("postgres")  # skips where it cannot be had
def test_a_small_night_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A full run reads all rows, an incremental one those of the days that have changed."""
    file = tmp_path / "figures.json"
    words = ["--rows", "2000", "--repeat", "1", "--engine", "postgres", "--one-index", "--json", str(file)]

    assert main(words) == 0

    (facts,) = json.loads(file.read_text(encoding="utf-8"))
    ((_, nights),) = facts["measured"].items()
    rows = {name: run["rows"] for name, (run,) in nights.items()}
    assert rows["full"] == 2000
    assert 0 < rows["incremental"] == rows["with verify_counts"] < 100
    assert "of a full run" in capsys.readouterr().out
