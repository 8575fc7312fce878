"""Shows the events of a run on a terminal: one progress bar per export, warnings above them."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import IO, Self, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from rivet.cli import streams
from rivet.events import Event
from rivet.report.progress import event_text, level_of
from rivet.report.wording import one_line


class Bars:
    """A context in which events move progress bars; it is itself the listener."""

    def __init__(self) -> None:
        # No name or message is ever read as rich's markup, and none is coloured by its content.
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[state]}", markup=False),
            TimeElapsedColumn(),
            console=Console(file=cast("IO[str]", _Lenient()), markup=False, highlight=False, emoji=False),
            refresh_per_second=5,
            redirect_stdout=False,
            redirect_stderr=False,
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Show an event."""
        if event.kind in ("warning", "failed"):
            name = f"{event.export}: " if event.export is not None else ""
            line = one_line(f"{name}{level_of(event)}: {event_text(event)}")
            self._progress.console.print(Text(line), soft_wrap=True)
        if event.export is None:
            return
        task = self._task(event.export)
        if event.kind == "progress":
            self._progress.update(
                task,
                completed=cast("int", event.facts["rows"]),
                total=cast("int | None", event.facts.get("of")),
                state=event_text(event),
            )
        elif event.kind in ("finished", "failed"):
            self._progress.update(task, state=event.kind)
            self._progress.stop_task(task)

    def _task(self, export: str) -> TaskID:
        if export not in self._tasks:
            self._tasks[export] = self._progress.add_task(one_line(export), total=None, state="")
        return self._tasks[export]


class _Lenient:
    """Standard error as a file that takes everything: a terminal that is gone never ends a run."""

    @property
    def encoding(self) -> str:
        return sys.stderr.encoding

    def write(self, text: str) -> int:
        try:
            return sys.stderr.write(text)
        except OSError:
            streams.abandon(sys.stderr)
            return len(text)

    def flush(self) -> None:
        try:
            sys.stderr.flush()
        except OSError:
            streams.abandon(sys.stderr)

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return sys.stderr.fileno()
