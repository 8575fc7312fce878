"""A table that exports are made of, and what every refusal must be like."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.run.command import picture, run_command, write_config

# What each engine calls a timestamp without a zone.
MOMENT = {"postgres": "timestamp", "mariadb": "datetime(6)", "sqlite": "DATETIME"}


def events_table(engine: str) -> str:
    """Write the statements that make `events`: three days in five, and a NULL."""
    return f"""
    CREATE TABLE events (id int PRIMARY KEY, created_at {MOMENT[engine]}, note varchar(40), n int);
    INSERT INTO events VALUES (1, '2023-01-01 00:00:00', '2023-01-01', 1672531200),
        (2, '2023-01-02 23:59:59.999999', '2023-01-02 10:00:00', 1672653600),
        (3, '2023-01-05 12:00:00', NULL, -1), (4, NULL, '0001-01-01', NULL);
    """


def by_query(export: Mapping[str, Any], query: str) -> dict[str, Any]:
    """Give an export of a query in place of its table."""
    return {key: value for key, value in export.items() if key != "table"} | {"query": query}


def refused(
    directory: Path, capsys: pytest.CaptureFixture[str], source: Mapping[str, Any], export: Mapping[str, Any]
) -> tuple[str, str]:
    """Run an export that must be refused, and give the message and its mend.

    The command exits 2 without a traceback, and nothing in the directory has changed, no time of a
    directory either. `plan` says the same words: on SQLite, since no engine has a part in that.
    """
    config = write_config(directory, source, export)
    before = picture(directory)
    found = []
    for command in ("run", "plan") if source["type"] == "sqlite" else ("run",):
        told = run_command(capsys, command, "--config", config, "--json")
        assert told.exit_code == 2
        (outcome,) = told.exports
        assert outcome["exit_code"] == 2
        assert told.errors == [f"Error: {export['name']}: {outcome['error']}", f"Hint: {outcome['hint']}"]
        found.append((str(outcome["error"]), str(outcome["hint"])))
    assert picture(directory) == before
    assert found[0] == found[-1]
    return found[0]
