"""Delivers how a command ended: the JSON document to its file and to stdout, words to stderr."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import zip_longest

from rivet.cli import streams
from rivet.cli.lines import LineListener
from rivet.cli.summary_file import SummaryFile
from rivet.clock import utc_now
from rivet.errors import RivetError
from rivet.events import Event, Listener
from rivet.outcome import worst_exit_code
from rivet.report.document import Document, failed_too
from rivet.report.errors import error_lines, problems_of
from rivet.report.progress import ending_document


def unheard(_event: Event) -> None:
    """Let an event pass, where the outcome tells it all."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended.

    Attributes:
        document: None where the command has no outcome to tell, such as `schema`.
        lines: The results for people.
        errors: What went wrong, for people; told with `--quiet` too.
    """

    exit_code: int
    document: Document | None = None
    lines: Sequence[str] = ()
    errors: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Delivery:
    """How the command line asks to be told.

    It is read from the raw arguments: where click refuses some of them, the refusal itself must be told
    in the way that the others ask for. Click only checks and documents these options.
    """

    json: bool = False
    quiet: bool = False
    json_lines: bool = False
    summary_file: SummaryFile | None = None

    @classmethod
    def asked_for(cls, arguments: Sequence[str]) -> Delivery:
        """Read `--json`, `--quiet`, `--log-format` and `--summary-file` from the arguments."""
        summary_file = value_of("--summary-file", arguments)
        return cls(
            json="--json" in arguments,
            quiet="--quiet" in arguments,
            json_lines=value_of("--log-format", arguments) == "json",
            summary_file=None if summary_file is None else SummaryFile(summary_file),
        )

    def listener(self, run_id: str) -> AbstractContextManager[Listener]:
        """Give what prints the events of a run while it is under way."""
        if self.quiet:
            return nullcontext(unheard)
        if self.json_lines or not streams.is_terminal():
            return nullcontext(LineListener(run_id, as_json=self.json_lines))
        from rivet.cli.bars import Bars

        return Bars()

    def deliver(self, ending: Ending) -> int:
        """Tell how the command ended and give the exit code, worse where the telling itself failed."""
        for write in (self._write_summary_file, self._write_output):
            try:
                write(ending.document)
            except RivetError as exc:
                ending = _worsened(ending, exc)
        self._say(ending)
        return ending.exit_code

    def _write_summary_file(self, document: Document | None) -> None:
        if self.summary_file is not None and document is not None:
            self.summary_file.write(streams.to_json(document))

    def _write_output(self, document: Document | None) -> None:
        if self.json and document is not None:
            streams.write_output(streams.to_json(document))

    def _say(self, ending: Ending) -> None:
        lines = [*(() if self.quiet else ending.lines), *ending.errors]
        if not self.json_lines:
            for line in lines:
                streams.say(line)
        elif ending.document is not None and (ending.exit_code or not self.quiet):
            streams.say_json(ending_document(ending.document, "\n".join(lines), time=utc_now()))


def _worsened(ending: Ending, error: RivetError) -> Ending:
    exit_code = worst_exit_code([ending.exit_code, error.exit_code])
    problems = problems_of(error)
    return replace(
        ending,
        exit_code=exit_code,
        document=ending.document and failed_too(ending.document, exit_code, problems),
        errors=(*ending.errors, *error_lines(problems)),
    )


def value_of(option: str, arguments: Sequence[str]) -> str | None:
    """Read the value of an option from raw arguments, the last one where it stands twice."""
    value = None
    for argument, following in zip_longest(arguments, arguments[1:]):
        if argument == option:
            value = following
        elif argument.startswith(option + "="):
            value = argument.removeprefix(option + "=")
    return value
