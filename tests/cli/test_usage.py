"""Command lines that are refused, and the older tool's options."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Command


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        ((), "missing command", "see rivet --help"),
        (("runn",), "no such command 'runn'", "did you mean run?"),
        (("run",), "missing option '--config'", "see rivet run --help"),
        (("run", "--config"), "option '--config' requires an argument", "see rivet"),
        (("run", "--config", "c", "--jsonn"), "no such option '--jsonn'", "did you mean --json?"),
        (("run", "--config", "c", "x"), "got unexpected extra argument (x)", "see rivet run --help"),
        (
            ("run", "--config", "c", "--parallel-export-processes"),
            "no such option",
            "leave it out: exports run",
        ),
        (("run", "-c", "c"), "no such option '-c'", "write --config"),
        (
            ("validate", "--prefix", "p", "--depth", "deep"),
            "invalid value for '--depth'",
            "see rivet validate",
        ),
        (("schema", "--json"), "no such option '--json'", "see rivet schema --help"),
    ],
)
def test_a_refused_command_line_says_what_and_the_mend(
    rivet: Command, arguments: tuple[str, ...], error: str, hint: str
) -> None:
    """Usage errors exit 2 in the style of all errors, with the near miss or what to write instead."""
    told = rivet(*arguments)

    first, second = told.err.splitlines()
    assert told.exit_code == 2
    assert first.startswith(f"Error: {error}")
    assert second.startswith(f"Hint: {hint}")
    assert told.out == ("" if "--json" not in arguments else told.out)


def test_a_refused_command_line_is_a_document_for_machines(rivet: Command) -> None:
    """With `--json` a usage error is one document too, wherever the flag stands."""
    told = rivet("run", "--json", "--oops", "--config", "c")

    assert told.exit_code == told.document["exit_code"] == 2
    assert told.document["command"] == "run"
    assert told.document["errors"][0]["message"] == "no such option '--oops'"
    assert told.document["exports"] == []


def test_a_refused_command_line_keeps_a_log_of_json_lines_pure(rivet: Command) -> None:
    """With `--log-format json` a usage error is a JSON line."""
    told = rivet("run", "--log-format", "json", "--oops")

    assert json.loads(told.err)["facts"]["exit_code"] == 2


@pytest.mark.parametrize("command", ["run", "plan", "check", "validate", "schema"])
def test_every_command_explains_itself(rivet: Command, command: str) -> None:
    """Help goes to standard output and exits 0."""
    told = rivet(command, "--help")

    assert (told.exit_code, told.err) == (0, "")
    assert told.out.startswith(f"Usage: rivet {command} ")


def test_the_version_is_told(rivet: Command) -> None:
    """`--version` prints name and version."""
    told = rivet("--version")

    assert (told.exit_code, told.err) == (0, "")
    assert told.out.startswith("rivet ")


def test_the_schema_is_json_on_standard_output(rivet: Command) -> None:
    """`schema` prints the JSON Schema of the config, and nothing else."""
    told = rivet("schema")

    assert (told.exit_code, told.err) == (0, "")
    assert told.document["type"] == "object"
