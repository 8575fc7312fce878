"""Which trees `rivet validate` looks at, and how each of them ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rivet.config.settings import ExportSettings, LocalDestinationSettings, Settings
from rivet.errors import ConfigError, IntegrityError, RivetError
from rivet.outcome import ValidateOutcome
from rivet.run import chosen_exports
from rivet.validate import Depth, open_prefix, validate


def validate_prefix(
    prefix: str, directory: Path, *, name: str | None, depth: Depth | None, strict: bool
) -> ValidateOutcome:
    """Validate a root or a partition; a relative prefix is a path from the directory.

    Raises:
        RivetError: The prefix cannot be read, so nothing can be said of it.
    """
    destination, path = open_prefix(prefix, directory)
    verdict = validate(destination, path, depth=depth, strict=strict)
    return ValidateOutcome(
        name, verdict.prefix, 0 if verdict.passed else IntegrityError.exit_code, verdict=verdict
    )


def validate_exports(
    settings: Settings,
    directory: Path,
    *,
    names: Sequence[str],
    prefix: str | None,
    depth: Depth | None,
    strict: bool,
) -> list[ValidateOutcome]:
    """Validate the roots of a config's exports, or one prefix under the root of one of them.

    Args:
        directory: The config's folder.
        names: Exports to look at; empty: all.

    Raises:
        ConfigError: A name is not in the config, or the prefix is under no root.
    """
    places = [(e, e.destination.label) for e in chosen_exports(settings, names)]
    if prefix is not None:
        places = [(e, prefix) for e, _ in places if _is_under(e, directory / prefix)]
        if not places:
            roots = ", ".join(repr(e.destination.label) for e in chosen_exports(settings, names))
            raise ConfigError(
                f"--prefix: {prefix!r} is under no root of the config: {roots}",
                hint="write it as a path from the config's folder, or leave --config out",
            )
    outcomes = []
    for export, place in places:
        try:
            outcome = validate_prefix(place, directory, name=export.name, depth=depth, strict=strict)
        except RivetError as exc:
            outcome = ValidateOutcome(export.name, place, exc.exit_code, error=str(exc), hint=exc.hint)
        outcomes.append(outcome)
    return outcomes


def _is_under(export: ExportSettings, path: Path) -> bool:
    if not isinstance(export.destination, LocalDestinationSettings):
        return False
    return Path(os.path.normpath(path)).is_relative_to(os.path.normpath(export.destination.root))
