"""What the matrix of types is made of; each engine has a table of cases in a module of its own.

All cases of an engine (`ENGINE` in `postgres_cases.py`, `mysql_cases.py`, `sqlite_cases.py`) become columns
of one table, which is exported whole and read back. What must arrive is rendered by SQL of the database's
own, and compared as text, by what the column becomes:

- integers in digits, decimals with their point, floats as any text that Python's `float` reads back exactly;
- bool as `1` or `0`; text, uuid and json as the text itself; binary as hexadecimal digits in lower case;
- date as days since 1970-01-01; time as microseconds since midnight; timestamp, instant and duration as
  microseconds, since 1970-01-01 or of the duration itself;
- a list as a JSON array of such texts and nulls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rivet.plan.schema import Fidelity


@dataclass(frozen=True, slots=True)
class Case:
    """A type of the source, edge values of it, and what they must arrive as; NULL is added to each.

    Attributes:
        type: As a column is declared with it; empty for a SQLite column without a type.
        becomes: `str(ColumnType)`, such as `decimal128(12,2)`.
        values: SQL literals or expressions, as they stand in VALUES.
        rendered: SQL that renders a value as the module says, `{v}` standing for the column; None: what the
            engine's table has for the kind that the column becomes.
        override: What the config asks for the column under `columns`.
        shown: How the docs write the type, such as `numeric(p,s)`; None: as declared; empty: not at all.
        note: What the docs say besides, in a few words.
        only: The one engine of the family that has the type, as manifests name it; empty for both.
    """

    type: str
    becomes: str
    values: tuple[str, ...]
    rendered: str | None = None
    fidelity: Fidelity = Fidelity.EXACT
    override: str | Mapping[str, str] | None = None
    shown: str | None = None
    note: str = ""
    only: str = ""


@dataclass(frozen=True, slots=True)
class Engine:
    """The cases of an engine.

    Attributes:
        heading: How the docs name it.
        fixtures: By the engine's name in manifests, the fixture that gives an empty database of it.
        setup: Statements to run before the table is made.
        session: Statements that pin, where the values are rendered, what changes their text.
        rendered: SQL that renders a value, `{v}` standing for the column, by the kind's own text (`int32`,
            `timestamp[us]`, …), of decimals `decimal128`.
    """

    heading: str
    fixtures: Mapping[str, str]
    cases: tuple[Case, ...]
    rendered: Mapping[str, str]
    setup: str = ""
    session: str = ""

    def rendering(self, case: Case, column: str) -> str:
        """Write the SQL that renders a column, already quoted, of a case."""
        kind = case.becomes.split("(")[0] if case.becomes.startswith("decimal") else case.becomes
        return (case.rendered or self.rendered[kind]).replace("{v}", column)
