"""The JSON Schema of a config, for editors and for `rivet schema`.

Pure. It says what one value may be; what keys demand of each other is checked by loading.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from rivet.config.model import Config
from rivet.config.settings import (
    ExportSettings,
    GcsDestinationSettings,
    LocalDestinationSettings,
    S3DestinationSettings,
    Settings,
    SourceSettings,
)
from rivet.config.values import VARIABLE_PATTERN

_SETTINGS: dict[str, tuple[type, ...]] = {
    "Config": (Settings,),
    "Source": (SourceSettings,),
    "Export": (ExportSettings,),
    "Destination": (LocalDestinationSettings, S3DestinationSettings, GcsDestinationSettings),
}
_VARIABLE = {"type": "string", "pattern": VARIABLE_PATTERN}


def json_schema() -> dict[str, object]:
    """Give the JSON Schema (draft 2020-12) of a config."""
    schema: dict[str, Any] = Config.model_json_schema()
    definitions = {**schema["$defs"], "Config": schema}
    for name, definition in definitions.items():
        defaults = _defaults(*_SETTINGS.get(name, ()))
        for key, value in definition["properties"].items():
            for noise in ("title", "default"):
                value.pop(noise, None)
            if key in defaults:
                value["default"] = defaults[key]
            if not any(_is_open(choice) for choice in value.get("anyOf", [value])):
                value.setdefault("anyOf", []).append(_VARIABLE)
    # A key that `defaults` may give is not demanded of each export.
    schema["required"] = ["source", "exports"]
    schema["$defs"]["Source"]["required"] = ["type"]
    schema["$defs"]["Tls"]["required"] = ["mode"]
    schema["patternProperties"] = {"^x-": True}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _is_open(choice: dict[str, Any]) -> bool:
    """Tell whether a choice takes any text already, or is no value but a mapping or a list."""
    text = choice.get("type") == "string" and not {"enum", "const", "pattern"} & choice.keys()
    return text or "$ref" in choice or choice.get("type") in ("array", "object")


def _defaults(*settings: type) -> dict[str, object]:
    """Give the defaults of settings by the names that keys have."""
    return {
        field.name.removesuffix("_bytes"): field.default
        for each in settings
        for field in fields(each)
        if field.default is not MISSING and field.default not in (None, ())
    }
