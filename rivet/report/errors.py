"""Errors as problems, and problems as `Error:` and `Hint:` lines.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet.errors import ConfigError, Problem
from rivet.report.wording import one_line


def problems_of(error: BaseException) -> tuple[Problem, ...]:
    """Take an error apart into problems; one that is not about a place in the config has an empty path."""
    if isinstance(error, ConfigError) and error.problems:
        return error.problems
    message = "; ".join([str(error), *getattr(error, "__notes__", ())])
    return (Problem("", message, getattr(error, "hint", None)),)


def error_lines(problems: Sequence[Problem]) -> list[str]:
    """Write each problem as an `Error:` line, and a `Hint:` line where there is a mend.

    >>> error_lines([Problem("$.exports[0]", "no 'name'", "name it")])
    ["Error: $.exports[0]: no 'name'", 'Hint: name it']
    """
    lines: list[str] = []
    for problem in problems:
        lines.append("Error: " + one_line(str(problem) if problem.path else problem.message))
        if problem.hint:
            lines.append("Hint: " + one_line(problem.hint))
    return lines
