"""What an error means to the person at the command line: exit code, problems with their mends, traceback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from rivet import __version__
from rivet.cli import bugs
from rivet.cli.older_tool import OLDER_OPTIONS
from rivet.errors import ConfigError, Interrupted, Problem, RivetError
from rivet.report.errors import problems_of


@dataclass(frozen=True, slots=True)
class Explanation:
    """An error explained; `traceback` is empty unless the error is a bug."""

    exit_code: int
    problems: tuple[Problem, ...]
    traceback: Sequence[str] = ()


def explain(error: BaseException, secrets: Sequence[str] | None) -> Explanation:
    """Explain any error, without showing a secret."""
    if isinstance(error, click.ClickException):
        return Explanation(ConfigError.exit_code, (_usage_problem(error),))
    if isinstance(error, RivetError):
        return Explanation(error.exit_code, problems_of(error))
    if isinstance(error, KeyboardInterrupt):
        return Explanation(Interrupted.exit_code, (Problem("", "interrupted"),))
    problem = Problem(
        "",
        f"internal error: {bugs.message_of(error, secrets)}",
        f"this is a bug in rivet {__version__}: please report it, with the traceback above",
    )
    return Explanation(RivetError.exit_code, (problem,), bugs.traceback_lines(error, secrets))


def _usage_problem(error: click.ClickException) -> Problem:
    context = error.ctx if isinstance(error, click.UsageError) else None
    message, hint = error.format_message(), f"see {context.command_path if context else 'rivet'} --help"
    if isinstance(error, click.NoSuchOption) and error.option_name in OLDER_OPTIONS:
        message, hint = error.message, OLDER_OPTIONS[error.option_name]
    elif possible := getattr(error, "possibilities", None):  # near misses of an option or a command
        message, hint = error.message, f"did you mean {' or '.join(possible)}?"
    return Problem("", message[:1].lower() + message[1:].rstrip("."), hint)
