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

from rivet.lock.timing import Timing

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

    def continued(self) -> Ended:
        """Let the process go on wherever it stands still, and tell how it ended."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while (seen := self._state()) not in {None, "Z"}:
            assert time.monotonic() < end
            if seen == "T":  # one thread of it may have been about to stop it once more
                self.send(signal.SIGCONT)
            time.sleep(0.01)
        return self.ended()

    def ended(self) -> Ended:
        """Wait for the end, and tell how it was."""
        word = self._host.answer(last=True)
        return Ended(None if word == "killed" else int(word), self._errors.read_text())

    def _state(self) -> str | None:
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return None


class Host:
    """A process that forks runs, one at a time."""

    def __init__(self, process: subprocess.Popen[str], errors: Path) -> None:
        self._process = process
        self._errors = errors
        self._running: Run | None = None

    def begin(
        self, config: Path, *arguments: str, environ: Mapping[str, str], timing: Timing, **task: object
    ) -> Run:
        """Begin a run, which `task` lets stop, die or wait; one that a failed test has left is killed."""
        if self._running is not None:
            self._running.send(signal.SIGKILL)
            self._running.ended()
        self._errors.unlink(missing_ok=True)
        assert self._process.stdin is not None
        told = {
            "arguments": ["run", "--config", str(config), *arguments],
            "environ": dict(environ),
            "errors": str(self._errors),
            "timing": [timing.heartbeat_seconds, timing.stale_seconds],
            **task,
        }
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        self._running = Run(self, self._errors)
        return self._running

    def answer(self, *, last: bool = False) -> str:
        """Read one answer of the driver, the last one of a run or its first."""
        assert self._process.stdout is not None
        if last:
            self._running = None
        return self._process.stdout.readline().strip()


@contextmanager
def two_hosts(directory: Path) -> Iterator[tuple[Host, Host]]:
    """Give two hosts."""
    processes = []
    try:
        for name in ("db1", "db2"):
            command = [sys.executable, "-m", "tests.run.lock_driver", name]
            processes.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    start_new_session=True,
                )
            )
        first, second = (Host(p, directory / f"{p.pid}.err") for p in processes)
        yield first, second
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)  # its children too, stopped ones among them
            process.communicate()
