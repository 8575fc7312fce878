"""Errors that no caller takes: those that end a thread, and those of finalisers and callbacks.

Left alone, Python prints them on standard error, secrets and all, and the command goes on as if nothing were.
What a run waits for brings its errors itself; this is for the bug that ends a thread all the same.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rivet.cli import bugs
from rivet.cli.delivery import Ending
from rivet.cli.explanation import explain
from rivet.outcome import worst_exit_code
from rivet.report.document import failed_too
from rivet.report.errors import error_lines

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


class LostErrors:
    """Collects them, once `install` was called, and tells them with the ending."""

    def __init__(self) -> None:
        self._of_threads: list[BaseException] = []
        self._unraisable: list[BaseException] = []
        self._interrupts = sys.unraisablehook

    def install(self) -> None:
        """Take over the hooks of the process; interrupts go on to the one that was there."""
        self._interrupts = sys.unraisablehook
        threading.excepthook = self._hear_thread
        sys.unraisablehook = self._hear_unraisable

    def told_with(self, ending: Ending, secrets: Sequence[str] | None) -> Ending:
        """Fail an ending where a thread has died; what a finaliser raised is told, and fails nothing."""
        for error in tuple(self._of_threads):
            lost = RuntimeError("a thread has died")
            lost.__cause__ = error
            told = explain(lost, secrets)
            exit_code = worst_exit_code([ending.exit_code, told.exit_code])
            ending = replace(
                ending,
                exit_code=exit_code,
                document=ending.document and failed_too(ending.document, exit_code, told.problems),
                errors=(*ending.errors, *told.traceback, *error_lines(told.problems)),
            )
        for error in tuple(self._unraisable):
            lines = bugs.traceback_lines(error, secrets)
            ending = replace(ending, errors=(*ending.errors, "in a finaliser or a callback:", *lines))
        return ending

    def _hear_thread(self, died: threading.ExceptHookArgs) -> None:
        if died.exc_value is not None and not isinstance(died.exc_value, SystemExit):
            self._of_threads.append(died.exc_value)

    def _hear_unraisable(self, unraisable: UnraisableHookArgs) -> None:
        if unraisable.exc_value is None or isinstance(unraisable.exc_value, KeyboardInterrupt):
            self._interrupts(unraisable)
        else:
            self._unraisable.append(unraisable.exc_value)
