"""The docs' tables of types are those that the matrix tests."""

from __future__ import annotations

from tests.types.mapping import DOCUMENT, mapped


def test_the_docs_are_not_stale() -> None:
    """`docs/types.md` holds what `python -m tests.types.mapping` writes."""
    written = DOCUMENT.read_text(encoding="utf-8")

    assert mapped(written) == written
    assert "| boolean |" in written
