"""A run that reads some windows makes those equal to the table, and touches no other partition."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from rivet.plan.calendar import Granularity
from rivet.plan.schema import Kind
from rivet.plan.selection import Selection, selected
from rivet.plan.windows import Axis
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.nights import SECOND_NIGHT, assert_valid, export_file, make_events, source_rows
from tests.run.running import by_day, run_well
from tests.run.trees import NULL, rows_by_glob, rows_by_manifest, snapshot

AXIS = Axis(Kind.TIMESTAMP, Granularity.DAY)
SELECTED = {
    "two apart and NULL": ("2023-01-02", "2023-01-09", NULL),
    "neighbours that vanish in part": ("2023-01-02", "2023-01-03"),
    "one that is new": ("2023-01-05",),
    "one without rows": ("2023-01-07",),
    "NULL alone": (NULL,),
}


def _selection(labels: tuple[str, ...]) -> Selection:
    windows = [w for label in labels if (w := AXIS.window_of_label(label)) is not None]
    return selected(windows, nulls=NULL in labels)


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("scan", ["auto", "single", "per_partition"])
@pytest.mark.parametrize("engine", ENGINES)
def test_only_the_selected_windows_change(
    tmp_path: Path,
    database: AnyDatabase,
    engine: str,
    scan: str,
    indexed: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Selected partitions hold the table's rows, or are gone; all others are as they were, and say whose."""
    make_events(database, engine)
    if indexed:
        database.execute("CREATE INDEX by_day ON events (created_at)")
    roots = {name: tmp_path / str(number) for number, name in enumerate(SELECTED)}
    for root in roots.values():
        run_well(tmp_path, database.source, by_day(root))
    old = source_rows(database)
    database.execute(SECOND_NIGHT)
    new = source_rows(database)

    for (name, labels), root in zip(SELECTED.items(), roots.values(), strict=True):
        monkeypatch.setattr("rivet.exporting.EVERYTHING", _selection(labels))
        before, runs = snapshot(root), _runs(root)

        outcome = run_well(tmp_path, database.source, by_day(root, scan=scan))

        expected = {label: rows for label, rows in old.items() if label not in labels}
        expected |= {label: rows for label, rows in new.items() if label in labels}
        assert rows_by_manifest(root) == expected, name
        assert rows_by_glob(root) == sorted(itertools.chain(*expected.values()), key=repr), name
        assert_valid(root)
        export = export_file(root)
        assert (export["status"], export["source"]["consistency"]) == ("complete", "none")
        assert outcome.consistency == "none"
        assert (export["source_rows"], export["source_null_rows"]) == (None, None)
        after = _runs(root)
        assert {label: after[label] for label in after if label not in labels} == {
            label: runs[label] for label in runs if label not in labels
        }
        assert {e["consistency"] for e in export["partitions"]} == {"snapshot"}
        assert outcome.partitions_unread == len(runs.keys() - set(labels))
        files = snapshot(root)
        assert {n: d for n, d in files.items() if _is_beside(n, labels)} == {
            n: d for n, d in before.items() if _is_beside(n, labels)
        }


def _runs(root: Path) -> dict[str, str]:
    return {e["value"]: e["run_id"] for e in export_file(root)["partitions"]}


def _is_beside(name: str, labels: tuple[str, ...]) -> bool:
    return "/" in name and name.partition("=")[2].partition("/")[0] not in labels


@pytest.mark.parametrize("engine", ENGINES)
def test_a_first_run_of_some_windows_is_a_tree_of_one_moment(
    tmp_path: Path, database: AnyDatabase, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing stands beside what was read, it says `snapshot`, without the count of a source."""
    make_events(database, engine)
    labels = ("2023-01-02", "2023-01-06", NULL)
    monkeypatch.setattr("rivet.exporting.EVERYTHING", _selection(labels))

    outcome = run_well(tmp_path, database.source, by_day(tmp_path / "tree"), validate=True)

    expected = {label: rows for label, rows in source_rows(database).items() if label in labels}
    assert rows_by_manifest(tmp_path / "tree") == expected
    export = export_file(tmp_path / "tree")
    assert (export["source"]["consistency"], export["source_rows"]) == ("snapshot", None)
    assert (outcome.rows, outcome.null_rows, outcome.partitions_unread) == (6, 2, 0)
