"""The examples in `configs/`, its table of keys, and the JSON Schema."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest
import yaml
from pydantic import BaseModel

from rivet.config import edges, model
from rivet.config.jsonschema import json_schema
from rivet.config.load import load_settings
from rivet.config.settings import (
    DestinationSettings,
    GcsDestinationSettings,
    S3DestinationSettings,
    Secret,
    Settings,
)

CONFIGS = Path(__file__).parents[2] / "configs"
ENVIRON = {
    "DATABASE_URL": "postgresql://app:pw@db/shop",
    "DB_PASSWORD": "pw",
    "OUT": "/srv/lake",
    "MINIO_ACCESS_KEY": "key",
    "MINIO_SECRET_KEY": "secret",
}
MODELS: list[type[BaseModel]] = [
    *(model.Config, edges.Source, edges.Tls, model.Export, model.Column, edges.Destination, edges.State),
]


def _settings(example: Path) -> Settings:
    engine = yaml.safe_load(example.read_text())["source"]["type"]
    url = ENVIRON["DATABASE_URL"].replace("postgresql", engine)
    return load_settings(example, ENVIRON | {"DATABASE_URL": url})


@pytest.mark.parametrize("example", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.name)
def test_examples_load(example: Path) -> None:
    """Each example is a config that could run."""
    settings = _settings(example)

    assert settings.exports


def test_there_is_an_example_for_each_source_and_destination() -> None:
    """Every engine has its example, and so has every kind of store."""
    examples = [_settings(example) for example in CONFIGS.glob("*.yaml")]
    types = {type(export.destination) for each in examples for export in each.exports}

    assert {each.source.type for each in examples} == {"postgres", "mysql", "sqlite"}
    assert types == set(get_args(DestinationSettings))


def test_the_examples_of_stores_are_what_they_say() -> None:
    """Each key of an example that is no comment arrives."""
    events, orders = (export.destination for export in _settings(CONFIGS / "s3.yaml").exports)
    (gcs,) = (export.destination for export in _settings(CONFIGS / "gcs.yaml").exports)

    assert events == S3DestinationSettings(
        "lake",
        "shop/events/",
        "{partition}",
        region="eu-west-1",
        storage_class="STANDARD_IA",
        server_side_encryption="aws:kms",
        kms_key_id="alias/lake",
    )
    assert orders == S3DestinationSettings(
        "archive",
        "orders/",
        "{partition}",
        endpoint_url="https://minio.example:9000",
        addressing_style="path",
        access_key=Secret("key"),
        secret_key=Secret("secret"),
    )
    assert gcs == GcsDestinationSettings("lake", "shop/events/", "{partition}")


def test_the_table_of_keys_is_complete() -> None:
    """The README names every key once for each place it has, in the order of the model."""
    listed = re.findall(r"^\| `(\w+)` \|", (CONFIGS / "README.md").read_text(), re.MULTILINE)

    assert listed == [key for each in MODELS for key in each.model_fields]


def test_the_json_schema_knows_every_key() -> None:
    """The schema is JSON, describes each key, takes no other, and states the defaults."""
    schema = json.loads(json.dumps(json_schema()))
    names = ("Source", "Tls", "Export", "Column", "Destination", "State")
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
    destination = schema["$defs"]["Destination"]["properties"]
    assert (destination["manifest_name"]["default"], destination["anonymous"]["default"]) == (
        "manifest.json",
        False,
    )
    assert schema["$defs"]["Source"]["properties"]["port"]["anyOf"][0] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 65535,
    }
