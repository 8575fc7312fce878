"""Loads a config: a file and an environment in, checked settings out, every problem at once.

Reads the config and the files that it names; creates nothing and connects to nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from rivet.config.check import checked
from rivet.config.document import parse
from rivet.config.environment import UnsetVariable
from rivet.config.exports import draft, meeting_problems, merged
from rivet.config.files import read_text
from rivet.config.model import Config
from rivet.config.place import Place, shown
from rivet.config.settings import Settings
from rivet.config.source import source_settings
from rivet.config.state import state_settings
from rivet.errors import ConfigError, Problem

_SECTIONS = ("source", "state", "defaults", "exports")


def load_settings(path: Path, environ: Mapping[str, str], *, chosen: Collection[str] = ()) -> Settings:
    """Load the config at a path.

    Args:
        environ: The environment variables that the config may name.
        chosen: Names of the exports that are asked for; none: all. Others are checked too, but for variables
            that are not set; those that name such are left out.

    Raises:
        ConfigError: With everything that is wrong; no message holds a secret.
    """
    text, reason = read_text(path)
    if reason is not None:
        raise ConfigError([Problem("$", f"cannot read {str(path)!r}: {reason}", "name a YAML file")])
    written, problems = parse(text)
    settings = None
    if written is not None:
        settings, more = _settings(written, path.absolute().parent, environ, chosen)
        problems += more
    if problems or settings is None:
        raise ConfigError(list(dict.fromkeys(problems)))
    return settings


def _settings(
    written: Mapping[str, object], directory: Path, environ: Mapping[str, str], chosen: Collection[str]
) -> tuple[Settings | None, list[Problem]]:
    rest = Place("$", {key: value for key, value in written.items() if key not in _SECTIONS})
    config, problems = checked(Config, rest, environ)
    source = None
    section, more = _mapping(written.get("source"), "$.source", "write `source: {type: …, url_env: …}`")
    problems += more
    if section is not None:
        source, more = source_settings(Place("$.source", section), directory, environ)
        problems += more
    state, more = state_settings(written.get("state"), directory, environ)
    problems += more
    shared = written.get("defaults")
    defaults, more = _mapping({} if shared is None else shared, "$.defaults", "write keys of an export")
    problems += more
    places, more = _places(written.get("exports"), defaults or {})
    problems += more
    drafts = [draft(place, directory, environ) for place in places]
    # A name that no export has is told with the names of all of them.
    are_known = {*chosen} <= {each.keys.name for each in drafts}
    for each in drafts:
        is_asked_for = not chosen or not are_known or each.keys.name in chosen
        problems += [p for p in each.problems if is_asked_for or not isinstance(p, UnsetVariable)]
    problems += meeting_problems(drafts)
    if problems or source is None:
        return None, problems
    exports = tuple(each.settings for each in drafts if each.settings is not None)
    stated = config.model_dump(include={"on_error"}, exclude_none=True)
    return Settings(source, exports, state=state, **stated), []


def _mapping(value: object, path: str, hint: str) -> tuple[Mapping[str, object] | None, list[Problem]]:
    if isinstance(value, Mapping):
        return value, []
    found = "is missing" if value is None else f"found {shown(value)}, expected a mapping"
    return None, [Problem(path, found, hint)]


def _places(value: object, defaults: Mapping[str, object]) -> tuple[list[Place], list[Problem]]:
    if not isinstance(value, list) or not value:
        what = "is missing" if value is None else f"found {shown(value)}, expected a list of exports"
        return [], [Problem("$.exports", what, "write `exports:` and below it `- name: …`")]
    places, problems = [], []
    for i, item in enumerate(value):
        own, more = _mapping(item, f"$.exports[{i}]", "write `name: …` and the other keys")
        problems += more
        if own is not None:
            places.append(merged(f"$.exports[{i}]", own, defaults))
    return places, problems
