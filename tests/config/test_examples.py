"""The examples in `configs/`, its table of keys, and the JSON Schema."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from rivet.config import model
from rivet.config.jsonschema import json_schema
from rivet.config.load import load_settings

CONFIGS = Path(__file__).parents[2] / "configs"
ENVIRON = {"DATABASE_URL": "postgresql://app:pw@db/shop", "DB_PASSWORD": "pw", "OUT": "/srv/lake"}
MODELS: list[type[BaseModel]] = [
    *(model.Config, model.Source, model.Tls, model.Export, model.Column, model.Destination),
]


@pytest.mark.parametrize("example", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.name)
def test_examples_load(example: Path) -> None:
    """Each example is a config that could run."""
    settings = load_settings(example, ENVIRON)

    assert settings.exports


def test_there_is_an_example_for_each_source() -> None:
    """Every engine has its example."""
    types = {load_settings(example, ENVIRON).source.type for example in CONFIGS.glob("*.yaml")}

    assert types == {"postgres", "mysql", "sqlite"}


def test_the_table_of_keys_is_complete() -> None:
    """The README names every key once for each place it has, in the order of the model."""
    listed = re.findall(r"^\| `(\w+)` \|", (CONFIGS / "README.md").read_text(), re.MULTILINE)

    assert listed == [key for each in MODELS for key in each.model_fields]


def test_the_json_schema_knows_every_key() -> None:
    """The schema is JSON, describes each key, takes no other, and states the defaults."""
    schema = json.loads(json.dumps(json_schema()))
    names = ("Source", "Tls", "Export", "Column", "Destination")
    definitions = [schema, *(schema["$defs"][name] for name in names)]

    for definition, each in zip(definitions, MODELS, strict=True):
        assert list(definition["properties"]) == list(each.model_fields)
        assert definition["additionalProperties"] is False
        assert all(value["description"] for value in definition["properties"].values())
    assert schema["required"] == ["source", "exports"]
    assert schema["patternProperties"] == {"^x-": True}
    export = schema["$defs"]["Export"]["properties"]
    assert export["partition_granularity"]["default"] == "day"
    assert export["max_partitions"]["default"] == 10_000
    assert schema["$defs"]["Source"]["properties"]["port"]["anyOf"][0] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 65535,
    }
