"""Databases of every engine, by the engine's name."""

from __future__ import annotations

import pytest

from tests.run.conftest import AnyDatabase


@pytest.fixture
def database(engine: str, request: pytest.FixtureRequest) -> AnyDatabase:
    """Give an empty database of the engine that the test is parametrised with."""
    found: AnyDatabase = request.getfixturevalue(f"{engine}_database")
    return found
