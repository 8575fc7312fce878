"""Which trees `rivet validate` looks at, and how each of them ended."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from rivet.clock import Clock, utc_now
from rivet.config.settings import DestinationSettings, ExportSettings, Settings
from rivet.destination.opening import open_destination
from rivet.errors import ConfigError, IntegrityError, RivetError
from rivet.manifest.claimed import Claimed
from rivet.outcome import ValidateOutcome, worst_exit_code
from rivet.validate import Depth, place_of, place_under, validate_claimed


def validate_prefix(prefix: str, directory: Path, *, depth: Depth | None, strict: bool) -> ValidateOutcome:
    """Validate a root or a partition; a relative prefix is a path from the directory.

    Raises:
        RivetError: The prefix cannot be read, so nothing can be said of it.
    """
    return _validated(None, place_of(prefix, directory), depth=depth, strict=strict)[0]


def validate_exports(
    settings: Settings,
    directory: Path,
    *,
    names: Sequence[str],
    prefix: str | None,
    depth: Depth | None,
    strict: bool,
    compared: bool = False,
    clock: Clock = utc_now,
) -> list[ValidateOutcome]:
    """Validate the roots of a config's exports, or one prefix under the root of one of them.

    Args:
        directory: The config's folder.
        names: Exports to look at; empty: all.
        compared: Count the rows at the source, too, once a tree was looked at, and compare them.

    Raises:
        ConfigError: A name is not in the config, or the prefix is under no root.
    """
    from rivet.run import chosen_exports  # with all that a run needs, and a prefix alone does not

    exports = chosen_exports(settings, names)
    places = [(e, e.destination) for e in exports]
    if prefix is not None:
        under = [(e, place_under(e.destination, prefix, directory)) for e in exports]
        places = [(e, place) for e, place in under if place is not None]
    if not places:
        roots = ", ".join(repr(e.destination.label) for e in exports)
        raise ConfigError(
            f"--prefix: {prefix!r} is under no root of the config: {roots}",
            hint="write a key in its bucket or a path from the config's folder, or leave --config out",
        )
    outcomes = []
    for export, place in places:
        try:
            outcome, claimed = _validated(export.name, place, depth=depth, strict=strict)
            if compared and claimed is not None:
                outcome = _compared(settings, export, outcome, claimed, clock)
        except RivetError as exc:
            outcome = ValidateOutcome(export.name, place.label, exc.exit_code, error=str(exc), hint=exc.hint)
        outcomes.append(outcome)
    return outcomes


def _validated(
    name: str | None, place: DestinationSettings, *, depth: Depth | None, strict: bool
) -> tuple[ValidateOutcome, Claimed | None]:
    with closing(open_destination(place)) as destination:
        verdict, claimed = validate_claimed(destination, depth=depth, strict=strict)
    exit_code = 0 if verdict.passed else IntegrityError.exit_code
    return ValidateOutcome(name, verdict.prefix, exit_code, verdict=verdict), claimed


def _compared(
    settings: Settings, export: ExportSettings, outcome: ValidateOutcome, claimed: Claimed, clock: Clock
) -> ValidateOutcome:
    """Add to the outcome of a tree what the source says of it; a source that fails hides no verdict."""
    from rivet.comparing import compare
    from rivet.source.opening import open_source

    try:
        comparison = compare(
            open_source(settings.source),
            export,
            claimed,
            outcome.destination,
            consistency=settings.source.consistency,
            clock=clock,
        )
    except RivetError as exc:
        exit_code = worst_exit_code([outcome.exit_code, exc.exit_code])
        return replace(outcome, exit_code=exit_code, error=str(exc), hint=exc.hint)
    codes = [outcome.exit_code, 0 if comparison.passed else IntegrityError.exit_code]
    return replace(outcome, exit_code=worst_exit_code(codes), comparison=comparison)
