"""Runs configs in this process, as the command does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from rivet.config.load import load_settings
from rivet.config.settings import Settings
from rivet.events import Event, Listener
from rivet.outcome import ExportOutcome
from rivet.run import run
from tests.faults.planted import assert_no_secret


def _ignore(_: Event) -> None:
    """Take no notice of an event."""


class QuotingDumper(yaml.SafeDumper):
    """Writes every text in quotes: PyYAML knows YAML 1.1 alone, where `08` is text and no number."""


QuotingDumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


def settings(
    directory: Path,
    source: Mapping[str, Any],
    *exports: Mapping[str, Any],
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Write a config into a directory and load it; no environment is the empty one, no retries are none."""
    path = directory / "rivet.yaml"
    config = {"source": {"retries": 0, **source}, "exports": [dict(e) for e in exports]}
    path.write_text(yaml.dump(config, Dumper=QuotingDumper))
    return load_settings(path, environ or {})


def by_day(root: Path, **more: Any) -> dict[str, Any]:
    """Give an export of the table `events` by day of `created_at`, changed by more."""
    export = {
        "name": "events",
        "table": "events",
        "partition_by": "created_at",
        "partition_granularity": "day",
        "destination": {"type": "local", "path": f"{root}/{{partition}}/"},
    }
    return export | more


def run_one(
    directory: Path,
    source: Mapping[str, Any],
    export: Mapping[str, Any],
    *,
    validate: bool = False,
    listener: Listener = _ignore,
    environ: Mapping[str, str] | None = None,
) -> ExportOutcome:
    """Run one export and give how it ended; a failure is an outcome."""
    events: list[Event] = []

    def listen(event: Event) -> None:
        events.append(event)
        listener(event)

    outcome = run(settings(directory, source, export, environ=environ), validate=validate, listener=listen)
    assert_no_secret(*(f"{e.message} {json.dumps(e.facts)}" for e in events), repr(outcome.exports))
    if outcome.cause is not None:
        raise outcome.cause
    (only,) = outcome.exports
    return only


def run_well(
    directory: Path,
    source: Mapping[str, Any],
    export: Mapping[str, Any],
    *,
    validate: bool = False,
    listener: Listener = _ignore,
    environ: Mapping[str, str] | None = None,
) -> ExportOutcome:
    """Run one export that must succeed."""
    outcome = run_one(directory, source, export, validate=validate, listener=listener, environ=environ)
    assert (outcome.status, outcome.error, outcome.hint) == ("complete", None, None)
    return outcome
