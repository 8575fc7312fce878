"""Each store in turn, for the contract of `rivet.destination.protocol`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rivet.destination.protocol import Destination
from tests.destination.stores import FACTORIES, Place


@pytest.fixture(params=FACTORIES)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Give each store in turn; syncs, which no test of the contract can see, are left out for their time."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    return FACTORIES[request.param](tmp_path)


@pytest.fixture
def destination(place: Place) -> Destination:
    """Give each store's destination in turn."""
    return place.destination
