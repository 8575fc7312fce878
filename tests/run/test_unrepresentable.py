"""What becomes of values that the type of their column cannot represent, by the policy of the export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rivet.events import Event
from rivet.outcome import ExportOutcome
from rivet.plan.schema import ColumnType, Kind, Override
from rivet.run import plan
from tests.run import running
from tests.run.fake_source import INFINITY, FakeSource, Fault
from tests.run.trees import NULL, manifests, rows_by_glob, rows_by_manifest, snapshot

SOURCE = {"type": "sqlite", "path": "none.db"}
DAYS = [0, 0, 0, 1, INFINITY, INFINITY, None]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give a function that runs one export of a fake source by day."""

    def run(source: FakeSource, **more: Any) -> ExportOutcome:
        monkeypatch.setattr("rivet.run.open_source", lambda _: source)
        export = running.by_day(tmp_path / "tree", **{"partition_by": "day"} | more)
        return running.run_one(tmp_path, SOURCE, export, validate=True)

    return run


def test_by_default_nothing_is_written(run: Any, tmp_path: Path) -> None:
    """Every column with such a value is named with its count, partition column or not, with the mend."""
    outcome = run(FakeSource(DAYS, odd=True))

    assert outcome.exit_code == 2
    assert "column 'day': 2 of 7 rows hold a value that fits no calendar" in outcome.error
    assert "column 'row': 3 of 7 rows likewise" in outcome.error
    assert "unrepresentable: null" in outcome.hint
    assert not (tmp_path / "tree").exists()


def test_an_ordinary_column_is_refused_without_partition_by_too(run: Any, tmp_path: Path) -> None:
    """The policy looks at every column, whether or not the export is partitioned."""
    whole = {
        "partition_by": None,
        "partition_granularity": None,
        "destination": {"type": "local", "path": str(tmp_path / "tree")},
    }
    assert "column 'row': 3 of 7" in run(FakeSource([*DAYS[:4], None, None, None], odd=True), **whole).error

    outcome = run(FakeSource(DAYS, odd=True), unrepresentable="null", **whole)

    assert (outcome.status, outcome.rows, outcome.null_rows) == ("complete", 7, 0)
    assert outcome.unrepresentable_rows == {"day": 2, "row": 3}


@pytest.mark.parametrize("policy", [None, "null"])
@pytest.mark.parametrize("publish", ["proved", "eager"])
@pytest.mark.parametrize("scan", ["single", "per_partition"])
def test_null_writes_and_counts_them(
    run: Any, tmp_path: Path, policy: str | None, publish: str, scan: str
) -> None:
    """The rows stand in the NULL partition, and manifests, export file and outcome count each column's."""
    outcome = run(FakeSource(DAYS, odd=True), unrepresentable=policy, publish=publish, scan=scan)
    export = json.loads((tmp_path / "tree/_rivet_export.json").read_text())
    counted = {label: m["unrepresentable_rows"] for label, m in manifests(tmp_path / "tree").items()}

    assert (outcome.status, outcome.error) == ("complete", None)
    assert (outcome.rows, outcome.null_rows, outcome.verdict.passed) == (7, 3, True)
    assert outcome.unrepresentable_rows == {"day": 2, "row": 3}
    assert counted == {"1970-01-01": {"row": 1}, "1970-01-02": {"row": 1}, NULL: {"day": 2, "row": 1}}
    assert (export["source_rows"], export["source_null_rows"], export["unrepresentable_rows"]) == (
        *(7, 1),
        {"day": 2, "row": 3},
    )
    tree = rows_by_manifest(tmp_path / "tree")
    assert {label: len(rows) for label, rows in tree.items()} == {"1970-01-01": 3, "1970-01-02": 1, NULL: 3}
    assert sorted(str(row) for _, row in rows_by_glob(tmp_path / "tree")) == [
        *("1", "2", "4", "5", "None", "None", "None")
    ]


def test_markers_are_not_written(run: Any, tmp_path: Path) -> None:
    """The files have the columns of the query, no more, and the schema says so."""
    run(FakeSource(DAYS), unrepresentable="null")

    for manifest in manifests(tmp_path / "tree").values():
        assert [column["name"] for column in manifest["schema"]] == ["day", "row"]


def test_nothing_to_null_is_as_if_nothing_were_asked(run: Any, tmp_path: Path) -> None:
    """Where all values fit, the policy changes no byte, so that no partition is written anew."""
    run(FakeSource([0, 1, None]), unrepresentable="null")
    before = snapshot(tmp_path / "tree")

    outcome = run(FakeSource([0, 1, None]))

    assert (outcome.partitions_unchanged, outcome.unrepresentable_rows) == (3, {})
    assert {n: b for n, b in before.items() if n != "_rivet_export.json"}.items() <= snapshot(
        tmp_path / "tree"
    ).items()


def test_only_such_rows_make_a_null_partition(run: Any) -> None:
    """A table without one NULL has a NULL partition for the values that fit no calendar, and keeps it."""
    for unchanged in (0, 2):
        outcome = run(FakeSource([0, INFINITY]), unrepresentable="null", vanished="error")

        assert (outcome.status, outcome.rows, outcome.null_rows) == ("complete", 2, 1)
        assert outcome.partitions_unchanged == unchanged


@pytest.mark.parametrize("scan", ["single", "per_partition"])
def test_a_count_that_differs_from_the_probe_is_not_published(run: Any, tmp_path: Path, scan: str) -> None:
    """Values that the probe counted and the read took for plain NULL change nothing on disk, exit 4."""
    outcome = run(FakeSource(DAYS, Fault(unmarked=True)), unrepresentable="null", scan=scan)

    assert outcome.exit_code == 4
    assert "column 'day', values that cannot be represented: 0 rows came through" in outcome.error
    assert not (tmp_path / "tree").exists()


def test_a_plan_counts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The NULL partition's expected rows hold them, and they are told by column."""
    monkeypatch.setattr("rivet.run.open_source", lambda _: FakeSource(DAYS, odd=True))
    export = running.by_day(tmp_path / "tree", partition_by="day", unrepresentable="null")

    (outcome,) = plan(running.settings(tmp_path, SOURCE, export), listener=lambda _: None)

    assert outcome.error is None
    assert [(p.value, p.expected_rows) for p in outcome.partitions or ()] == [
        *(("1970-01-01", 3), ("1970-01-02", 1), (NULL, 3))
    ]
    assert (outcome.null_rows, outcome.unrepresentable_rows) == (3, {"day": 2, "row": 3})


def test_types_and_zone_reach_the_source(run: Any) -> None:
    """What `columns` states is asked of the source in the words of the plan, names as they are written."""
    source = FakeSource([0])
    columns = {"Row": {"type": "timestamptz", "unit": "ms"}, "x y": "decimal(20,6)"}

    run(source, columns=columns)

    assert source.asked[0].overrides == {
        "Row": Override(ColumnType(Kind.INSTANT), "ms"),
        "x y": Override(ColumnType(Kind.DECIMAL, 20, 6)),
    }


def test_a_zone_for_a_column_without_one_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A naive column is taken as it is, whatever zone is stated, and the run says so."""
    monkeypatch.setattr("rivet.run.open_source", lambda _: FakeSource([0]))
    export = running.by_day(
        tmp_path / "tree", partition_by="day", partition_key="d", partition_timezone="Asia/Tokyo"
    )
    events: list[Event] = []

    outcome = running.run_well(tmp_path, SOURCE, export, listener=events.append)

    (warning,) = outcome.warnings
    assert warning.startswith("column 'day' holds no instants")
    assert [e.message for e in events if e.kind == "warning"] == [warning]
    assert manifests(tmp_path / "tree")["1970-01-01"]["partition"]["timezone"] is None
