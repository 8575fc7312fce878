"""The command as a process of its own whose runs do what the first argument names."""

from __future__ import annotations

import logging
import os
import signal
import sys
import warnings
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
    """Wait for a signal; then stop in order, telling each further signal, until a line comes in."""
    del listener, run_id
    try:
        told("running")
        while True:
            signal.pause()
    finally:
        woken, waking = os.pipe()
        os.set_blocking(waking, False)
        signal.set_wakeup_fd(waking)
        told("stopping")
        while os.environ.get("STUBBORN"):
            os.read(woken, 1)
            told("again")
        sys.stdin.readline()


def crash(listener: Listener, run_id: str) -> RunOutcome:
    """Meet a bug."""
    del listener, run_id
    password = SETTINGS.source.password
    assert password is not None
    raise ValueError("cannot log in with " + password.reveal())


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
    return succeed(listener, run_id)


def run(settings: Settings, *, listener: Listener, run_id: str, **_: object) -> RunOutcome:
    """Run the scenario that the command line names."""
    del settings
    return {"succeed": succeed, "wait": wait, "crash": crash, "hide": hide, "grumble": grumble}[SCENARIO](
        listener, run_id
    )


for name, members in (
    ("rivet.config.load", {"load_settings": lambda _path, _environ: SETTINGS}),
    ("rivet.run", {"run": run}),
):
    sys.modules[name] = ModuleType(name)
    vars(sys.modules[name]).update(members)

if __name__ == "__main__":
    SCENARIO = sys.argv.pop(1)
    sys.exit(main())
