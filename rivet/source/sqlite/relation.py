"""A described relation, with what only SQLite's own statements need of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rivet.plan.schema import Column, Override
from rivet.source.relation import Relation
from rivet.source.sqlite.readings import Reading


@dataclass(frozen=True, slots=True)
class SqliteRelation(Relation):
    """See the protocol's relation.

    Attributes:
        overrides: By exact name, the types that the config asks for.
        ties: SQL of what orders rows with equal dates.
        rowid: SQL of the number by which a table holds its rows in order; None: there is none.
    """

    overrides: tuple[tuple[str, Override], ...] = ()
    ties: tuple[str, ...] = ()
    rowid: str | None = None

    def readings(self, columns: Sequence[Column]) -> list[Reading]:
        """Say how columns are read."""
        asked = dict(self.overrides)
        return [Reading(c, asked.get(c.name), c.name in self.nulled) for c in columns]


def own_relation(relation: Relation) -> SqliteRelation:
    """Take a relation for what a session of this engine has described.

    Raises:
        TypeError: It is another's.
    """
    if not isinstance(relation, SqliteRelation):
        raise TypeError("the relation was not described by a session of SQLite")
    return relation
