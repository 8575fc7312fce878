"""Two hosts, each of which runs the command in processes of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_PATIENCE_SECONDS = 120.0


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    Attributes:
        code: The exit code; None where a signal ended it.
        errors: What it said.
    """

    code: int | None
    errors: str


class Run:
    """A process that runs the command."""

    def __init__(self, host: Host, errors: Path) -> None:
        self._host = host
        self._errors = errors
        self.pid = int(host.answer())

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if the process still lives."""
        if self._state() not in {None, "Z"}:
            os.kill(self.pid, number)

    def await_state(self, state: str) -> None:
        """Wait until the process stands still (`T`) or has ended (`Z` or gone)."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while (seen := self._state()) != state:
            assert seen not in {None, "Z"}, f"it ended before it came to {state}: {self._errors.read_text()}"
            assert time.monotonic() < end
            time.sleep(0.01)

    def await_text(self, text: str) -> None:
        """Wait until the process has said something."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while not (self._errors.exists() and text in self._errors.read_text()):
            assert self._state() not in {None, "Z"}
            assert time.monotonic() < end
            time.sleep(0.01)

    def ended(self) -> Ended:
        """Wait for the end, and tell how it was."""
        word = self._host.answer()
        return Ended(None if word == "killed" else int(word), self._errors.read_text())

    def _state(self) -> str | None:
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return None


class Host:
    """A process that forks runs, one at a time."""

    def __init__(self, process: subprocess.Popen[str], directory: Path, name: str) -> None:
        self._process = process
        self._errors = directory / f"{name}.err"

    def begin(self, config: Path, *arguments: str, **task: object) -> Run:
        """Begin a run; `task` says where it stops, dies or waits."""
        self._errors.unlink(missing_ok=True)
        assert self._process.stdin is not None
        told = {
            "arguments": ["run", "--config", str(config), *arguments],
            "errors": str(self._errors),
            **task,
        }
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        return Run(self, self._errors)

    def answer(self) -> str:
        """Read one answer of the driver."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def two_hosts(
    directory: Path, *, heartbeat_seconds: float, stale_seconds: float, environ: Mapping[str, str]
) -> Iterator[tuple[Host, Host]]:
    """Give two hosts whose locks go stale soon."""
    processes = []
    try:
        for name in ("db1", "db2"):
            command = [sys.executable, "-m", "tests.run.lock_driver", name]
            processes.append(
                subprocess.Popen(
                    [*command, str(heartbeat_seconds), str(stale_seconds)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env={**os.environ, **environ},
                    start_new_session=True,
                )
            )
        first, second = (Host(p, directory, n) for p, n in zip(processes, ("db1", "db2"), strict=True))
        yield first, second
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)  # its children too, stopped ones among them
            process.communicate()
