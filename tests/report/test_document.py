"""The JSON document of a command."""

from __future__ import annotations

import json
from dataclasses import asdict, fields, replace

import pytest

from rivet.errors import Problem
from rivet.manifest.verdict import Verdict
from rivet.manifest.verify_source import Comparison
from rivet.outcome import ExportOutcome, PlanOutcome, ValidateOutcome
from rivet.report.document import document, failed_too, run_export, validated_export
from rivet.report.planned_document import planned_export
from tests.report.outcomes import COMPARISON, COMPLETE, FAILED, PLAN, VERDICT


def test_every_fact_of_an_export_is_in_the_document() -> None:
    """Each field of a run's outcome is a key of the same name, but for its changes, which may be many."""
    assert set(run_export(COMPLETE)) == {f.name for f in fields(ExportOutcome)} - {"changes"}


def test_every_fact_of_a_plan_is_in_the_document() -> None:
    """A plan's outcome loses nothing; the facts of partitioning stand together."""
    told = planned_export(PLAN)
    grouped = {"partition_column", "partition_key", "granularity", "timezone"}

    assert set(told) - {"partition", "partition_count"} == {f.name for f in fields(PlanOutcome)} - grouped
    assert told["partition"] == {
        "column": "created_at",
        "key": "day",
        "granularity": "day",
        "timezone": "UTC",
    }
    assert told["partition_count"] == 3


def test_readers_are_told_one_by_one() -> None:
    """A check has a list for each reader, empty where it reads the tree as it is; a plan has null."""
    told = planned_export(replace(PLAN, readers={"DuckDB": (), "Spark": ("shows",)}))["readers"]

    assert told == {"DuckDB": [], "Spark": ["shows"]}
    assert planned_export(PLAN)["readers"] is None


def test_every_fact_of_a_verdict_is_in_the_document() -> None:
    """A verdict loses nothing, and says whether it passed."""
    told = validated_export(ValidateOutcome("events", "/out/events/", 4, VERDICT))["verdict"]

    assert isinstance(told, dict)
    assert set(told) == {f.name for f in fields(Verdict)} | {"passed"}
    assert told["passed"] is False
    assert told["findings"][1] == {
        "level": "error",
        "code": "part_missing",
        "path": "d=2023-01-01/a.parquet",
        "message": "listed, and not there",
    }


def test_every_fact_of_a_comparison_is_in_the_document() -> None:
    """A comparison loses nothing, and says whether it passed and how many rows are too many or missing."""
    told = validated_export(ValidateOutcome("events", "/out/events/", 4, VERDICT, COMPARISON))["comparison"]

    assert isinstance(told, dict)
    assert set(told) == {f.name for f in fields(Comparison)} | {"passed"}
    assert told["passed"] is False
    for difference, found in zip(COMPARISON.differences, told["differences"], strict=True):
        assert found == asdict(difference) | {"rows_too_many": difference.rows_too_many}
    assert [found["rows_too_many"] for found in told["differences"]] == [400, 1, -1200, -2]


def test_the_bounds_of_scans_are_instants_not_numbers() -> None:
    """A scan's range is written as JSON files write values of the partition column."""
    assert planned_export(PLAN)["scans"] == [
        {
            "reach": "range",
            "start": "1970-01-01T00:00:00.000000Z",
            "end": "1970-01-02T00:00:00.000000Z",
            "expected_rows": 1000,
            "sorter": "source",
            "chunk": None,
        },
        {"reach": "nulls", "start": None, "end": None, "expected_rows": 5, "sorter": "source", "chunk": None},
    ]


def test_a_check_has_no_partitions_rather_than_none_of_them() -> None:
    """What was not looked at is null, not empty."""
    told = planned_export(replace(PLAN, partitions=None, scans=None, rows=None))

    assert (told["partitions"], told["partition_count"], told["scans"], told["rows"]) == (
        None,
        None,
        None,
        None,
    )


@pytest.mark.parametrize("problems", [(), (Problem("$.source", "no 'type'", "add it"), Problem("", "x"))])
def test_a_document_has_the_same_keys_at_every_ending(problems: tuple[Problem, ...]) -> None:
    """A reader finds `exit_code`, `errors` and `exports` whether the command came to its exports or not."""
    told = document("run", 2, [run_export(FAILED)], tool="rivet-export 0", problems=problems)

    assert list(told) == [
        "tool",
        "command",
        "dry_run",
        "exit_code",
        "run_id",
        "started_at",
        "finished_at",
        "errors",
        "warnings",
        "exports",
    ]
    assert json.loads(json.dumps(told)) == told


def test_a_failure_of_the_telling_joins_the_document() -> None:
    """What went wrong while the document was delivered is added, and the exit code is the new one."""
    told = failed_too(document("run", 0, tool="rivet-export 0"), 3, [Problem("", "disk full")])

    assert told["exit_code"] == 3
    assert told["errors"] == [{"path": None, "message": "disk full", "hint": None}]
