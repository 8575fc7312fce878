"""Runs the command in child processes of one pretended host, which stop, die or wait where they are told to.

Reads one JSON object per line: `arguments` of the command; `environ`, more variables; `errors`, the file for
its standard error; `timing`, the seconds between heartbeats and until a lock is stale; and, where given,
`at`, the number of a step of publishing, or 0 for the taking of the lock, where the child does `do`: `kill`
by SIGKILL, `block` until a file `gate` is there, or `stop` by SIGSTOP until that file is there and SIGCONT
comes. It answers each at once with the process id of the child and, when that has ended, with its exit code
or `killed`. Forking from one process that has everything imported makes each run cheap. The argument is the
name of the host.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import botocore.session

import tests.run.imported  # noqa: F401 - once, before the forks
from rivet.cli.main import main
from rivet.lock import object_lock
from rivet.lock.process import Process, this_process
from rivet.lock.timing import Timing
from rivet.lock.turn import Turn


def _pretend(host: str, timing: Timing) -> None:
    """Let this process be one of another host, whose locks nobody here can look behind."""

    def elsewhere() -> Process:
        mine = this_process()
        return Process(host, mine.pid, f"machine of {host}", mine.started)

    vars(object_lock).update(this_process=elsewhere, TIMING=timing)


def _before_step(number: int, act: Callable[[], object]) -> None:
    """Act before a step of the publishing, counted from 1; they come from several threads."""
    step, lock = Turn.step, threading.Lock()
    left = number

    def stepped(turn: Turn) -> None:
        nonlocal left
        with lock:
            left -= 1
            if left == 0:
                act()
        step(turn)

    Turn.step = stepped  # type: ignore[method-assign,assignment]


def _with_the_lock(act: Callable[[], object]) -> None:
    """Act when the lock is taken, and nothing else is done."""
    hold = Turn.hold

    def held(turn: Turn) -> None:
        hold(turn)
        act()

    Turn.hold = held  # type: ignore[method-assign,assignment]


def _wait_for(gate: Path) -> None:
    while not gate.exists():
        time.sleep(0.01)


def _stop_until(gate: Path) -> None:
    """Stand still with all threads; whoever else lets all processes of a machine go on does not end it."""
    while not gate.exists():
        os.kill(os.getpid(), signal.SIGSTOP)


def _run(task: dict[str, Any]) -> None:
    acts: dict[str, Callable[[], object]] = {
        "stop": lambda: _stop_until(Path(task["gate"])),
        "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "block": lambda: _wait_for(Path(task["gate"])),
    }
    if "at" in task:
        act = acts[task["do"]]
        _before_step(task["at"], act) if task["at"] else _with_the_lock(act)
    os.environ.update(task["environ"])
    heartbeat_seconds, stale_seconds = task["timing"]
    _pretend(sys.argv[1], Timing(heartbeat_seconds, stale_seconds, 0.05))
    descriptor = os.open(task["errors"], os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    os.dup2(descriptor, 2)
    sys.argv = ["rivet", *task["arguments"]]
    code = 1
    try:
        code = main()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _say(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    # The SDK's data files are read here, once.
    botocore.session.create_loader = functools.cache(botocore.session.create_loader)
    boto3.client("s3", region_name="us-east-1", aws_access_key_id="none", aws_secret_access_key="none")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _run(json.loads(line))
        _say(child)
        _, status = os.waitpid(child, 0)
        _say("killed" if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
