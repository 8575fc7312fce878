"""Tells whether all statements of a snapshot see the same of a relation.

They do where all that it reads lies in InnoDB, and no text in it asks for what changes by itself.

Views are followed to their tables, and the tables of a query are read from its text. Where that leaves a
doubt, it is a reason: nobody is promised one moment on a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from rivet.source.mysql.catalogue import Fetch, Table, look_up
from rivet.source.steadiness import unsteadiness

if TYPE_CHECKING:
    from sqlglot.dialects.mysql import MySQL

_VIEW = "SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
_FUNCTIONS = "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = 'FUNCTION'"


@dataclass(slots=True)
class BaseTables:
    """The tables that a relation reads in the end.

    Attributes:
        reason: Why they do not share one snapshot, for people; empty where they do.
        is_per_look: A value may change each time that the server looks at it.
    """

    tables: dict[tuple[str, str], Table] = field(default_factory=dict)
    reason: str = ""
    is_per_look: bool = False

    @property
    def row_bytes(self) -> int:
        """Guess the size of a row that holds one row of each; 0 where nothing is known."""
        return sum(table.row_bytes for table in self.tables.values())


def tables_of_table(fetch: Fetch, table: Table) -> BaseTables:
    """Find what a table or view reads in the end."""
    base = BaseTables()
    _add(fetch, table, base)
    return base


def tables_of_query(fetch: Fetch, query: str, database: str | None) -> BaseTables:
    """Find what a query reads in the end; database is where it looks for names without one."""
    base = BaseTables()
    _add_text(fetch, query, database, "the query", base)
    return base


def _add(fetch: Fetch, table: Table, base: BaseTables) -> None:
    key = table.schema, table.name
    if key in base.tables:
        return
    base.tables[key] = table
    if table.is_view:
        definitions = fetch(_VIEW, key)
        if definitions and definitions[0][0]:
            _add_text(fetch, definitions[0][0], table.schema, f"view {str(table)!r}", base)
        else:
            # The server shows the text only with the right SHOW VIEW.
            base.reason = f"view {str(table)!r} does not show its tables to this user"
    elif table.engine is None:
        base.reason = f"table {str(table)!r} is a sequence or of the server's own state, without snapshots"
    elif table.engine != "InnoDB":
        base.reason = f"table {str(table)!r} is stored by {table.engine}, and only InnoDB has snapshots"


def _add_text(fetch: Fetch, text: str, database: str | None, what: str, base: BaseTables) -> None:
    import sqlglot  # heavy, and most exports are of plain tables
    from sqlglot import exp

    sql_mode = fetch("SELECT @@sql_mode")[0][0]
    unsteady = unsteadiness(text, "mysql", what, sql_mode)
    if unsteady is not None:
        base.reason = unsteady.reason
        base.is_per_look |= unsteady.is_per_look
    dialect = _dialect(sql_mode.split(","))
    try:
        tokens = sqlglot.tokenize(text, read=dialect)
        statement = sqlglot.parse_one(text, read=dialect)
    except sqlglot.errors.SqlglotError:
        base.reason = f"the tables of {what} cannot be read from its text"
        return
    functions = {name.lower() for (name,) in fetch(_FUNCTIONS)}
    for token, following in pairwise(tokens):
        if following.token_type is sqlglot.TokenType.L_PAREN and token.text.lower() in functions:
            base.reason = f"{what} calls the stored function {token.text!r}, which may read any table"
    shared = {cte.alias.lower() for cte in statement.find_all(exp.CTE)}
    for named in statement.find_all(exp.Table):
        schema = named.db or database
        # A common table expression may have the name of a table that it reads itself.
        table = look_up(fetch, schema, named.name) if schema else None
        if table is not None:
            _add(fetch, table, base)
        elif isinstance(named.this, exp.Identifier) and (
            named.db or named.name.lower() not in shared | {"dual"}
        ):
            base.reason = f"{what} reads {named.name!r}, which the catalogue does not show"


def _dialect(modes: Sequence[str]) -> type[MySQL]:
    """Give sqlglot's dialect under an `sql_mode`, of which it knows nothing."""
    from sqlglot.dialects.mysql import MySQL

    given = MySQL.Tokenizer
    is_ansi, is_plain = "ANSI_QUOTES" in modes, "NO_BACKSLASH_ESCAPES" in modes

    class Session(MySQL):
        class Tokenizer(MySQL.Tokenizer):
            QUOTES = ["'"] if is_ansi else given.QUOTES
            IDENTIFIERS = ["`", '"'] if is_ansi else given.IDENTIFIERS
            STRING_ESCAPES = ["'", '"'] if is_plain else given.STRING_ESCAPES

    return Session
