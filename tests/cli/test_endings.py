"""What `rivet run` tells where it is interrupted, meets a bug, or cannot write its summary."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from rivet.config.settings import Settings
from rivet.errors import (
    PlanError,
)
from rivet.outcome import RunOutcome
from tests.cli.conftest import PASSWORD, Command, Ends, Stub
from tests.report.outcomes import COMPLETE, FAILED, SKIPPED, run_of

pytestmark = pytest.mark.usefixtures("loaded")

RUN = ("run", "--config", "c.yaml")


def test_a_bug_keeps_its_traceback_and_loses_its_secrets(rivet: Command, ends: Ends) -> None:
    """An unforeseen error exits 1 with a traceback, a word to report it, and no form of the password."""
    bug = ValueError(f"cannot parse postgres://rivet:{quote(PASSWORD, safe='')}@db and {PASSWORD!r}")
    bug.__cause__ = KeyError(PASSWORD)
    bug.add_note(f"with {PASSWORD}")
    ends(bug)

    told = rivet(*RUN, "--json")

    assert told.exit_code == told.document["exit_code"] == 1
    assert "Traceback (most recent call last):" in told.err
    assert "in run_command" in told.err
    assert told.err.splitlines()[-1].startswith("Hint: this is a bug in rivet")
    assert (
        "internal error: ValueError: cannot parse postgres://rivet:***@db"
        in told.document["errors"][0]["message"]
    )
    for form in (PASSWORD, quote(PASSWORD), quote(PASSWORD, safe=""), "p@ss", "p%40ss"):
        assert form not in told.err
        assert form not in told.out


def test_a_bug_before_the_secrets_are_known_withholds_messages(rivet: Command, stub: Stub) -> None:
    """What a config holds cannot leak from a bug in its loading, since no message of it is shown."""

    def break_down(*_: object, **__: object) -> Settings:
        raise ValueError(f"url postgres://u:{PASSWORD}@h") from RuntimeError(PASSWORD)

    stub("rivet.config.load", load_settings=break_down)

    told = rivet(*RUN, "--json")

    assert told.exit_code == 1
    assert "in break_down" in told.err
    assert "internal error: ValueError: message withheld" in told.document["errors"][0]["message"]
    assert "p@ss" not in told.err + told.out


def test_bugs_that_come_in_a_group_are_masked_too(rivet: Command, ends: Ends) -> None:
    """Each member of an exception group keeps its traceback and loses its secrets."""
    ends(ExceptionGroup("two", [ValueError(PASSWORD), TypeError("plain")]))

    told = rivet(*RUN)

    assert "ValueError: ***" in told.err
    assert "TypeError: plain" in told.err
    assert "p@ss" not in told.err


def test_an_interrupted_run_tells_what_was_done_before(rivet: Command, ends: Ends) -> None:
    """An interruption exits 130 with the outcomes of the exports that had ended, and without a traceback."""
    struck = replace(FAILED, exit_code=130, error="interrupted", hint=None)
    ends(run_of(COMPLETE, struck, SKIPPED, cause=KeyboardInterrupt()))

    told = rivet(*RUN, "--json")

    assert told.exit_code == told.document["exit_code"] == 130
    assert [e["status"] for e in told.document["exports"]] == ["complete", "failed", "skipped"]
    assert "Error: orders: interrupted" in told.err.splitlines()
    assert "Traceback" not in told.err


def test_a_bug_in_one_export_tells_what_was_done_before(rivet: Command, ends: Ends) -> None:
    """A bug that struck one export leaves the outcomes of the others in the document."""
    struck = replace(FAILED, exit_code=1, error="internal error", hint=None)
    ends(run_of(COMPLETE, struck, cause=ValueError(PASSWORD)))

    told = rivet(*RUN, "--json")

    assert told.exit_code == 1
    assert [e["name"] for e in told.document["exports"]] == ["events", "orders"]
    assert told.document["errors"][0]["message"] == "internal error: ValueError: ***"
    assert "Traceback" in told.err


def test_an_interruption_without_outcomes_is_told_in_the_document(rivet: Command, ends: Ends) -> None:
    """A signal that comes before any export has begun still ends with a document and exit code 130."""
    ends(KeyboardInterrupt())

    told = rivet(*RUN, "--json")

    assert told.exit_code == told.document["exit_code"] == 130
    assert told.err.splitlines()[-1] == "Error: interrupted"


@pytest.mark.parametrize("arguments", [("--log-format=json",), ("--log-format", "json")])
def test_a_bug_is_a_json_line_too(rivet: Command, ends: Ends, arguments: tuple[str, ...]) -> None:
    """A traceback does not break a log of JSON lines."""
    ends(ValueError("odd"))

    told = rivet(*RUN, *arguments)

    ended = [json.loads(line) for line in told.err.splitlines()][-1]
    assert "Traceback (most recent call last):\n" in ended["message"]
    assert ended["facts"]["exit_code"] == 1


def test_the_summary_file_holds_the_document_of_every_ending(
    rivet: Command, ends: Ends, tmp_path: Path
) -> None:
    """Success, failure, bug and interruption each replace the file by the document of that ending."""
    file = tmp_path / "summary.json"
    for ending in (run_of(COMPLETE), run_of(FAILED), PlanError("no"), ValueError("bug"), KeyboardInterrupt()):
        ends(ending)

        told = rivet(*RUN, "--json", f"--summary-file={file}")

        assert file.read_text(encoding="utf-8") == told.out
    assert [p.name for p in tmp_path.iterdir()] == ["summary.json"]


def test_an_unwritable_summary_file_is_told_before_the_run(
    rivet: Command, ends: Ends, tmp_path: Path
) -> None:
    """A file that cannot be written exits 2 and no run begins."""
    asked = ends(run_of(COMPLETE))

    told = rivet(*RUN, "--json", "--summary-file", str(tmp_path / "missing" / "summary.json"))

    assert told.exit_code == told.document["exit_code"] == 2
    assert "--summary-file" in told.document["errors"][0]["message"]
    assert told.err.count("Error: ") == 1
    assert asked == []


def test_a_summary_file_that_fails_at_the_end_is_an_error(
    rivet: Command, ends: Ends, stub: Stub, tmp_path: Path
) -> None:
    """A run that went well exits 3 where its summary could not be written after all, and says so."""
    folder = tmp_path / "gone"
    folder.mkdir()
    ends(run_of(COMPLETE))

    def lose(_settings: Settings, *, run_id: str, **_: object) -> RunOutcome:
        folder.rmdir()
        return replace(run_of(COMPLETE), run_id=run_id)

    stub("rivet.run", run=lose)

    told = rivet(*RUN, "--json", "--summary-file", str(folder / "summary.json"))

    assert told.exit_code == told.document["exit_code"] == 3
    assert told.document["exports"][0]["status"] == "complete"
    assert "summary.json" in told.document["errors"][0]["message"]
    assert "Error: --summary-file: cannot write" in told.err


def test_a_summary_file_in_the_place_of_something_else_is_not_written(
    rivet: Command, ends: Ends, tmp_path: Path
) -> None:
    """Neither a tree nor the config is written over, not even to tell the refusal, and no run begins."""
    asked = ends(run_of(COMPLETE))
    config = tmp_path / "c.yaml"
    export_file = tmp_path / "events" / "_rivet_export.json"
    export_file.parent.mkdir()
    for file, command in (
        (export_file, RUN),
        (config, ("run", "--config", str(config))),
        (config, ("run", f"--config={config}", "--no-such-option")),
    ):
        file.write_text("precious")

        told = rivet(*command, "--json", "--summary-file", str(file))

        assert told.exit_code == told.document["exit_code"] == 2
        assert "--summary-file: " in told.document["errors"][0]["message"]
        assert file.read_text() == "precious"
    assert asked == []
