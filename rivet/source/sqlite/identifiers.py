"""Names in SQL: of tables and columns, as they stand in every statement. Pure.

A relation stands under one alias and each column is qualified by it: SQLite takes a quoted name that it does
not know for text, but not one that is qualified.
"""

from __future__ import annotations

from rivet.source.query import ALIAS


def quoted(name: str) -> str:
    """Quote an identifier.

    >>> print(quoted('a"b'))
    "a""b"
    """
    return '"' + name.replace('"', '""') + '"'


def table_item(table: str) -> str:
    """Write a table as it stands after FROM."""
    return f"main.{quoted(table)} AS {ALIAS}"


def value(name: str) -> str:
    """Write a column's value."""
    return f"{ALIAS}.{quoted(name)}"


def text(name: str) -> str:
    """Write a value that is compared as text: byte by byte, whatever collation its column has."""
    return f"{value(name)} COLLATE BINARY"
