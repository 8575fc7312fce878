"""What `rivet run` tells, where, and with which exit code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rivet.config.read_settings import AskedWindows
from rivet.config.settings import Settings
from rivet.errors import (
    ConfigError,
    DestinationUnavailable,
    IntegrityError,
    LockHeld,
    PlanError,
    Problem,
    RivetError,
    SourceDenied,
)
from rivet.outcome import ExportOutcome
from tests.cli.conftest import Command, Ends, Stub
from tests.report.outcomes import COMPLETE, FAILED, SKIPPED, VERDICT, run_of

pytestmark = pytest.mark.usefixtures("loaded")

RUN = ("run", "--config", "c.yaml")


def test_a_run_passes_on_what_it_was_asked_for(rivet: Command, ends: Ends) -> None:
    """`--export` and `--partition` may stand several times; `--since`, `--validate` and `--wait` arrive."""
    asked = ends(run_of(COMPLETE))

    rivet(*RUN, "--export", "a", "--export", "b", "--validate", "--wait", "60")
    rivet(*RUN, "--since", "2023-01-01", "--partition", "2022-12-31", "--partition", "NULL")

    windows = AskedWindows("2023-01-01", None, ("2022-12-31", "NULL"))
    assert asked == [
        {"exports": ("a", "b"), "asked": AskedWindows(), "validate": True, "wait_seconds": 60},
        {"exports": (), "asked": windows, "validate": False, "wait_seconds": 0},
    ]


def test_people_are_told_on_stderr_only(rivet: Command, ends: Ends) -> None:
    """Without `--json` nothing is on standard output; events have time and run id, then comes the summary."""
    ends(run_of(COMPLETE))

    told = rivet(*RUN)

    assert (told.exit_code, told.out) == (0, "")
    started, warning, *summary = told.err.splitlines()
    time, run_id, message = started.split(" ", 2)
    assert time.endswith("Z")
    assert len(run_id) == len("20230102T030405Z-0123abcd")
    assert message == "events: reading shop"
    assert warning.endswith(" events: warning: odd")
    assert summary[0].startswith("events: 3,000,000 rows (1,234 with NULL) in 366 partitions, 1 scan")


def test_machines_get_one_document_on_stdout(rivet: Command, ends: Ends) -> None:
    """With `--json` standard output is one document with the exit code and one outcome per export."""
    ends(run_of(COMPLETE, FAILED, SKIPPED))

    told = rivet(*RUN, "--json")

    assert told.exit_code == told.document["exit_code"] == 3
    assert [(e["name"], e["status"]) for e in told.document["exports"]] == [
        ("events", "complete"),
        ("orders", "failed"),
        ("users", "skipped"),
    ]
    assert told.document["run_id"] in told.err
    assert (told.document["command"], told.document["dry_run"], told.document["errors"]) == ("run", False, [])


def test_quiet_says_nothing_on_success(rivet: Command, ends: Ends) -> None:
    """A run that went well leaves cron nothing to mail."""
    ends(run_of(COMPLETE))

    told = rivet(*RUN, "--quiet")

    assert (told.exit_code, told.out, told.err) == (0, "", "")


def test_quiet_still_tells_errors(rivet: Command, ends: Ends) -> None:
    """A run that failed tells its error and its mend, and nothing else."""
    ends(run_of(COMPLETE, FAILED))

    told = rivet(*RUN, "--quiet")

    assert told.exit_code == 3
    assert told.err.splitlines() == [
        "Error: orders: connection to 'db:5432' was reset",
        "Hint: try the same command again",
    ]


def test_quiet_does_not_silence_the_document(rivet: Command, ends: Ends) -> None:
    """`--quiet` is about people; a machine that asked for the document gets it."""
    ends(run_of(COMPLETE))

    told = rivet(*RUN, "--quiet", "--json")

    assert (told.document["exit_code"], told.err) == (0, "")


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [
        (PlanError("too many"), 2),
        (SourceDenied("no"), 2),
        (DestinationUnavailable("full"), 3),
        (IntegrityError("rows differ"), 4),
        (LockHeld("busy"), 5),
    ],
)
def test_the_class_of_an_error_gives_the_exit_code(
    rivet: Command, ends: Ends, error: RivetError, exit_code: int
) -> None:
    """An error that ends the whole run exits with the code of its class, in the document too."""
    ends(error)

    told = rivet(*RUN, "--json")

    assert told.exit_code == told.document["exit_code"] == exit_code
    assert told.document["errors"] == [{"path": None, "message": str(error), "hint": None}]
    assert f"Error: {error}" in told.err.splitlines()


@pytest.mark.parametrize(
    ("codes", "exit_code"),
    [((0, 3, 2), 2), ((5, 3), 3), ((2, 4), 4), ((1, 2), 1), ((4, 130), 130), ((0, 0), 0), ((), 0)],
)
def test_several_exports_exit_with_the_gravest_code(
    rivet: Command, ends: Ends, codes: Sequence[int], exit_code: int
) -> None:
    """Of several outcomes 130 wins, then 4, 1, 2, 3, 5."""
    ends(run_of(*(ExportOutcome(f"e{i}", "failed", code, "out") for i, code in enumerate(codes))))

    assert rivet(*RUN).exit_code == exit_code


def test_a_bad_config_is_told_problem_by_problem(rivet: Command, stub: Stub, tmp_path: Path) -> None:
    """Each problem is an Error and a Hint with its path, and an entry of the document and of the file."""

    def refuse(*_: object, **__: object) -> Settings:
        raise ConfigError(
            [Problem("$.source.type", "unknown 'pg'", "write postgres"), Problem("$", "no exports")]
        )

    stub("rivet.config.load", load_settings=refuse)
    file = tmp_path / "summary.json"

    told = rivet(*RUN, "--json", "--summary-file", str(file))

    assert told.exit_code == 2
    assert told.err.splitlines() == [
        "Error: $.source.type: unknown 'pg'",
        "Hint: write postgres",
        "Error: $: no exports",
    ]
    assert told.document["errors"] == [
        {"path": "$.source.type", "message": "unknown 'pg'", "hint": "write postgres"},
        {"path": "$", "message": "no exports", "hint": None},
    ]
    assert told.document["exports"] == []
    assert file.read_text(encoding="utf-8") == told.out


def test_findings_of_validation_are_told_even_when_quiet(rivet: Command, ends: Ends) -> None:
    """What `--validate` found is an error, so `--quiet` does not hide it."""
    ends(
        run_of(replace(COMPLETE, status="failed", exit_code=4, error="what landed is wrong", verdict=VERDICT))
    )

    told = rivet(*RUN, "--validate", "--quiet")

    assert told.exit_code == 4
    assert "part_missing" in told.err
    assert "Error: events: what landed is wrong" in told.err


def test_json_lines_are_all_that_is_on_stderr(rivet: Command, ends: Ends) -> None:
    """With `--log-format json` each line of stderr is an object, the ending included."""
    ends(run_of(COMPLETE, FAILED))

    told = rivet(*RUN, "--log-format", "json", "--json")

    lines = [json.loads(line) for line in told.err.splitlines()]
    assert [line["kind"] for line in lines] == ["started", "warning", "ended"]
    assert {line["run_id"] for line in lines} == {told.document["run_id"]}
    assert [line["level"] for line in lines] == ["info", "warning", "error"]
    assert lines[-1]["facts"] == told.document
    assert "Error: orders: connection" in lines[-1]["message"]


def test_json_lines_are_silent_on_success_when_quiet(rivet: Command, ends: Ends) -> None:
    """`--quiet` holds for JSON lines as it does for text."""
    ends(run_of(COMPLETE))

    assert rivet(*RUN, "--log-format", "json", "--quiet").err == ""
