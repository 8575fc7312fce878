"""Which trees `rivet validate` looks at, and how each of them ended."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from rivet.config.settings import DestinationSettings, Settings
from rivet.destination.opening import open_destination
from rivet.errors import ConfigError, IntegrityError, RivetError
from rivet.outcome import ValidateOutcome
from rivet.run import chosen_exports
from rivet.validate import Depth, place_of, place_under, validate


def validate_prefix(prefix: str, directory: Path, *, depth: Depth | None, strict: bool) -> ValidateOutcome:
    """Validate a root or a partition; a relative prefix is a path from the directory.

    Raises:
        RivetError: The prefix cannot be read, so nothing can be said of it.
    """
    return _validated(None, place_of(prefix, directory), depth=depth, strict=strict)


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
    exports = chosen_exports(settings, names)
    places = [(e.name, e.destination) for e in exports]
    if prefix is not None:
        under = [(e.name, place_under(e.destination, prefix, directory)) for e in exports]
        places = [(name, place) for name, place in under if place is not None]
    if not places:
        roots = ", ".join(repr(e.destination.label) for e in exports)
        raise ConfigError(
            f"--prefix: {prefix!r} is under no root of the config: {roots}",
            hint="write a key in its bucket or a path from the config's folder, or leave --config out",
        )
    outcomes = []
    for name, place in places:
        try:
            outcome = _validated(name, place, depth=depth, strict=strict)
        except RivetError as exc:
            outcome = ValidateOutcome(name, place.label, exc.exit_code, error=str(exc), hint=exc.hint)
        outcomes.append(outcome)
    return outcomes


def _validated(
    name: str | None, place: DestinationSettings, *, depth: Depth | None, strict: bool
) -> ValidateOutcome:
    with closing(open_destination(place)) as destination:
        verdict = validate(destination, depth=depth, strict=strict)
    return ValidateOutcome(
        name, verdict.prefix, 0 if verdict.passed else IntegrityError.exit_code, verdict=verdict
    )
