"""Ledgers in each kind of database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rivet.config.settings import StateSettings
from rivet.config.state import state_settings
from rivet.ledger.store import Ledger
from tests.servers.database import Database

Open = Callable[[], Ledger]


@pytest.fixture
def state(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> StateSettings:
    """Give the settings of a ledger that is not yet made, in the engine that the test names."""
    url = f"sqlite:///{tmp_path}/ledger.sqlite"
    if engine != "sqlite":
        database: Database = request.getfixturevalue(f"{engine}_database")
        url = database.url
    settings, problems = state_settings({"url_env": "LEDGER"}, tmp_path, {"LEDGER": url})
    assert not problems
    return settings


@pytest.fixture
def opened(state: StateSettings) -> Open:
    """Give a function that opens the ledger, as another process would."""
    return lambda: Ledger(state, {})
