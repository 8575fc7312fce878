"""Runs a config again and again in child processes, each signalled at a later change of the destination.

Reads the number of the change and the name of the signal from standard input, a line each, and answers
`killed` or the exit code of a run that made fewer changes or ended in order. Forking from one process that
has everything imported makes each run cheap.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import tests.run.imported  # noqa: F401 - once, before the forks
from rivet.cli.main import main
from rivet.destination.local import LocalDestination, LocalStaged

CHANGES = [
    (LocalDestination, "put"),
    (LocalDestination, "create"),
    (LocalDestination, "replace"),
    (LocalDestination, "remove"),
    (LocalDestination, "delete"),
    (LocalDestination, "settle"),
    (LocalDestination, "sweep"),
    (LocalDestination, "remove_root_if_empty"),
    (LocalDestination, "note"),
    (LocalDestination, "take_over"),
    (LocalStaged, "finish"),
    (LocalStaged, "publish"),
]


def _signalling(method: Callable[..., Any], left: list[int], number: signal.Signals) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] == -1:
            os.kill(os.getpid(), number)
        return method(*args, **kwargs)

    return wrapped


def _run_signalled_at(change: int, number: signal.Signals) -> str:
    child = os.fork()
    if child == 0:
        left = [change]
        for owner, name in CHANGES:
            setattr(owner, name, _signalling(getattr(owner, name), left, number))
        code = 1
        try:
            code = main()
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return "killed" if os.WIFSIGNALED(status) else str(os.WEXITSTATUS(status))


if __name__ == "__main__":
    for line in sys.stdin:
        place, name = line.split()
        sys.stdout.write(_run_signalled_at(int(place), signal.Signals[name]) + "\n")
        sys.stdout.flush()
