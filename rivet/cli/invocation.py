"""One command line under way: what it is, how it asks to be told, and what must not be printed."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rivet import TOOL
from rivet.cli import bugs
from rivet.cli.delivery import Delivery, Ending, unheard
from rivet.cli.explanation import explain
from rivet.errors import ConfigError, Problem
from rivet.events import Listener
from rivet.report.document import Document, document
from rivet.report.errors import error_lines

if TYPE_CHECKING:
    from rivet.config.settings import Settings


@dataclass(slots=True)
class Invocation:
    """A command line under way.

    Attributes:
        secrets: The config's secrets; None until it is known which there are.
        run_id: Of `run`, from the moment it begins.
        listener: Hears what happens while the command is under way.
    """

    command: str | None
    dry_run: bool
    delivery: Delivery
    secrets: Sequence[str] | None = field(default=None, repr=False)
    run_id: str | None = None
    listener: Listener = unheard

    @classmethod
    def of(cls, arguments: Sequence[str], commands: Collection[str]) -> Invocation:
        """Begin with the raw arguments, before click has accepted any of them."""
        command = next((a for a in arguments if a in commands), None)
        return cls(command, "--dry-run" in arguments, Delivery.asked_for(arguments))

    def load(self, config: Path, exports: Sequence[str]) -> Settings:
        """Load the config for the exports that are asked for, and know its secrets from here on."""
        from rivet.config.load import load_settings
        from rivet.config.settings import LocalDestinationSettings

        settings = load_settings(config, os.environ, chosen=exports)
        self.secrets = bugs.secrets_of(settings)
        database = settings.source.path
        self.check_summary_file(
            outside=[
                d.root for e in settings.exports if isinstance(d := e.destination, LocalDestinationSettings)
            ],
            unlike=[] if database is None else [database],
        )
        return settings

    def check_summary_file(self, *, outside: Iterable[Path] = (), unlike: Iterable[Path] = ()) -> None:
        """Refuse a summary file that cannot or must not be written; the refusal is not written to it.

        Raises:
            ConfigError: See `SummaryFile.check`.
        """
        if self.delivery.summary_file is not None:
            try:
                self.delivery.summary_file.check(outside=outside, unlike=unlike)
            except ConfigError:
                self.delivery = replace(self.delivery, summary_file=None)
                raise

    def document(
        self,
        exit_code: int,
        exports: Sequence[Document] = (),
        *,
        problems: Sequence[Problem] = (),
        warnings: Sequence[str] = (),
        started_at: str | None = None,
        finished_at: str | None = None,
    ) -> Document:
        """Build this command's document."""
        return document(
            self.command,
            exit_code,
            exports,
            tool=TOOL,
            dry_run=self.dry_run,
            run_id=self.run_id,
            started_at=started_at,
            finished_at=finished_at,
            problems=problems,
            warnings=warnings,
        )

    def failure(self, error: BaseException) -> Ending:
        """End by an error that left no outcome of any export."""
        told = explain(error, self.secrets)
        return Ending(
            told.exit_code,
            self.document(told.exit_code, problems=told.problems),
            errors=(*told.traceback, *error_lines(told.problems)),
        )
