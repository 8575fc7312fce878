"""Tells whether a table or query may give other rows each time, by its own text and those of its views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rivet.source.query import ALIAS
from rivet.source.steadiness import Unsteadiness, unsteadiness
from rivet.source.tokens import tokens_of

_VIEWS = "SELECT lower(name), name, sql FROM main.sqlite_schema WHERE type = 'view'"


def unsteadiness_of(text: str, what: str, fetch: Callable[[str], Sequence[Any]]) -> Unsteadiness | None:
    """Find what makes a query unsteady, itself or a view that it may name; None where nothing does.

    Args:
        text: The query, or the quoted name of a table.
        what: The query, for people.
        fetch: Runs a statement and gives its rows.
    """
    views = {folded: (name, sql) for folded, name, sql in fetch(_VIEWS)}
    pending, found = [(text, what)], []
    while pending:
        read, reader = pending.pop()
        unsteady = unsteadiness(read, "sqlite", reader)
        if unsteady is not None:
            found.append(unsteady)
        for token in tokens_of(read, "sqlite"):
            view = views.pop(token.name.lower(), None)
            if view is not None:
                pending.append((view[1], f"view {view[0]!r}"))
    if not found:
        return None
    return replace(found[0], is_per_look=any(u.is_per_look for u in found))


def made_once(from_item: str) -> str:
    """Write a relation whose rows are made before anything looks at their values: what has an OFFSET is.

    Otherwise SQLite puts an expression wherever its column is named ("The SQLite Query Optimizer Overview",
    "Subquery Flattening"), and `random()` gives another value to each look.
    """
    return f"(SELECT * FROM {from_item} LIMIT -1 OFFSET 0) AS {ALIAS}"
