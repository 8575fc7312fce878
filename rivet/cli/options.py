"""Options that several commands take, or that say how a run is told."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Command = Callable[..., Any]

CONFIG = click.option(
    "--config", metavar="C", required=True, type=click.Path(path_type=Path), help="The config, a YAML file."
)
EXPORTS = click.option(
    "--export", "exports", metavar="N", multiple=True, help="Only the export of this name; repeatable."
)
# How to tell the outcome is read from the raw arguments (see Delivery); click checks and documents it.
JSON = click.option(
    "--json", is_flag=True, expose_value=False, help="Print one JSON document to standard output."
)
WAIT = click.option(
    "--wait",
    metavar="SECONDS",
    type=click.IntRange(min=0),
    default=0,
    help="How long to wait for another run that is at work on an export (default: not at all).",
)
_WINDOWS = (
    click.option(
        "--since",
        metavar="DATE",
        help="Read only windows from this date on, in partition_timezone; the others stay as they are.",
    ),
    click.option("--until", metavar="DATE", help="Read only windows that end at this date or before."),
    click.option(
        "--partition",
        "partitions",
        metavar="LABEL",
        multiple=True,
        help="Read only the window of this label, or NULL; repeatable.",
    ),
)
_TELLING = (
    JSON,
    click.option(
        "--summary-file",
        metavar="F",
        expose_value=False,
        help="Write the JSON document to this file too, at every ending.",
    ),
    click.option("--quiet", is_flag=True, expose_value=False, help="Say nothing on success."),
    click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        expose_value=False,
        help="Lines for people, or one JSON object per line, on standard error.",
    ),
)


def windows(command: Command) -> Command:
    """Give a command the options that select windows, which it takes together as `asked`."""

    @functools.wraps(command)
    def asking(
        *args: Any, since: str | None, until: str | None, partitions: tuple[str, ...], **others: Any
    ) -> Any:
        from rivet.config.read_settings import AskedWindows

        return command(*args, asked=AskedWindows(since, until, partitions), **others)

    return _with(asking, _WINDOWS)


def telling(command: Command) -> Command:
    """Give a command the options that say how a run is told."""
    return _with(command, _TELLING)


def _with(command: Command, options: tuple[Callable[[Command], Command], ...]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command
