"""The command as a process: what it imports, its streams, its signals, odd terminals."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.cli.conftest import REAL, STUBBED, environment, finish, start

HEAVY = ("pyarrow", "sqlalchemy", "pydantic", "yaml", "psycopg", "asyncpg", "sqlglot", "rich", "asyncio")
CONFIG = ("run", "--config", "c.yaml")


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("run", "--help"), ("run", "--oops")])
def test_help_and_refusals_import_nothing_heavy(arguments: tuple[str, ...]) -> None:
    """What needs no database imports no Arrow, no SQL, no model of the config: it is instant."""
    program = "import sys; from rivet.cli.main import main; main(); print(*sys.modules, file=sys.stderr)"

    ended = finish(REAL[0], "-c", program, *arguments)

    loaded = {name.partition(".")[0] for name in ended.stderr.decode().split("\n")[-2].split()}
    assert "click" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_the_module_runs_as_the_command() -> None:
    """`python -m rivet` is the command, under its own name."""
    ended = finish(*REAL, "run", "--help")

    assert ended.returncode == 0
    assert ended.stdout.startswith(b"Usage: rivet run ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_a_run_in_order(number: signal.Signals) -> None:
    """SIGTERM and SIGINT let the run clean up, then exit 130 with a document and no traceback."""
    with running("wait", "--json") as (process, told):
        process.send_signal(number)
        assert told.readline() == b"stopping\n"

        out, err = process.communicate(b"\n", timeout=60)

    assert process.returncode == json.loads(out)["exit_code"] == 130
    assert b"Error: interrupted" in err
    assert b"Traceback" not in err


def test_an_interrupt_inside_text_keeps_the_exit_code(tmp_path: Path) -> None:
    """The code is 130, and the process does not end by a signal, where dataclasses were being made."""
    (tmp_path / "interrupted.py").write_text(
        "from rivet.cli import invocation, main\n"
        "invocation.Invocation.load = lambda *_: exec('raise KeyboardInterrupt')\n"
        "raise SystemExit(main.main())\n"
    )
    (tmp_path / "c.yaml").touch()

    ended = finish(REAL[0], "-m", "interrupted", *CONFIG, cwd=tmp_path)

    assert ended.returncode == 130


def test_a_second_signal_does_not_disturb_the_stop() -> None:
    """`timeout` signals a process and then its group: the stop under way goes on, without a traceback."""
    with running("wait", "--json") as (process, told):
        process.send_signal(signal.SIGTERM)
        assert told.readline() == b"stopping\n"
        process.send_signal(signal.SIGTERM)

        out, err = process.communicate(b"\n", timeout=60)

    assert process.returncode == json.loads(out)["exit_code"] == 130
    assert b"Traceback" not in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_inside_a_finaliser_is_not_lost(number: signal.Signals) -> None:
    """Where Python drops the exception of a signal the run is stopped all the same, without a traceback."""
    with running("lose", "--json") as (process, told):
        process.send_signal(number)
        assert told.readline() == b"stopping\n"
        process.send_signal(number)  # the second, which does nothing

        out, err = process.communicate(b"\n", timeout=60)

    assert process.returncode == json.loads(out)["exit_code"] == 130
    assert b"Traceback" not in err


@pytest.mark.parametrize("scenario", ["wait", "sink"])
def test_a_third_signal_ends_a_stop_that_hangs(scenario: str) -> None:
    """Who asks three times is obeyed at once, also deep in a driver, with 130 and without a traceback."""
    with running(scenario) as (process, _):
        deadline = time.monotonic() + 60
        while process.poll() is None:  # signals that come too fast are one
            assert time.monotonic() < deadline
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        _, err = process.communicate()

    assert process.returncode == 130
    assert b"Traceback" not in err


def test_a_signal_that_the_parent_ignores_stays_ignored() -> None:
    """A run that a shell put in the background with `&` is not stopped by the terminal's Ctrl-C."""
    with running("wait", "--json", before="trap '' INT;") as (process, told):
        for _ in range(3):
            process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        assert told.readline() == b"stopping\n"

        out, _ = process.communicate(b"\n", timeout=60)

    assert process.returncode == json.loads(out)["exit_code"] == 130


@contextmanager
def running(
    scenario: str, *arguments: str, before: str = ""
) -> Iterator[tuple[subprocess.Popen[bytes], BinaryIO]]:
    """Start a run that waits for signals, with the pipe on which it tells how far it is."""
    reading, writing = os.pipe()
    command = ("/bin/sh", "-c", f'{before} exec "$@"', "sh", *STUBBED, scenario, *CONFIG, *arguments)
    with (
        os.fdopen(reading, "rb") as told,
        start(*command, env=environment(TOLD=str(writing)), pass_fds=(writing,)) as process,
    ):
        os.close(writing)
        assert told.readline() == b"running\n"
        yield process, told


def test_a_reader_that_has_gone_is_no_error() -> None:
    """A closed pipe on standard output changes neither the exit code nor standard error."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        for arguments in (("succeed", *CONFIG, "--json"), ("succeed", "--help"), ("succeed", "schema")):
            ended = finish(*STUBBED, *arguments, stdout=writing)

            assert ended.returncode == 0
            assert b"Traceback" not in ended.stderr
            assert b"BrokenPipe" not in ended.stderr
    finally:
        os.close(writing)


def test_a_log_that_nobody_reads_does_not_end_a_run() -> None:
    """A closed pipe on standard error silences the run and no more."""
    reading, writing = os.pipe()
    os.close(reading)

    ended = finish(*STUBBED, "succeed", *CONFIG, "--json", stderr=writing)

    os.close(writing)
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["exit_code"] == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_under_stdout_is_told() -> None:
    """A document that could not be written is an error that exits 3."""
    with Path("/dev/full").open("wb") as full:
        ended = finish(*STUBBED, "succeed", *CONFIG, "--json", stdout=full)

    assert ended.returncode == 3
    assert b"Error: cannot write to standard output: No space left on device" in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_under_stderr_does_not_end_a_run() -> None:
    """A log that cannot be written does not cost the export."""
    with Path("/dev/full").open("wb") as full:
        ended = finish(*STUBBED, "succeed", *CONFIG, "--json", stderr=full)

    assert json.loads(ended.stdout)["exit_code"] == ended.returncode == 0


def test_closed_streams_never_receive_a_partition(tmp_path: Path) -> None:
    """With descriptors 0 to 2 closed at the start, no file of the run takes their number."""
    part = tmp_path / "part"
    script = 'exec "$@" <&- >&- 2>&-'

    ended = finish(
        "/bin/sh", "-c", script, "sh", *STUBBED, "hide", *CONFIG, env=environment(PART=str(part), TOLD="")
    )

    assert ended.returncode == 0
    assert part.read_bytes() == b"rows"


@pytest.mark.parametrize(
    "variables",
    [
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"LC_ALL": "C"},
        {"PYTHONIOENCODING": "ascii:strict"},
        {"LC_ALL": "C.UTF-8"},
    ],
)
@pytest.mark.parametrize("arguments", [(), ("--log-format", "json")])
def test_no_locale_makes_a_name_fatal(variables: dict[str, str], arguments: tuple[str, ...]) -> None:
    """Names beyond the locale, lone surrogates too, are escaped on stderr; the document is always UTF-8."""
    ended = finish(*STUBBED, "succeed", *CONFIG, "--json", *arguments, env=environment(**variables))

    assert ended.returncode == 0
    assert json.loads(ended.stdout.decode())["exports"][0]["name"] == "créé\udcff"
    assert b"Traceback" not in ended.stderr
    assert b"\x1b" not in ended.stderr
    if arguments:
        assert {json.loads(line)["export"] for line in ended.stderr.splitlines()} == {"créé\udcff", None}


def test_a_bug_in_a_process_shows_no_secret() -> None:
    """Standard output, standard error and the traceback are free of the password."""
    ended = finish(*STUBBED, "crash", *CONFIG, "--json")

    assert ended.returncode == json.loads(ended.stdout)["exit_code"] == 1
    assert b"ValueError: cannot log in with ***" in ended.stderr
    assert b"s3cret-word" not in ended.stderr + ended.stdout


def test_a_thread_that_dies_fails_the_command() -> None:
    """A bug on a thread that nobody waits for is told without secrets, with exit code 1 and what was done."""
    ended = finish(*STUBBED, "orphan", *CONFIG, "--json")

    document = json.loads(ended.stdout)
    assert ended.returncode == document["exit_code"] == 1
    assert [export["status"] for export in document["exports"]] == ["complete"]
    assert "a thread has died" in document["errors"][0]["message"]
    assert b"ValueError: cannot log in with ***" in ended.stderr
    assert b"s3cret-word" not in ended.stderr + ended.stdout


def test_a_bug_in_a_finaliser_is_told_without_secrets() -> None:
    """It has broken nothing that anybody waited for, so the command ends as it would."""
    ended = finish(*STUBBED, "drop", *CONFIG, "--json")

    assert ended.returncode == json.loads(ended.stdout)["exit_code"] == 0
    assert b"ValueError: cannot log in with ***" in ended.stderr
    assert b"s3cret-word" not in ended.stderr + ended.stdout


def test_what_libraries_say_joins_the_log() -> None:
    """Warnings and log records of libraries are lines of the log, without secrets or tracebacks."""
    ended = finish(*STUBBED, "grumble", *CONFIG, "--log-format", "json")

    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert [line["kind"] for line in lines][:2] == ["warning", "warning"]
    assert "UserWarning: deprecated" in lines[0]["message"]
    assert lines[1]["message"] == "some.pool: reset failed\nfor ***: ValueError('***')"
    assert lines[2]["message"] == "some.pool: %d tries"


@pytest.mark.parametrize(
    ("variables", "bars", "colour"),
    [
        ({"TERM": "xterm-256color"}, True, True),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, False, False),
        ({}, False, False),
    ],
)
def test_bars_are_for_terminals_that_can_draw_them(
    variables: dict[str, str], *, bars: bool, colour: bool
) -> None:
    """A terminal gets bars, in colour unless NO_COLOR says otherwise; a dumb one gets plain lines."""
    seen = _on_terminal("succeed", *CONFIG, **variables)

    assert (b"5 of 10 rows" in seen or b"\xe2\x94\x81" in seen) is bars
    assert (b" : reading shop" in seen.replace("créé".encode(), b" ").replace(b"\\udcff", b"")) is not bars
    assert (b"\x1b[3" in seen) is colour
    assert b"\x1b[2J" not in seen
    assert b"10 rows in 0 partitions" in seen


def _on_terminal(*arguments: str, **variables: str) -> bytes:
    """Run with a terminal as standard error, and give all that was written to it."""
    master, slave = pty.openpty()
    with closing(os.fdopen(master, "rb", buffering=0)) as screen:
        variables |= environment(LC_ALL="C.UTF-8")
        with start(*STUBBED, *arguments, stderr=slave, stdout=subprocess.DEVNULL, env=variables) as process:
            os.close(slave)
            seen = b""
            try:
                while data := screen.read(65536):
                    seen += data
            except OSError:  # Linux: the other end is closed
                pass
            process.wait(timeout=60)
    assert process.returncode == 0
    return seen
