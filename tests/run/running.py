"""Runs configs in this process, as the command does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from rivet.config.load import load_settings
from rivet.config.settings import Settings
from rivet.events import Event
from rivet.outcome import ExportOutcome
from rivet.run import run


def settings(directory: Path, source: Mapping[str, Any], *exports: Mapping[str, Any]) -> Settings:
    """Write a config into a directory and load it."""
    path = directory / "rivet.yaml"
    path.write_text(yaml.safe_dump({"source": dict(source), "exports": [dict(e) for e in exports]}))
    return load_settings(path, {})


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


def run_one(directory: Path, source: Mapping[str, Any], export: Mapping[str, Any]) -> ExportOutcome:
    """Run one export and give how it ended; a failure is an outcome."""
    events: list[Event] = []
    outcome = run(settings(directory, source, export), listener=events.append)
    assert all(json.dumps(e.facts) for e in events)
    (only,) = outcome.exports
    return only


def run_well(directory: Path, source: Mapping[str, Any], export: Mapping[str, Any]) -> ExportOutcome:
    """Run one export that must succeed."""
    outcome = run_one(directory, source, export)
    assert (outcome.status, outcome.error) == ("complete", None), outcome.hint
    return outcome
