"""What does not add up is never published."""

from __future__ import annotations

from pathlib import Path

import pytest

from rivet.outcome import ExportOutcome
from tests.run import running
from tests.run.fake_source import FakeSource, Fault
from tests.run.trees import NULL, rows_by_glob, rows_by_manifest, snapshot

DAYS = [0, 0, 0, 0, 1, 1, 3, None, None, -719162, 2932896]


def _run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: FakeSource, **more: object
) -> ExportOutcome:
    monkeypatch.setattr("rivet.run.open_source", lambda _: source)
    export = running.by_day(tmp_path / "tree", partition_by="day", **more)
    return running.run_one(tmp_path, {"type": "sqlite", "path": "none.db"}, export)


@pytest.mark.parametrize(
    ("scan", "fault", "exit_code"),
    [
        *(("single", Fault(cut_after=rows), 3) for rows in (0, 3, 9)),
        ("per_partition", Fault(cut_after=0), 3),
        ("per_partition", Fault(cut_after=3), 3),
        *((scan, Fault(hidden=1), 4) for scan in ("single", "per_partition")),
        *((scan, Fault(uncounted=1), 4) for scan in ("single", "per_partition")),
        ("single", Fault(swap=True), 4),
    ],
)
def test_a_source_that_lies_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scan: str, fault: Fault, exit_code: int
) -> None:
    """A stream that is cut, short, miscounted or out of order changes no byte of the live tree."""
    days = [-1, *DAYS] if fault.swap else DAYS
    good = _run(tmp_path, monkeypatch, FakeSource(days[1:]), scan=scan)
    assert good.status == "complete", good.error
    before = snapshot(tmp_path / "tree")

    bad = _run(tmp_path, monkeypatch, FakeSource(days, fault), scan=scan)

    assert (bad.status, bad.exit_code) == ("failed", exit_code), bad.error
    assert snapshot(tmp_path / "tree") == before


@pytest.mark.parametrize("publish", ["proved", "eager"])
@pytest.mark.parametrize("scan", ["single", "per_partition"])
def test_every_row_lands_in_its_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scan: str, publish: str
) -> None:
    """Sentinels, NULL rows and gaps come out as they went in, by one scan and by one for each partition."""
    outcome = _run(tmp_path, monkeypatch, FakeSource(DAYS), scan=scan, publish=publish)
    tree = rows_by_manifest(tmp_path / "tree")

    assert outcome.status == "complete", outcome.error
    assert {label: len(rows) for label, rows in tree.items()} == {
        "0001-01-01": 1,
        "1970-01-01": 4,
        "1970-01-02": 2,
        "1970-01-04": 1,
        "9999-12-31": 1,
        NULL: 2,
    }
    assert [row for _, row in sorted(rows_by_glob(tmp_path / "tree"), key=lambda r: r[1])] == list(range(11))
    assert outcome.scans == (1 if scan == "single" else 6)


def test_an_empty_window_can_have_a_partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With skip_empty: false a window in between has a manifest and a marker, and no part."""
    _run(tmp_path, monkeypatch, FakeSource([0, 3]), skip_empty=False)

    tree = rows_by_manifest(tmp_path / "tree")

    assert {label: len(rows) for label, rows in tree.items()} == {
        "1970-01-01": 1,
        "1970-01-02": 0,
        "1970-01-03": 0,
        "1970-01-04": 1,
    }
