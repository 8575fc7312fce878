"""Configs written into a folder of their own, which loading must leave as it was."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import pytest

from rivet.config.load import load_settings
from rivet.config.settings import Settings
from rivet.errors import ConfigError, Problem

SOURCE = "source: {type: postgres, url: 'postgresql://app:hunter2@db/shop'}\n"
ONE_EXPORT = """
exports:
  - name: events
    table: events
    destination: {type: local, path: ./out/events}
"""

Load = Callable[..., Settings]
Refuse = Callable[..., tuple[Problem, ...]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Give a function that loads a text and asserts that the disk is as it was before."""

    def load(
        text: str | bytes, environ: Mapping[str, str] | None = None, chosen: Collection[str] = ()
    ) -> Settings:
        config = tmp_path / "rivet.yaml"
        config.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
        before = sorted(tmp_path.rglob("*"))
        try:
            return load_settings(config, environ or {}, chosen=chosen)
        finally:
            assert sorted(tmp_path.rglob("*")) == before

    return load


@pytest.fixture
def refuse(load: Load) -> Refuse:
    """Give a function that loads a text which must be refused, and returns the problems."""

    def refuse(
        text: str | bytes, environ: Mapping[str, str] | None = None, chosen: Collection[str] = ()
    ) -> tuple[Problem, ...]:
        with pytest.raises(ConfigError) as caught:
            load(text, environ, chosen)

        assert caught.value.exit_code == 2
        assert caught.value.problems
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        for problem in caught.value.problems:
            assert problem.path.startswith("$")
            assert str(problem) in str(caught.value)
        return caught.value.problems

    return refuse
