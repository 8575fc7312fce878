"""The docs' tables of types are those that the matrix tests."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from tests.run.running import by_day, settings
from tests.types.mapping import DOCUMENT, mapped


def test_the_docs_are_not_stale() -> None:
    """`docs/types.md` holds what `python -m tests.types.mapping` writes."""
    written = DOCUMENT.read_text(encoding="utf-8")

    assert mapped(written) == written
    assert "| boolean |" in written


def test_the_pages_example_is_a_config(tmp_path: Path) -> None:
    """What it prints for `columns` is taken as it stands."""
    (block,) = re.findall(
        r"^```yaml\n(.*?)^```", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    asked = yaml.safe_load(block)
    loaded = settings(tmp_path, {"type": "sqlite", "path": "a.db"}, by_day(tmp_path / "tree") | asked)

    assert {name: column.type for name, column in loaded.exports[0].columns.items()} == {
        "payload": "json",
        "price": "decimal",
        "id": "uuid",
        "note": "string",
    }
