"""Where the history of runs is kept, resolved into how to connect to it. Reads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rivet.config.check import checked
from rivet.config.edges import State
from rivet.config.environment import variable
from rivet.config.place import Place, shown
from rivet.config.settings import SourceSettings, StateSettings
from rivet.config.source import settings_of, tls_settings
from rivet.config.url import UrlError, parse_url
from rivet.errors import Problem

_HINT = "write `state: {url_env: NAME}` or `state: off`, or leave it out"
_URLS = ("url", "url_file")


def state_settings(
    value: object, directory: Path, environ: Mapping[str, str]
) -> tuple[StateSettings, list[Problem]]:
    """Resolve what stands under `state`.

    Args:
        directory: The config's folder, from which relative paths are meant.
    """
    if value is None:
        return StateSettings(), []
    if value == "off" or value is False:  # what `off` means to other readers of YAML
        return StateSettings(kept=False), []
    if not isinstance(value, Mapping):
        return StateSettings(), [
            Problem("$.state", f"found {shown(value)}, expected off or a mapping", _HINT)
        ]
    place = Place("$.state", {key: inner for key, inner in value.items() if key not in _URLS})
    state, problems = checked(State, place, environ)
    problems += [Problem(place.at(key), "has no place here", _HINT) for key in _URLS if key in value]
    if not place.states("url_env"):
        problems.append(place.problem(("url_env",), "is missing", _HINT))
    if state.url_env is None or problems:
        return StateSettings(), problems
    database, problems = _database(state.url_env, state, place, directory, environ)
    return StateSettings(database=database), problems


def _database(
    name: str, state: State, place: Place, directory: Path, environ: Mapping[str, str]
) -> tuple[SourceSettings | None, list[Problem]]:
    text, problem = variable(name, place.at("url_env"), environ)
    if problem is not None:
        return None, [problem]
    try:
        location = parse_url(text)
    except UrlError as error:
        return None, [place.problem(("url_env",), str(error), error.hint)]
    tls, problems = tls_settings(state.tls, location.engine, location, place, directory)
    return settings_of(location, tls, directory), problems
