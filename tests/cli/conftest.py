"""The command in this process, with stubs in place of what it composes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rivet.cli.main import main
from rivet.config.settings import (
    ExportSettings,
    LocalDestinationSettings,
    Secret,
    Settings,
    SourceSettings,
)

PASSWORD = "p@ss/w?rd#1% 'é"


REPOSITORY = Path(__file__).parents[2]
REAL = (sys.executable, "-m", "rivet")
STUBBED = (sys.executable, str(Path(__file__).with_name("stub_program.py")))


def environment(**variables: str) -> dict[str, str]:
    """Give the least environment in which this checkout's command runs, and these variables."""
    return {"PATH": os.defpath, "PYTHONPATH": str(REPOSITORY)} | variables


def start(*command: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start a process of its own, with its streams in pipes unless told otherwise."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command, **{"env": environment(), **pipes, **options})


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
def rivet(capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """Give a function that runs the command with arguments in this process."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def run(*arguments: str) -> Result:
        exit_code = main(arguments)
        told = capsys.readouterr()
        return Result(exit_code, told.out, told.err)

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


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

    def replace(name: str, **members: object) -> None:
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)

    return replace


@pytest.fixture(autouse=True)
def loaded(stub: Stub, settings: Settings) -> None:
    """Let every config load as these settings."""
    stub("rivet.config.load", load_settings=lambda _path, _environ: settings)
