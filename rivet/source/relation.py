"""What is exported, as a session has described it, and what a user asks for.

Values alone; what may be asked of them is in `rivet.source.protocol`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from rivet.plan.keys import TableIndex

if TYPE_CHECKING:
    from rivet.plan.schema import Column, Override


class Consistency(StrEnum):
    """What all queries of an export see: one moment, one moment for the one scan, or no promise."""

    SNAPSHOT = "snapshot"
    STATEMENT = "statement"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked to export: a table with columns left out, or a query, as he wrote them.

    Attributes:
        overrides: Types that he wants other than the engine's own, by column name as he wrote it.
    """

    table: str | None = None
    query: str | None = None
    exclude: tuple[str, ...] = ()
    overrides: Mapping[str, Override] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Relation:
    """A described table or query.

    Attributes:
        from_item: What stands after FROM in every statement, alias included, quoted for the engine.
        columns: The output columns in order, with exact names; `exclude` is already taken away.
        table: `schema.table` as the catalogue spells it, or None for a query.
        query_sha256: Digest of the query text, or None for a table.
        primary_key: Columns of the primary key, empty where there is none or it is not all exported.
        indexed: Columns that lead an index which serves ranges and order.
        indexes: Of a table, those that give all its rows in the order of their columns.
        not_null: Columns of a table that are declared to hold no NULL.
        estimated_rows: The database's own guess, or None.
        consistency: The best that the engine can give for this relation.
        consistency_reason: Why it is not SNAPSHOT, for people; empty where it is.
        nulled: Columns whose unrepresentable values are read as NULL; planning puts them in, by policy.
        is_checked: Whoever reads all of it refuses the first unrepresentable value before anything is
            written. A probe may leave the search for those to him, save in the partition column.
        is_few: These are so few of a table's rows that it takes longer to find them than to read them, and
            every statement of the session finds the same.
        warnings: What `check` and every run should tell people of it, each a line.
    """

    from_item: str
    columns: tuple[Column, ...]
    table: str | None = None
    query_sha256: str | None = None
    primary_key: tuple[str, ...] = ()
    indexed: frozenset[str] = frozenset()
    indexes: tuple[TableIndex, ...] = ()
    not_null: frozenset[str] = frozenset()
    estimated_rows: int | None = None
    consistency: Consistency = Consistency.SNAPSHOT
    consistency_reason: str = ""
    nulled: frozenset[str] = frozenset()
    is_checked: bool = False
    is_few: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Name the relation for people."""
        return "the query" if self.table is None else f"table {self.table!r}"

    def row_names(self, column: Column | None) -> tuple[str, ...]:
        """Name the columns by whose values people find a row: the primary key's and the partition column."""
        names = self.primary_key if column is None else (*self.primary_key, column.name)
        return tuple(dict.fromkeys(names))
