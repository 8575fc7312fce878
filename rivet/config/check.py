"""Checks a mapping of the config against its model, and words every problem with its path and its mend.

Pure. A value is shown as the user wrote it, never as a variable gave it, and secrets not at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rivet.config.edges import Destination, Source, Tls
from rivet.config.environment import replaced
from rivet.config.model import Column, Config, Export
from rivet.config.place import Keys, Place, without
from rivet.config.refused import key_refusal, value_refusal
from rivet.errors import Problem

Model = TypeVar("Model", bound=BaseModel)

_NESTED: dict[str, type[BaseModel]] = {
    "tls": Tls,
    "destination": Destination,
    "columns": Column,
}
_HOMES: dict[str, type[BaseModel]] = {
    "under `source`": Source,
    "under `tls` of the source": Tls,
    "in an export": Export,
    "under `destination` of an export": Destination,
    "in a column of `columns`": Column,
    "at the top": Config,
}
_MAX_KEY = 64
_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "column_type": "a type, such as json, or a mapping of type and unit",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
}


def checked(model: type[Model], place: Place, environ: Mapping[str, str]) -> tuple[Model, list[Problem]]:
    """Read a mapping of the config into its model, with variables replaced.

    What is wrong is listed and left out of the model, so that later checks can see the rest.
    """
    values, problems = replaced(place, environ)
    values = _stated(values)
    if "unrepresentable" in place.written and not place.states("unrepresentable"):
        values["unrepresentable"] = "null"  # here null is a policy, not a key that is not stated
    try:
        return model.model_validate(values), problems
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
    other_store = value_refusal("type", place.found("destination", "type"), "") is not None
    for detail in details:
        keys = detail["loc"]
        if keys[0] == "columns":
            keys = keys[:2] + keys[3:]  # the third says which of its forms a type has
        without(values, keys)
        # A destination of another type has other keys: one problem says enough.
        if not (other_store and keys[0] == "destination" and keys != ("destination", "type")):
            problems.append(_problem(model, place, keys, detail))
    return model.model_validate(values), problems


def _stated(values: Mapping[str, object]) -> dict[str, object]:
    """Leave out what is null."""
    return {
        key: _stated(value) if isinstance(value, Mapping) else value
        for key, value in values.items()
        if value is not None
    }


def _problem(model: type[BaseModel], place: Place, keys: Keys, detail: ErrorDetails) -> Problem:
    *parents, key = (k for k in keys if isinstance(k, str))
    context: dict[str, Any] = detail.get("ctx", {})
    if detail["type"] == "extra_forbidden":
        return place.problem(keys, *_unknown_key(key, _NESTED[parents[0]] if parents else model))
    if detail["type"] == "value_error":
        return place.problem(keys, *context["error"].args)
    choices = re.findall("'([^']+)'", context["expected"]) if detail["type"] == "literal_error" else []
    if choices:
        expected = f"one of {', '.join(choices)}" if len(choices) > 2 else " or ".join(choices)
    else:
        expected = _EXPECTED.get(detail["type"], detail["msg"].lower()).format(**context)
    written = place.found(*keys)
    # The names of columns are the user's own.
    refusal = None if keys[0] == "columns" else value_refusal(key, written, expected)
    message, hint = refusal or (
        f"found {{found}}, expected {expected}",
        _value_hint(written, expected, choices),
    )
    return place.problem(keys, message, hint)


def _value_hint(written: object, expected: str, choices: list[str]) -> str | None:
    if expected == "text" and isinstance(written, int | float):
        return "write it in quotes"
    if expected == "a list":
        return "write [a, b], or - before each on a line of its own"
    near = get_close_matches(str(written)[:_MAX_KEY].lower(), choices, 1)
    return f"did you mean {near[0]}?" if near else None


def _unknown_key(key: str, level: type[BaseModel]) -> tuple[str, str]:
    """Word the refusal of a key that the level does not have: message and mend."""
    homes = [home for home, other in _HOMES.items() if key in other.model_fields]
    if homes:
        return "does not belong here", f"write it {' or '.join(homes)}"
    near = (
        get_close_matches(key.lower().replace("-", "_"), level.model_fields, 1) if len(key) < _MAX_KEY else []
    )
    known = f"did you mean {near[0]}?" if near else f"known here: {', '.join(level.model_fields)}"
    return key_refusal(key) or ("unknown key", known)
