"""The command's entry: from arguments to an exit code, whatever happens on the way."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import click

from rivet.cli import streams
from rivet.cli.commands import rivet
from rivet.cli.compact import compact_command
from rivet.cli.delivery import Ending, value_of
from rivet.cli.invocation import Invocation
from rivet.cli.libraries import libraries_heard
from rivet.cli.lost_errors import LostErrors
from rivet.cli.signals import Stop

rivet.add_command(compact_command)


def main() -> int:
    """Run the command of this process, and give its exit code."""
    streams.hold_standard_descriptors()
    # NumPy's library for matrices, of which nothing here makes use, would start threads that wait busily.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Else Pydantic looks through all that is installed for plugins, and lets them see what a config holds.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Arrow chooses as it is loaded what its Parquet writer takes memory from; see rivet.export.memory.
    if sys.platform == "linux":
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
    stop = Stop()
    stop.install()
    lost = LostErrors()
    lost.install()
    return run_command_line(sys.argv[1:], stop, lost)


def run_command_line(arguments: Sequence[str], stop: Stop, lost: LostErrors | None = None) -> int:
    """Run one command, tell how it ended, and give the exit code."""
    invocation = Invocation.of(arguments, rivet.commands)
    try:
        ending = _run(arguments, invocation)
        stop.settle()
    except BaseException as exc:  # noqa: BLE001 - every ending is told, bugs too
        stop.settle()
        ending = invocation.failure(exc)
    if lost is not None:
        ending = lost.told_with(ending, invocation.secrets)
    # CPython ends a module by SIGINT, whatever its code, where an interrupt has left the running of text,
    # as of the methods that dataclasses write on import. It forgets that when it runs some again.
    exec("")  # noqa: S102
    return invocation.delivery.deliver(ending)


def _run(arguments: Sequence[str], invocation: Invocation) -> Ending:
    config = value_of("--config", arguments)
    invocation.check_summary_file(unlike=[] if config is None else [Path(config)])
    try:
        # click empties the list that it parses
        with (
            libraries_heard(invocation),
            rivet.make_context("rivet", [*arguments], obj=invocation) as context,
        ):
            return cast("Ending", rivet.invoke(context))
    except click.exceptions.Exit as exc:  # after --help and --version
        return Ending(exc.exit_code)
    except BrokenPipeError:
        if "--help" not in arguments and "--version" not in arguments:
            raise
        streams.abandon(sys.stdout)
        return Ending(0)
