"""The command as a process of its own whose runs do what the first argument names."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import sys
import threading
import warnings
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from rivet.cli.main import main
from rivet.config.settings import ExportSettings, LocalDestinationSettings, Secret, Settings, SourceSettings
from rivet.events import Event, Listener
from rivet.outcome import ExportOutcome, RunOutcome

NAME = "créé\udcff"
EXPORT = ExportSettings("$.exports[0]", NAME, LocalDestinationSettings(Path("/out"), ""))
SETTINGS = Settings(SourceSettings("postgres", password=Secret("s3cret-word")), (EXPORT,))


def told(line: str) -> None:
    """Tell the test, on a pipe of its own, how far the run is."""
    os.write(int(os.environ["TOLD"]), line.encode() + b"\n")


def succeed(listener: Listener, run_id: str) -> RunOutcome:
    """End well."""
    listener(Event("started", NAME, "reading shop"))
    listener(Event("progress", NAME, "", {"rows": 5, "of": 10}))
    listener(Event("warning", NAME, "odd \x1b[2J"))
    listener(Event("finished", NAME, "done"))
    return RunOutcome(run_id, "a", "b", (ExportOutcome(NAME, "complete", 0, "/out", rows=10),))


def wait(listener: Listener, run_id: str) -> RunOutcome:
    """Wait for a signal; then stop in order as soon as a line comes in."""
    del listener, run_id
    try:
        told("running")
        while True:
            signal.pause()
    finally:
        told("stopping")
        sys.stdin.readline()


class Dying:
    """Waits in its finaliser, which no exception leaves, for a signal."""

    def __del__(self) -> None:
        told("running")
        signal.pause()


def lose(listener: Listener, run_id: str) -> RunOutcome:
    """Meet the signal where its exception is lost; then wait to be stopped."""
    del listener, run_id
    Dying()
    try:
        while True:
            signal.pause()
    finally:
        told("stopping")
        sys.stdin.readline()


def sink(listener: Listener, run_id: str) -> RunOutcome:
    """Stay in C code that no Python handler of a signal can reach."""
    del listener, run_id
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    connection = sqlite3.connect(":memory:")
    with suppress(KeyboardInterrupt):  # the first signal may come before the C code is entered
        told("running")
        connection.execute(endless).fetchall()
    connection.execute(endless).fetchall()
    raise AssertionError


def crash(listener: Listener, run_id: str) -> RunOutcome:
    """Meet a bug."""
    del listener, run_id
    password = SETTINGS.source.password
    assert password is not None
    raise ValueError("cannot log in with " + password.reveal())


def orphan(listener: Listener, run_id: str) -> RunOutcome:
    """Meet a bug on a thread that nobody asks how it ended, and go on."""
    thread = threading.Thread(target=crash, args=(listener, run_id))
    thread.start()
    thread.join()
    return succeed(listener, run_id)


class Failing:
    """Meets a bug in its finaliser."""

    def __del__(self) -> None:
        crash(lambda _: None, "")


def drop(listener: Listener, run_id: str) -> RunOutcome:
    """Meet a bug where no error leaves."""
    Failing()
    return succeed(listener, run_id)


def hide(listener: Listener, run_id: str) -> RunOutcome:
    """Write to standard error what a library might, with a file of the run's own open."""
    with Path(os.environ["PART"]).open("wb", buffering=0) as part:
        os.write(2, b"noise of a library\n")
        part.write(b"rows")
    return succeed(listener, run_id)


def grumble(listener: Listener, run_id: str) -> RunOutcome:
    """Have libraries warn and log, with a secret in it."""
    password = SETTINGS.source.password
    assert password is not None
    warnings.warn("deprecated", stacklevel=1)
    failure = ValueError(password.reveal())
    logging.getLogger("some.pool").error("reset failed\nfor %s", password.reveal(), exc_info=failure)
    logging.getLogger("some.pool").warning("%d tries", "many")
    return succeed(listener, run_id)


def run(settings: Settings, *, listener: Listener, run_id: str, **_: object) -> RunOutcome:
    """Run the scenario that the command line names."""
    del settings
    scenarios = (succeed, wait, lose, sink, crash, orphan, drop, hide, grumble)
    return next(s for s in scenarios if s.__name__ == SCENARIO)(listener, run_id)


if __name__ == "__main__":
    for name, members in (
        ("rivet.config.load", {"load_settings": lambda _path, _environ, **_: SETTINGS}),
        ("rivet.run", {"run": run}),
    ):
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name]).update(members)
    SCENARIO = sys.argv.pop(1)
    sys.exit(main())
