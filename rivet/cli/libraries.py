"""What libraries log and warn of on their own becomes events, so that no log line is ill-formed or leaks."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rivet.cli import bugs
from rivet.cli.invocation import Invocation
from rivet.events import Event


@contextmanager
def libraries_heard(invocation: Invocation) -> Iterator[None]:
    """Send warnings and log records of libraries to the invocation's listener, without secrets.

    Left alone, they print on standard error whatever the command's log format is, tracebacks included.
    """
    handler = _Handler(invocation)
    logging.getLogger().addHandler(handler)
    logging.captureWarnings(capture=True)
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        logging.getLogger().removeHandler(handler)


class _Handler(logging.Handler):
    def __init__(self, invocation: Invocation) -> None:
        super().__init__(logging.WARNING)
        self._invocation = invocation

    def emit(self, record: logging.LogRecord) -> None:
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 - a library's slip in a log line must not end the run
            message = str(record.msg)
        text = f"{record.name}: {message}"
        if record.exc_info and record.exc_info[1] is not None:
            text += f": {record.exc_info[1]!r}"
        self._invocation.listener(Event("warning", None, bugs.masked(text, self._invocation.secrets or ())))
