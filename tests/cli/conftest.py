"""The command in this process, with stubs in place of what it composes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rivet.cli.main import run_command_line
from rivet.cli.signals import Stop
from rivet.config.settings import (
    ExportSettings,
    LocalDestinationSettings,
    Secret,
    Settings,
    SourceSettings,
)
from rivet.events import Event, Listener
from rivet.outcome import RunOutcome

PASSWORD = "p@ss/w?rd#1% 'é"


REPOSITORY = Path(__file__).parents[2]
REAL = (sys.executable, "-m", "rivet")
STUBBED = (sys.executable, str(Path(__file__).with_name("stub_program.py")))


def environment(**variables: str) -> dict[str, str]:
    """Give the least environment in which this checkout's command runs, and these variables."""
    here = {"PYTHONPATH": str(REPOSITORY), "XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]}
    return {"PATH": os.defpath, **here, **variables}


@contextmanager
def start(*command: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process with its streams in pipes unless told otherwise; on leaving it is gone."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, **{"env": environment(), **pipes, **options}) as process:
        try:
            yield process
        finally:
            process.kill()


def finish(*command: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end with nothing on its standard input."""
    with start(*command, **{"stdin": subprocess.DEVNULL, **options}) as process:
        out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(command, process.returncode, out or b"", err or b"")


@dataclass(frozen=True)
class Result:
    """What one command said and gave back."""

    exit_code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Read standard output as the one JSON document that it must be."""
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document


Command = Callable[..., Result]


@pytest.fixture
def rivet(capsys: pytest.CaptureFixture[str]) -> Command:
    """Give a function that runs the command with arguments in this process, which keeps its signals."""

    def run(*arguments: str) -> Result:
        exit_code = run_command_line(arguments, Stop())
        told = capsys.readouterr()
        return Result(exit_code, told.out, told.err)

    return run


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Give settings whose password is known."""
    source = SourceSettings("postgres", host="db", user="rivet", password=Secret(PASSWORD))
    exports = [
        ExportSettings(f"$.exports[{i}]", name, LocalDestinationSettings(tmp_path / name, "{partition}"))
        for i, name in enumerate(("events", "orders"))
    ]
    return Settings(source, tuple(exports))


Stub = Callable[..., None]


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Give a function that replaces a module of Rivet by one with just the given members."""

    def put(name: str, **members: object) -> None:
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)

    return put


Ends = Callable[[RunOutcome | BaseException], list[dict[str, object]]]


@pytest.fixture
def ends(stub: Stub) -> Ends:
    """Give a function that makes every run end so; it gives the list of what runs were asked for."""

    def end(ending: RunOutcome | BaseException) -> list[dict[str, object]]:
        asked: list[dict[str, object]] = []

        def run(settings: Settings, *, listener: Listener, run_id: str, **options: object) -> RunOutcome:
            asked.append({"exports": [e.name for e in settings.exports], **options})
            listener(Event("started", "events", "reading shop"))
            listener(Event("warning", "events", "odd"))
            if isinstance(ending, BaseException):
                raise ending
            return replace(ending, run_id=run_id)

        stub("rivet.run", run=run)
        return asked

    return end


@pytest.fixture
def loaded(stub: Stub, settings: Settings) -> None:
    """Let every config load as these settings."""
    stub("rivet.config.load", load_settings=lambda _path, _environ, **_: settings)
